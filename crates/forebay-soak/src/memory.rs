//! A file of the local disk, in memory, with the blocks that were not synced as they were before.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{SystemTime, UNIX_EPOCH};

use forebay_source::{BLOCK, Segments};
use forebay_tier::disk::{Disk, Local};
use rustix::fs::MemfdFlags;

use crate::dice::Dice;

/// The smallest unit that is written whole when a machine stops.
const SECTOR: usize = 512;

/// See the file's head.
pub(crate) struct File {
    fd: OwnedFd,
    inode: u64,
    pub(crate) size: u64,
    pub(crate) modified: SystemTime,
    /// Blocks that were ever written.
    written: BTreeSet<u64>,
    /// Blocks that were written since the last sync, as they were at that.
    before: BTreeMap<u64, Vec<u8>>,
    /// Whether it was synced since it was made.
    lasts: bool,
}

impl File {
    /// A new one of so many zeros.
    pub(crate) fn new(size: u64) -> io::Result<File> {
        let fd = rustix::fs::memfd_create("forebay-soak", MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&fd, size)?;
        let inode = inode(&fd)?;
        let (written, before) = (BTreeSet::new(), BTreeMap::new());
        Ok(File { fd, inode, size, modified: UNIX_EPOCH, written, before, lasts: false })
    }

    /// Another handle to it.
    pub(crate) fn handle(&self) -> io::Result<OwnedFd> {
        self.fd.try_clone()
    }

    /// Whether a handle is of this file.
    pub(crate) fn is(&self, handle: &OwnedFd) -> bool {
        inode(handle).is_ok_and(|inode| inode == self.inode)
    }

    /// Whole blocks are written.
    pub(crate) fn write(&mut self, offset: u64, from: &Segments, len: usize, at: SystemTime) -> io::Result<()> {
        let first = offset / BLOCK as u64;
        for block in first..first + (len / BLOCK) as u64 {
            if !self.before.contains_key(&block) {
                let bytes = self.block(block)?;
                self.before.insert(block, bytes);
            }
            self.written.insert(block);
        }
        self.modified = at;
        Local.write(&self.fd, offset, from, len)
    }

    /// Everything that was written lasts.
    pub(crate) fn sync(&mut self) {
        self.before.clear();
        self.lasts = true;
    }

    /// The bytes of a block.
    fn block(&self, block: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; BLOCK];
        rustix::io::pread(&self.fd, &mut bytes[..], block * BLOCK as u64)?;
        Ok(bytes)
    }

    fn put(&self, block: u64, bytes: &[u8]) {
        rustix::io::pwrite(&self.fd, bytes, block * BLOCK as u64).expect("memory can be written");
    }

    /// The bytes from a place on.
    pub(crate) fn bytes(&self, offset: u64, len: usize) -> Vec<u8> {
        let mut into = Segments::own(len);
        Local.read(&self.fd, offset, &mut into).expect("memory can be read");
        into.to_vec()
    }

    /// The machine has stopped: what was not synced is there, lost or torn. Returns whether the
    /// file is there.
    pub(crate) fn survives(&mut self, dice: &mut Dice) -> bool {
        let lost = *dice.pick(&[0, 100, 500, 1000]);
        for (block, before) in std::mem::take(&mut self.before) {
            let torn = dice.chance(250);
            let from = if torn { dice.below((BLOCK / SECTOR) as u64) as usize * SECTOR } else { 0 };
            if torn || dice.chance(lost) {
                let mut now = self.block(block).expect("memory can be read");
                now[from..].copy_from_slice(&before[from..]);
                self.put(block, &now);
            }
        }
        if self.lasts {
            return true;
        }
        if dice.chance(200) {
            rustix::fs::ftruncate(&self.fd, 0).expect("memory can be made shorter");
            self.size = 0;
        }
        self.lasts = true;
        !dice.chance(200)
    }

    /// A bit flips.
    pub(crate) fn flip(&self, dice: &mut Dice) {
        let from = dice.below(self.size.max(1) / BLOCK as u64 + 1);
        let next = self.written.range(from..).next().or_else(|| self.written.first());
        let Some(&block) = next.filter(|_| self.size > 0) else { return };
        let mut bytes = self.block(block).expect("memory can be read");
        bytes[dice.below(BLOCK as u64) as usize] ^= 1 << dice.below(8);
        self.put(block, &bytes);
    }
}

fn inode(file: impl AsFd) -> io::Result<u64> {
    Ok(rustix::fs::fstat(file)?.st_ino)
}

//! Tells Forebay's own mounts: a request must not ask them anything.
//!
//! A mount point may lie inside the folder that the mount shows, or two mounts show each other's
//! points. A server that walks into its own mount waits for itself. A server that walks into
//! another's may wait for one that waits for it. So no source enters a mount of Forebay below its
//! root, of this process or of another, nor a file system that rests on one (`beneath.rs`). (Its
//! root may lie in one: levels are stacked so.)
//!
//! Only the table of mounts is asked, since `stat`, `statfs` and `open` of such a mount would be a
//! request to its server. `statx` answers without one if told not to synchronise.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, StatxFlags, makedev};
use rustix::io::{Errno, Result};

use super::beneath;
use crate::mounts::{Entry, entries};

/// `STATX_MNT_ID`.
const MOUNT_ID: StatxFlags = StatxFlags::from_bits_retain(0x1000);

/// The mount of a file, and its device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mount {
    /// Its number in the table; `None` before Linux 5.8.
    id: Option<u64>,
    device: u64,
}

impl Mount {
    /// The mount that a file was opened through, without asking its file system.
    pub(super) fn of(fd: &OwnedFd) -> Result<Mount> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        rustix::fs::statx(fd, c"", flags, MOUNT_ID).map(|told| Mount::told(&told))
    }

    /// The mount in an answer to a request with [`MOUNT_ID`].
    pub(super) fn told(told: &rustix::fs::Statx) -> Mount {
        let id = (told.stx_mask & MOUNT_ID.bits() != 0).then_some(told.stx_mnt_id);
        Mount { id, device: makedev(told.stx_dev_major, told.stx_dev_minor) }
    }

    /// Whether it is known to be this one.
    pub(super) fn is_surely(&self, other: &Mount) -> bool {
        self == other && self.id.is_some()
    }
}

/// The `statx` mask that asks for the mount as well.
pub(super) fn with_mount(wanted: StatxFlags) -> StatxFlags {
    wanted | MOUNT_ID
}

/// Knows Forebay's mounts.
pub(super) struct Served {
    /// The mount of the source's root, which may be one of them.
    root: Option<Mount>,
    table: Mutex<Option<Table>>,
}

impl Served {
    pub(super) fn around(root: &OwnedFd) -> Served {
        Served { root: Mount::of(root).ok(), table: Mutex::new(None) }
    }

    /// Whether a file lies in a mount of Forebay other than the root's.
    pub(super) fn has(&self, fd: &OwnedFd) -> Result<bool> {
        let mount = Mount::of(fd)?;
        if self.root == Some(mount) {
            return Ok(false);
        }
        let mut table = self.table.lock();
        let table = match &mut *table {
            Some(table) => table,
            none => none.insert(Table::read()?),
        };
        table.renew()?;
        Ok(table.has(mount))
    }
}

/// The mounts of Forebay at one moment, and what rests on them.
struct Table {
    file: File,
    served: Vec<Mount>,
}

impl Table {
    fn read() -> Result<Table> {
        let file = File::open("/proc/self/mountinfo").map_err(errno)?;
        let mut table = Table { file, served: Vec::new() };
        table.read_again()?;
        Ok(table)
    }

    /// Reads the table again if something was mounted or taken off.
    fn renew(&mut self) -> Result<()> {
        let mut changed = [PollFd::new(&self.file, PollFlags::PRI)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        if poll(&mut changed, Some(&now))? > 0 { self.read_again() } else { Ok(()) }
    }

    fn read_again(&mut self) -> Result<()> {
        let mut text = Vec::new();
        self.file.rewind().and_then(|()| self.file.read_to_end(&mut text)).map_err(errno)?;
        let entries: Vec<Entry> = entries(&text).collect();
        let served = entries.iter().zip(beneath::served(&entries)).filter(|(_, served)| *served);
        self.served = served.filter_map(|(entry, _)| mount(entry)).collect();
        Ok(())
    }

    fn has(&self, mount: Mount) -> bool {
        self.served.iter().any(|served| match mount.id {
            Some(_) => served.id == mount.id,
            None => served.device == mount.device,
        })
    }
}

/// A line of the table, as files tell their mount.
fn mount(entry: &Entry) -> Option<Mount> {
    let (major, minor) = entry.device.split_once(':')?;
    Some(Mount { id: Some(entry.id), device: makedev(major.parse().ok()?, minor.parse().ok()?) })
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_mount_by_its_number_or_its_device() {
        let lines = b"21 1 8:1 / / rw - ext4 /dev/root rw\n36 21 0:40 / /mnt/a rw - fuse.forebay s3://bucket rw";
        let found: Vec<Mount> = entries(lines).filter_map(|entry| mount(&entry)).collect();
        let number = |id, minor| Mount { id: Some(id), device: makedev(0, minor) };
        assert_eq!(found[1], number(36, 40));
        let table = Table { file: File::open("/dev/null").unwrap(), served: found[1..].to_vec() };
        assert!(table.has(number(36, 7)) && table.has(Mount { id: None, device: makedev(0, 40) }));
        assert!(!table.has(number(21, 40)) && !table.has(Mount { id: None, device: makedev(8, 1) }));
    }

    #[test]
    fn a_mount_is_known_by_its_number() {
        let of = |path: &str| Mount::of(&File::open(path).unwrap().into()).unwrap();
        let (proc, root) = (of("/proc"), of("/"));
        assert!(proc.is_surely(&of("/proc/self")) && !proc.is_surely(&root));
        let around = Served::around(&File::open("/").unwrap().into());
        assert_eq!(around.has(&File::open("/proc").unwrap().into()), Ok(false));
    }
}

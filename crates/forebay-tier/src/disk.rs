//! Where a tier touches the machine: seams, behind which tests put disks that fail, and a simulated
//! world its disk and its clock.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_source::Segments;
use forebay_source::io::{Reader, shared};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use crate::error::Error;
use crate::fingerprint::Key;
use crate::folder;

pub use crate::folder::Found;

/// The operations of a tier on its folder and files. Offsets and lengths are whole blocks.
pub trait Disk: fmt::Debug + Send + Sync + 'static {
    /// Opens a file that is there.
    fn open(&self, path: &Path) -> io::Result<OwnedFd>;
    /// Makes a file of so many bytes, which take their room on the disk from now on.
    fn create(&self, path: &Path, bytes: u64) -> io::Result<OwnedFd>;
    /// Fills memory. Fewer bytes are an error.
    fn read(&self, file: &OwnedFd, offset: u64, into: &mut Segments) -> io::Result<()>;
    /// Writes so many bytes.
    fn write(&self, file: &OwnedFd, offset: u64, from: &Segments, len: usize) -> io::Result<()>;
    /// Everything that was written is on the disk.
    fn sync(&self, file: &OwnedFd) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// How full the file system is that a folder is in.
    fn room(&self, folder: &Path) -> io::Result<Room>;

    /// Takes a folder for this process alone, and makes it if need be.
    fn claim(&self, dir: &Path) -> Result<Claim, Error> {
        folder::claim(dir)
    }

    /// The files of segments in a folder.
    fn files(&self, dir: &Path) -> io::Result<Vec<Found>> {
        folder::found(dir)
    }

    /// Whether a file has a segment's table, or nothing yet.
    fn is_ours(&self, path: &Path) -> bool {
        folder::is_ours(path)
    }

    /// Reads files for fetches: the process's reader.
    fn reader(&self) -> io::Result<Arc<dyn Reader>> {
        shared()
    }
}

/// A folder that this process owns until the lock is dropped.
#[derive(Debug)]
pub struct Claim {
    /// Its key.
    pub key: Key,
    /// The lock, if the folder has one.
    pub lock: Option<File>,
}

/// The time since any beginning, which never goes back.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Duration;
}

/// The time since that moment.
impl Clock for Instant {
    fn now(&self) -> Duration {
        self.elapsed()
    }
}

/// The machine that a tier is on.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its disk.
    pub disk: Arc<dyn Disk>,
    /// Its clock.
    pub clock: Arc<dyn Clock>,
}

/// How full a file system is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// Bytes in all.
    pub bytes: u64,
    /// Bytes free for us.
    pub free: u64,
}

/// The disk of this machine, past the page cache if the file system allows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local;

impl Disk for Local {
    fn open(&self, path: &Path) -> io::Result<OwnedFd> {
        Ok(opened(path, OFlags::RDWR)?)
    }

    fn create(&self, path: &Path, bytes: u64) -> io::Result<OwnedFd> {
        let file = opened(path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)?;
        let allocated = match retry_on_intr(|| rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes)) {
            // The file system takes room as bytes come.
            Err(Errno::OPNOTSUPP) => rustix::fs::ftruncate(&file, bytes),
            allocated => allocated,
        };
        if let Err(errno) = allocated {
            let _ = rustix::fs::unlink(path);
            return Err(errno.into());
        }
        Ok(file)
    }

    fn read(&self, file: &OwnedFd, mut offset: u64, into: &mut Segments) -> io::Result<()> {
        for part in into.bytes_mut() {
            let mut filled = 0;
            while filled < part.len() {
                let at = offset + filled as u64;
                match unless_refused(file, || rustix::io::pread(file, &mut part[filled..], at))? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    read => filled += read,
                }
            }
            offset += filled as u64;
        }
        Ok(())
    }

    fn write(&self, file: &OwnedFd, mut offset: u64, from: &Segments, len: usize) -> io::Result<()> {
        for mut part in from.bytes_in(0..len) {
            while !part.is_empty() {
                match unless_refused(file, || rustix::io::pwrite(file, part, offset))? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    written => (part, offset) = (&part[written..], offset + written as u64),
                }
            }
        }
        Ok(())
    }

    fn sync(&self, file: &OwnedFd) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::fdatasync(file))?)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Ok(rustix::fs::unlink(path)?)
    }

    fn room(&self, folder: &Path) -> io::Result<Room> {
        let told = rustix::fs::statvfs(folder)?;
        let bytes = |blocks: u64| blocks.saturating_mul(told.f_frsize);
        Ok(Room { bytes: bytes(told.f_blocks), free: bytes(told.f_bavail) })
    }
}

fn opened(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mode = Mode::RUSR | Mode::WUSR;
    match rustix::fs::open(path, flags | OFlags::DIRECT, mode) {
        // Some file systems make the file first, and refuse then.
        Err(Errno::INVAL) => rustix::fs::open(path, flags.difference(OFlags::EXCL), mode),
        opened => opened,
    }
}

/// A call that is repeated after a signal, and through the page cache where the file system refuses
/// direct reads and writes.
fn unless_refused(file: &OwnedFd, mut call: impl FnMut() -> rustix::io::Result<usize>) -> rustix::io::Result<usize> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            Err(Errno::INVAL) if give_up_direct(file) => {}
            outcome => return outcome,
        }
    }
}

/// Goes on through the page cache. Returns whether that is news.
pub(crate) fn give_up_direct(file: impl AsFd) -> bool {
    let Ok(flags) = rustix::fs::fcntl_getfl(&file) else { return false };
    flags.contains(OFlags::DIRECT) && rustix::fs::fcntl_setfl(&file, flags.difference(OFlags::DIRECT)).is_ok()
}

//! Tells Forebay's own mounts: a request must not ask them anything.
//!
//! A mount point may lie inside the folder that the mount shows, or two mounts show each other's
//! points. A server that walks into its own mount waits for itself. A server that walks into
//! another's may wait for one that waits for it. So no source enters a mount of Forebay below its
//! root, of this process or of another. (Its root may lie in one: levels are stacked so.)
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

/// The type of Forebay's mounts, as the table of mounts shows it.
pub const MOUNT_TYPE: &str = "fuse.forebay";

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

/// The mounts of Forebay at one moment.
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
        self.served = text.split(|&byte| byte == b'\n').filter_map(served).collect();
        Ok(())
    }

    fn has(&self, mount: Mount) -> bool {
        self.served.iter().any(|served| match mount.id {
            Some(_) => served.id == mount.id,
            None => served.device == mount.device,
        })
    }
}

/// The mount of a line of the table (proc_pid_mountinfo(5)), if it is one of Forebay.
fn served(line: &[u8]) -> Option<Mount> {
    // Paths need not be text, but no path is looked at.
    let line = String::from_utf8_lossy(line);
    let mut fields = line.split(' ');
    let id = fields.next()?.parse().ok()?;
    let (major, minor) = fields.nth(1)?.split_once(':')?;
    let device = makedev(major.parse().ok()?, minor.parse().ok()?);
    fields.find(|&field| field == "-")?;
    (fields.next()? == MOUNT_TYPE).then_some(Mount { id: Some(id), device })
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_forebays_mounts_in_a_table() {
        let lines: [&[u8]; 5] = [
            b"21 1 8:1 / / rw,relatime - ext4 /dev/root rw",
            b"36 21 0:40 / /mnt/a\\040b rw,nosuid shared:12 master:1 - fuse.forebay s3://bucket rw",
            b"37 36 0:41 / /mnt/\xff\xfe ro - fuse.forebay - rw",
            b"38 21 0:42 / /mnt/c ro - fuse.other fuse.forebay rw",
            b"not a line",
        ];
        let found: Vec<Mount> = lines.into_iter().filter_map(served).collect();
        let mount = |id, minor| Mount { id: Some(id), device: makedev(0, minor) };
        assert_eq!(found, [mount(36, 40), mount(37, 41)]);
        let table = Table { file: File::open("/dev/null").unwrap(), served: found };
        assert!(table.has(mount(36, 7)) && table.has(Mount { id: None, device: makedev(0, 41) }));
        assert!(!table.has(mount(21, 40)) && !table.has(Mount { id: None, device: makedev(8, 1) }));
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

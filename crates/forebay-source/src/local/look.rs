//! The kernel's facts about a file, and their meaning for a source.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Stat, Statx, StatxFlags, makedev};

use crate::identity::{foreign_number, inode_number};
use crate::{Attributes, Identity, Inode, Kind, Name, Version};

/// The source's folder and its file system, for the full names of files.
#[derive(Clone)]
pub(super) struct Here {
    pub(super) address: Arc<str>,
    pub(super) device: u64,
}

/// A moment of a file system, which may lie before the epoch.
#[derive(Clone, Copy)]
pub(super) struct Stamp {
    seconds: i64,
    nanos: u32,
}

/// The kernel's facts about a file.
pub(super) struct Seen {
    pub(super) device: u64,
    pub(super) number: u64,
    mode: u32,
    links: u32,
    uid: u32,
    gid: u32,
    rdev: u64,
    size: u64,
    /// In units of 512 bytes.
    blocks: u64,
    accessed: Stamp,
    modified: Stamp,
    changed: Stamp,
}

impl Stamp {
    fn nanos(self) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos)
    }

    fn time(self) -> SystemTime {
        let whole = Duration::from_secs(self.seconds.unsigned_abs());
        let whole = if self.seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
        whole.and_then(|time| time.checked_add(Duration::from_nanos(self.nanos.into()))).unwrap_or(UNIX_EPOCH)
    }
}

impl Seen {
    pub(super) fn kind(&self) -> Kind {
        kind(FileType::from_raw_mode(self.mode))
    }

    pub(super) fn version(&self) -> Version {
        Version { size: self.size, modified: self.modified.nanos(), changed: self.changed.nanos(), tag: None }
    }
}

impl From<&Stat> for Seen {
    fn from(stat: &Stat) -> Seen {
        Seen {
            device: stat.st_dev,
            number: stat.st_ino,
            mode: stat.st_mode,
            links: stat.st_nlink as u32,
            uid: stat.st_uid,
            gid: stat.st_gid,
            rdev: stat.st_rdev,
            size: stat.st_size as u64,
            blocks: stat.st_blocks as u64,
            accessed: Stamp { seconds: stat.st_atime, nanos: stat.st_atime_nsec as u32 },
            modified: Stamp { seconds: stat.st_mtime, nanos: stat.st_mtime_nsec as u32 },
            changed: Stamp { seconds: stat.st_ctime, nanos: stat.st_ctime_nsec as u32 },
        }
    }
}

impl From<&Statx> for Seen {
    fn from(told: &Statx) -> Seen {
        let stamp = |time: rustix::fs::StatxTimestamp| Stamp { seconds: time.tv_sec, nanos: time.tv_nsec };
        Seen {
            device: makedev(told.stx_dev_major, told.stx_dev_minor),
            number: told.stx_ino,
            mode: told.stx_mode.into(),
            links: told.stx_nlink,
            uid: told.stx_uid,
            gid: told.stx_gid,
            rdev: makedev(told.stx_rdev_major, told.stx_rdev_minor),
            size: told.stx_size,
            blocks: told.stx_blocks,
            accessed: stamp(told.stx_atime),
            modified: stamp(told.stx_mtime),
            changed: stamp(told.stx_ctime),
        }
    }
}

impl Here {
    /// The inode number to show: the source's own, unless another file system is mounted on one of
    /// its folders.
    pub(super) fn number(&self, inode: Inode) -> u64 {
        if inode.device == self.device { inode.number } else { foreign_number(inode) }
    }

    /// The inode of an open file. The source's own file system stays as long as the source, which
    /// has its folder open; others below it come and go.
    pub(super) fn inode(&self, fd: &OwnedFd, seen: &Seen) -> Inode {
        let mount = if seen.device == self.device { 0 } else { mount_of(fd) };
        Inode { device: seen.device, number: seen.number, mount }
    }

    /// The identity of a file with these attributes. An inode number identifies a file with several
    /// links only: some file systems give one inode number to several files (9p over several disks,
    /// unions that pass on their branches' numbers).
    pub(super) fn identity(&self, path: &Path, inode: Inode, seen: &Seen) -> Identity {
        let linked = seen.links > 1 && seen.kind() == Kind::File;
        let source = || Arc::clone(&self.address);
        let name = if linked { Name::Linked(inode) } else { Name::Path { source: source(), path: path.into(), inode } };
        Identity { name, version: seen.version() }
    }

    /// The attributes of a name that was opened.
    pub(super) fn attributes(&self, path: &Path, fd: &OwnedFd, seen: &Seen) -> Attributes {
        self.attributes_of(path, self.inode(fd, seen), seen)
    }

    /// The attributes of a name that is this inode.
    pub(super) fn attributes_of(&self, path: &Path, inode: Inode, seen: &Seen) -> Attributes {
        Attributes {
            kind: seen.kind(),
            size: seen.size,
            allocated: seen.blocks.saturating_mul(512),
            mode: seen.mode,
            uid: seen.uid,
            gid: seen.gid,
            links: seen.links,
            rdev: seen.rdev,
            accessed: seen.accessed.time(),
            modified: seen.modified.time(),
            changed: seen.changed.time(),
            inode: self.number(inode),
            identity: self.identity(path, inode, seen),
            told: None,
        }
    }

    /// The attributes shown for a folder on which Forebay is mounted.
    pub(super) fn covered(&self, path: &Path) -> Attributes {
        let inode = Inode { device: self.device, number: inode_number(&self.address, path), mount: 0 };
        let name = Name::Path { source: Arc::clone(&self.address), path: path.into(), inode };
        Attributes {
            kind: Kind::Folder,
            size: 0,
            allocated: 0,
            mode: libc::S_IFDIR | 0o555,
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            links: 2,
            rdev: 0,
            accessed: UNIX_EPOCH,
            modified: UNIX_EPOCH,
            changed: UNIX_EPOCH,
            inode: inode.number,
            identity: Identity { name, version: Version::default() },
            told: None,
        }
    }
}

/// The number of the mount that a file was opened through. The kernel gives it to no other mount
/// (before Linux 6.8: to none at the same time). Zero if it tells none.
fn mount_of(fd: &OwnedFd) -> u64 {
    /// `STATX_MNT_ID` and `STATX_MNT_ID_UNIQUE`.
    const MNT_ID: u32 = 0x1000 | 0x4000;
    let wanted = StatxFlags::from_bits_retain(MNT_ID);
    let told = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, wanted);
    told.ok().filter(|told| told.stx_mask & MNT_ID != 0).map_or(0, |told| told.stx_mnt_id)
}

pub(super) fn kind(kind: FileType) -> Kind {
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Special,
    }
}

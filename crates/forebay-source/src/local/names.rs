//! The attributes of many names of one folder, by one system call each.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, OFlags, StatxFlags};

use super::LocalSource;
use super::look::Seen;
use super::served::{Mount, with_mount};
use crate::{Attributes, Inode, Listed, ListedIn, Result, Source};

/// File systems that know the attributes of their files without asking a server (`f_type` of
/// statfs(2)): `statx` tells the truth there when it is told not to synchronise.
const IMMEDIATE: [u32; 7] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683e, // Btrfs
    0x0102_1994, // tmpfs
    0xf2f5_2010, // F2FS
    0x2fc1_2fc1, // ZFS
    0xca45_1a4e, // bcachefs
];

/// A folder whose names are looked at.
struct Folder<'a> {
    source: &'a LocalSource,
    path: &'a Path,
    fd: OwnedFd,
    mount: Mount,
}

/// Tells the attributes of names of a folder; `None` if each has to be opened for that.
pub(super) fn of<'a>(source: &'a LocalSource, path: &'a Path) -> Option<ListedIn<'a>> {
    let fd = source.root.open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW).ok()?;
    let mount = Mount::of(&fd).ok()?;
    if rustix::fs::fstat(&fd).ok()?.st_dev != source.here.device {
        return None;
    }
    let kind = rustix::fs::fstatfs(&fd).ok()?.f_type;
    let folder = Folder { source, path, fd, mount };
    IMMEDIATE.contains(&(kind as u32)).then(|| Box::new(move |listed: &Listed<'_>| folder.look(listed)) as ListedIn<'a>)
}

impl Folder<'_> {
    fn look(&self, listed: &Listed<'_>) -> Result<Option<Attributes>> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
        let told = rustix::fs::statx(&self.fd, listed.name, flags, with_mount(StatxFlags::BASIC_STATS));
        let path = self.path.join(listed.name);
        let told = told.map_err(|errno| super::error(&path, errno))?;
        let (seen, here) = (Seen::from(&told), &self.source.here);
        // Another mount, or a part of the file system with a device number of its own.
        if !Mount::told(&told).is_surely(&self.mount) || seen.device != here.device {
            return self.source.listed(self.path, listed);
        }
        let inode = Inode { device: seen.device, number: seen.number, mount: 0 };
        Ok(Some(here.attributes_of(&path, inode, &seen)))
    }
}

//! Attributes, kinds and errors in the kernel's terms.

use std::sync::LazyLock;
use std::time::Duration;

use forebay_live::tree::NodeId;
use forebay_source::{Attributes, Error, Kind, Quiet};
use fuser::{Errno, FileAttr, FileType, INodeNo};

/// The I/O size that `stat` recommends, in bytes. Programs that read through buffers of this size
/// (most of C's stdio) then ask for a piece that is worth a request; the kernel's usual 4 KiB would
/// cost a switch into this process each.
const IO_SIZE: u32 = 128 << 10;

/// The attributes that `stat` shows.
pub(crate) fn attributes(of: &Attributes) -> FileAttr {
    FileAttr {
        ino: INodeNo(of.inode),
        size: of.size,
        blocks: of.allocated.div_ceil(512),
        atime: of.accessed,
        mtime: of.modified,
        ctime: of.changed,
        crtime: of.changed,
        kind: kind_of_mode(of.mode).unwrap_or_else(|| kind(of.kind)),
        perm: (of.mode & 0o7777) as u16,
        nlink: of.links,
        uid: of.uid,
        gid: of.gid,
        // The low 32 bits of a dev_t are the kernel's own encoding of every major below 4096 and
        // minor below 2^20.
        rdev: of.rdev as u32,
        blksize: IO_SIZE,
        flags: 0,
    }
}

/// The rest of the time for which the kernel may believe a source's answer.
pub(crate) fn left(of: &Attributes, ttl: Duration) -> Duration {
    of.told.map_or(ttl, |told| ttl.saturating_sub(told.elapsed()))
}

/// A name's attributes, and for how long the kernel may keep them.
pub(crate) struct Shown {
    pub(crate) attributes: FileAttr,
    pub(crate) ttl: Duration,
}

/// The attributes that the kernel gets with a node. The FUSE library takes the inode number in them
/// for the node's id. Where the two differ, the kernel must ask for the attributes ([`attributes`])
/// before it shows them.
pub(crate) fn of_node(node: NodeId, of: &Attributes, ttl: Duration) -> Shown {
    let ttl = if of.inode == node.0 { left(of, ttl) } else { Duration::ZERO };
    Shown { attributes: FileAttr { ino: INodeNo(node.0), ..attributes(of) }, ttl }
}

/// The attributes of an absent name, for the kernel to remember.
pub(crate) fn nothing() -> FileAttr {
    let never = std::time::SystemTime::UNIX_EPOCH;
    FileAttr {
        ino: INodeNo(0),
        size: 0,
        blocks: 0,
        atime: never,
        mtime: never,
        ctime: never,
        crtime: never,
        kind: FileType::RegularFile,
        perm: 0,
        nlink: 0,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 0,
        flags: 0,
    }
}

/// The kind that a listing shows. Only a look-up tells the sort of a special file.
pub(crate) fn kind(kind: Kind) -> FileType {
    match kind {
        Kind::File => FileType::RegularFile,
        Kind::Folder => FileType::Directory,
        Kind::Link => FileType::Symlink,
        Kind::Special => FileType::NamedPipe,
    }
}

fn kind_of_mode(mode: u32) -> Option<FileType> {
    match mode & libc::S_IFMT {
        libc::S_IFREG => Some(FileType::RegularFile),
        libc::S_IFDIR => Some(FileType::Directory),
        libc::S_IFLNK => Some(FileType::Symlink),
        libc::S_IFIFO => Some(FileType::NamedPipe),
        libc::S_IFSOCK => Some(FileType::Socket),
        libc::S_IFCHR => Some(FileType::CharDevice),
        libc::S_IFBLK => Some(FileType::BlockDevice),
        _ => None,
    }
}

pub(crate) fn errno(error: &Error) -> Errno {
    static QUIET: LazyLock<Quiet> = LazyLock::new(Quiet::default);
    // An errno cannot say which member of a set lacks a name, or how the storage answered.
    if let Error::Storage { reason, .. } = error
        && let Some(again) = QUIET.due(reason)
    {
        log::warn!("{error}{again}");
    }
    Errno::from_i32(error.errno())
}

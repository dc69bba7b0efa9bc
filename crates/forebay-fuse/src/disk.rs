//! A modelled disk as one file, and beside it a file of the disk's statistics. Reads and writes go
//! to the disk as they come and are answered when their time has come; none of them holds a thread
//! meanwhile.

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use forebay_source::disk::PacedDisk;
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use crate::attributes::nothing;
use crate::handles::Handles;

/// The largest request, in bytes: the kernel's FUSE_MAX_PAGES of 4 KiB pages.
const REQUEST_MAX: u32 = 1 << 20;

/// As many requests under way as a loop device sends.
const BACKGROUND_MAX: u16 = 128;

const DISK: INodeNo = INodeNo(2);
const STATS: INodeNo = INodeNo(3);

/// The contents of the folder.
const NAMES: [(&str, INodeNo); 2] = [("disk", DISK), ("stats", STATS)];

/// The disk's size does not change, and its times mean nothing.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// The adapter: a disk, and for each open of `stats` the statistics of that moment.
pub(crate) struct DiskAdapter {
    disk: Arc<PacedDisk>,
    open: Handles<Vec<u8>>,
    mounted: SystemTime,
    owner: (u32, u32),
}

impl DiskAdapter {
    pub(crate) fn new(disk: Arc<PacedDisk>) -> DiskAdapter {
        let owner = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        DiskAdapter { disk, open: Handles::new(), mounted: SystemTime::now(), owner }
    }

    fn attributes(&self, inode: INodeNo) -> Option<(FileAttr, Duration)> {
        let (kind, perm, size, ttl) = match inode {
            INodeNo::ROOT => (FileType::Directory, 0o500, 0, FOREVER),
            DISK => (FileType::RegularFile, 0o600, self.disk.size(), FOREVER),
            STATS => (FileType::RegularFile, 0o400, self.stats().len() as u64, Duration::ZERO),
            _ => return None,
        };
        let (at, (uid, gid)) = (self.mounted, self.owner);
        let times = FileAttr { atime: at, mtime: at, ctime: at, crtime: at, ..nothing() };
        let blocks = size.div_ceil(512);
        Some((FileAttr { ino: inode, size, blocks, kind, perm, nlink: 1, uid, gid, blksize: 4096, ..times }, ttl))
    }

    fn stats(&self) -> Vec<u8> {
        // Numbers and names only, which JSON can hold. On an error the file is empty.
        let mut text = serde_json::to_vec_pretty(&self.disk.stats()).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

fn errno(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_i32)
}

impl Filesystem for DiskAdapter {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let wanted = InitFlags::FUSE_ASYNC_READ
            | InitFlags::FUSE_ASYNC_DIO
            | InitFlags::FUSE_MAX_PAGES
            | InitFlags::FUSE_PARALLEL_DIROPS;
        // Without them it is slower and the requests are smaller, but the same disk.
        if let Err(missing) = config.add_capabilities(wanted & config.capabilities()) {
            log::debug!("the kernel has no {missing:?}");
        }
        let _ = config.set_max_write(REQUEST_MAX);
        let _ = config.set_max_background(BACKGROUND_MAX);
        Ok(())
    }

    fn lookup(&self, _request: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = NAMES.iter().find(|(known, _)| name == *known).and_then(|&(_, inode)| self.attributes(inode));
        match found {
            Some((attributes, ttl)) => reply.entry(&ttl, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some((attributes, ttl)) => reply.attr(&ttl, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// A disk has one size, one owner and one mode. Setting times is accepted, for programs that
    /// copy onto it.
    fn setattr(
        &self,
        _request: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _accessed: Option<TimeOrNow>,
        _modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _created: Option<SystemTime>,
        _changed_flags: Option<SystemTime>,
        _backed_up: Option<SystemTime>,
        flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let resized = size.is_some_and(|size| inode != DISK || size != self.disk.size());
        if resized || mode.is_some() || uid.is_some() || gid.is_some() || flags.is_some() {
            return reply.error(Errno::EPERM);
        }
        match self.attributes(inode) {
            Some((attributes, ttl)) => reply.attr(&ttl, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _request: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let direct = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH;
        match inode {
            // Many writes at a time, as a block device has them.
            DISK => reply.opened(FileHandle(0), direct | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES),
            STATS if flags.acc_mode() != fuser::OpenAccMode::O_RDONLY => reply.error(Errno::EACCES),
            STATS => reply.opened(self.open.insert(self.stats()), direct),
            _ => reply.error(Errno::EISDIR),
        }
    }

    fn read(
        &self,
        _request: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if inode == DISK {
            return self.disk.read_then(offset, size as usize, move |outcome| match outcome {
                Ok(bytes) => reply.data(&bytes),
                Err(error) => reply.error(errno(&error)),
            });
        }
        let Some(text) = self.open.get(handle) else { return reply.error(Errno::EBADF) };
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
        let to = from.saturating_add(size as usize).min(text.len());
        reply.data(&text[from..to]);
    }

    fn write(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if inode != DISK {
            return reply.error(Errno::EBADF);
        }
        self.disk.write_then(offset, data, move |outcome| match outcome {
            // A request has 1 MiB at most.
            Ok(written) => reply.written(written as u32),
            Err(error) => reply.error(errno(&error)),
        });
    }

    fn fsync(&self, _request: &Request, inode: INodeNo, _handle: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        match if inode == DISK { self.disk.flush() } else { Ok(()) } {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn release(
        &self,
        _request: &Request,
        inode: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        if inode == STATS {
            self.open.remove(handle);
        }
        reply.ok();
    }

    fn readdir(&self, _request: &Request, inode: INodeNo, _handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let dots = [".", ".."].map(|dot| (dot, inode, FileType::Directory));
        let files = NAMES.map(|(name, inode)| (name, inode, FileType::RegularFile));
        let entries = (1..).zip(dots.into_iter().chain(files));
        for (next, (name, inode, kind)) in entries.skip(usize::try_from(offset).unwrap_or(usize::MAX)) {
            if reply.add(inode, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    // The folder cannot be changed.

    fn create(
        &self,
        _request: &Request,
        _parent: INodeNo,
        _name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: fuser::ReplyCreate,
    ) {
        reply.error(Errno::EPERM);
    }

    fn mkdir(&self, _request: &Request, _parent: INodeNo, _name: &OsStr, _mode: u32, _umask: u32, reply: ReplyEntry) {
        reply.error(Errno::EPERM);
    }

    fn unlink(&self, _request: &Request, _parent: INodeNo, _name: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EPERM);
    }

    // The kernel takes ENOSYS for "never ask again": access(2) then always succeeds, as for the
    // owner it should, there are no extended attributes, and there is nothing to preallocate or
    // discard.
    fn access(&self, _request: &Request, _inode: INodeNo, _mask: fuser::AccessFlags, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn getxattr(&self, _request: &Request, _inode: INodeNo, _name: &OsStr, _size: u32, reply: fuser::ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }

    fn listxattr(&self, _request: &Request, _inode: INodeNo, _size: u32, reply: fuser::ReplyXattr) {
        reply.error(Errno::ENOSYS);
    }

    // isatty(3) asks by this; programs that open files in text mode do it each time.
    fn ioctl(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _flags: fuser::IoctlFlags,
        _command: u32,
        _input: &[u8],
        _output: u32,
        reply: fuser::ReplyIoctl,
    ) {
        reply.error(Errno::ENOTTY);
    }

    fn fallocate(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _offset: u64,
        _length: u64,
        _mode: i32,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::ENOSYS);
    }

    fn lseek(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _offset: i64,
        _whence: i32,
        reply: fuser::ReplyLseek,
    ) {
        reply.error(Errno::ENOSYS);
    }
}

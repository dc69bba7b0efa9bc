//! The requests of the kernel, each answered by one call on the tree.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

use forebay_live::contexts::{FileName, Reader};
use forebay_live::engine::{Lease, OpenFile, Referenced};
use forebay_live::source::{self, Error, Kind};
use forebay_live::tree::{Listed, Listing, NodeId, Tree};
use fuser::{
    AccessFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    IoctlFlags, KernelConfig, LockOwner, OpenAccMode, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyXattr, Request,
};
use parking_lot::Mutex;

use crate::attributes::{Shown, attributes, errno, kind, nothing, of_node};
use crate::handles::Handles;
use crate::mount::MountOptions;

/// The largest request, in bytes: the kernel's FUSE_MAX_PAGES of 4 KiB pages.
const REQUEST_MAX: u32 = 1 << 20;

/// Requests that the kernel sends of its own accord (its read-ahead) before it waits for replies.
const BACKGROUND_MAX: u16 = 128;

/// The unit in which free space is counted.
const SPACE_UNIT: u32 = 4096;

/// An open file, and what it is called where the policy cares for that.
struct Opened {
    file: OpenFile,
    name: Option<FileName>,
}

/// An open folder: its names as they were at the last read from the start.
struct Folder {
    node: NodeId,
    listing: Mutex<Option<Arc<Listing>>>,
}

/// The adapter: a tree, and what is open.
pub(crate) struct Adapter {
    tree: Arc<Tree>,
    options: MountOptions,
    files: Handles<Opened>,
    folders: Handles<Folder>,
}

impl Adapter {
    pub(crate) fn new(tree: Arc<Tree>, options: MountOptions) -> Adapter {
        Adapter { tree, options, files: Handles::new(), folders: Handles::new() }
    }

    /// The names of an open folder. A read from the start lists anew, as rewinddir(3) wants; later ones go on in that
    /// list.
    fn listing(&self, folder: &Folder, offset: u64) -> source::Result<Arc<Listing>> {
        if offset > 0
            && let Some(listing) = folder.listing.lock().as_ref()
        {
            return Ok(Arc::clone(listing));
        }
        // Listed without the lock: it may take the source a while, and the last to finish is as good as any.
        let listing = Arc::new(self.tree.list(folder.node)?);
        *folder.listing.lock() = Some(Arc::clone(&listing));
        Ok(listing)
    }

    fn generation(&self, node: NodeId) -> Generation {
        Generation(self.tree.generation(node))
    }

    /// What a listing says of a name, with a lookup reference, and for how long. A name that fails to be looked up is
    /// shown for no time at all: whoever looks at it asks again, and has the error.
    fn named(&self, folder: NodeId, name: &OsStr, of: Kind) -> source::Result<(NodeId, Shown)> {
        match self.tree.lookup_listed(folder, name) {
            Ok((id, found)) => Ok((id, of_node(id, &found, self.options.ttl))),
            Err(error @ Error::NotFound(_)) => Err(error),
            Err(_) => {
                let id = self.tree.refer_unseen(folder, name, of)?;
                let attributes = FileAttr { ino: INodeNo(id.0), kind: kind(of), ..nothing() };
                Ok((id, Shown { attributes, ttl: Duration::ZERO }))
            }
        }
    }
}

/// How the kernel treats an open file: what the engine keeps it need not keep, and the other way round. Pages that it does
/// keep, of mapped files in any case, may stay from one open to the next: a node is one version.
fn open_flags(referenced: Referenced) -> FopenFlags {
    let always = FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH;
    match referenced {
        Referenced::Kept => always | FopenFlags::FOPEN_DIRECT_IO,
        Referenced::HandedOn => always,
    }
}

/// What is at an offset of a folder: `.`, `..`, then its names. The offset of a name is one less than what the kernel
/// goes on from.
enum At<'a> {
    Dot(&'static str),
    Name(Listed<'a>),
}

fn at(listing: &Listing, offset: u64) -> Option<At<'_>> {
    match offset {
        0 => Some(At::Dot(".")),
        1 => Some(At::Dot("..")),
        _ => listing.get(usize::try_from(offset - 2).ok()?).map(At::Name),
    }
}

thread_local! {
    /// Where leases in several pieces are put together: one request at the most, on each thread that completes reads.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Replies with what was read; a lease in one piece is not copied.
fn answer(outcome: source::Result<Lease>, reply: ReplyData) {
    let lease = match outcome {
        Ok(lease) => lease,
        Err(error) => {
            log::debug!("read: {error}");
            return reply.error(errno(&error));
        }
    };
    let mut slices = lease.slices();
    let (first, second) = (slices.next().unwrap_or_default(), slices.next());
    let Some(second) = second else { return reply.data(first) };
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.clear();
        scratch.extend_from_slice(first);
        scratch.extend_from_slice(second);
        slices.for_each(|slice| scratch.extend_from_slice(slice));
        reply.data(scratch);
    });
}

/// Replies to a request for an attribute value: its length, the value, or that it does not fit.
fn answer_value(value: source::Result<Vec<u8>>, size: u32, reply: ReplyXattr) {
    match value {
        Err(error) => reply.error(errno(&error)),
        Ok(value) if size == 0 => reply.size(value.len() as u32),
        Ok(value) if value.len() > size as usize => reply.error(Errno::ERANGE),
        Ok(value) => reply.data(&value),
    }
}

fn node(inode: INodeNo) -> NodeId {
    NodeId(inode.0)
}

impl Filesystem for Adapter {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let wanted = InitFlags::FUSE_ASYNC_READ
            | InitFlags::FUSE_ASYNC_DIO
            | InitFlags::FUSE_PARALLEL_DIROPS
            | InitFlags::FUSE_DO_READDIRPLUS
            | InitFlags::FUSE_READDIRPLUS_AUTO
            | InitFlags::FUSE_MAX_PAGES
            | InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP;
        // What an older kernel lacks it does without; each of these only makes things faster, except mmap of files.
        if let Err(missing) = config.add_capabilities(wanted & config.capabilities()) {
            log::debug!("the kernel has no {missing:?}");
        }
        if !config.capabilities().contains(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP) {
            log::warn!("this kernel cannot map files of the mount shared (it needs Linux 6.6)");
        }
        // The kernel sizes requests, reads too, by the largest write. The nearest values that it grants will do.
        let _ = config.set_max_write(REQUEST_MAX);
        let _ = config.set_max_readahead(REQUEST_MAX).or_else(|most| config.set_max_readahead(most));
        let _ = config.set_max_background(BACKGROUND_MAX);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.tree.lookup(node(parent), name) {
            Ok((id, found)) => {
                let Shown { attributes, ttl } = of_node(id, &found, self.options.ttl);
                reply.entry_with_ttls(&ttl, &self.options.ttl, &attributes, self.generation(id));
            }
            Err(Error::NotFound(_)) if !self.options.negative_ttl.is_zero() => {
                reply.entry(&self.options.negative_ttl, &nothing(), Generation(0));
            }
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn forget(&self, _request: &Request, inode: INodeNo, lookups: u64) {
        self.tree.forget(node(inode), lookups);
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        match self.tree.attributes(node(inode)) {
            Ok(found) => reply.attr(&self.options.ttl, &attributes(&found)),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn readlink(&self, _request: &Request, inode: INodeNo, reply: ReplyData) {
        match self.tree.read_link(node(inode)) {
            Ok(target) => reply.data(target.as_os_str().as_bytes()),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn open(&self, _request: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        if flags.acc_mode() != OpenAccMode::O_RDONLY {
            return reply.error(Errno::EROFS);
        }
        match self.tree.open(node(inode)) {
            Ok(file) => {
                let flags = open_flags(file.referenced());
                let name = self.tree.file_name(node(inode));
                reply.opened(self.files.insert(Opened { file, name }), flags);
            }
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn read(
        &self,
        request: &Request,
        _inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let Some(opened) = self.files.get(handle) else { return reply.error(Errno::EBADF) };
        let Opened { file, name } = &*opened;
        // The read that finds the end, which every program makes, is not worth the engine's attention.
        if offset >= file.size() {
            return reply.data(&[]);
        }
        // The kernel says which thread asks, and calls it a process.
        let reader = Reader { thread: request.pid(), user: request.uid() };
        let caller = self.tree.caller(reader, name.as_ref());
        file.read_by_then(caller, offset, size as usize, move |outcome| answer(outcome, reply));
    }

    fn release(
        &self,
        _request: &Request,
        _inode: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.files.remove(handle);
        reply.ok();
    }

    fn opendir(&self, _request: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        // The kernel walks the path anew if the folder is stale now, and no more once it is open.
        if let Err(error) = self.tree.unchanged(node(inode)) {
            return reply.error(errno(&error));
        }
        let folder = Folder { node: node(inode), listing: Mutex::new(None) };
        reply.opened(self.folders.insert(folder), FopenFlags::empty());
    }

    fn readdir(
        &self,
        _request: &Request,
        inode: INodeNo,
        handle: FileHandle,
        mut offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let Some(folder) = self.folders.get(handle) else { return reply.error(Errno::EBADF) };
        let listing = match self.listing(&folder, offset) {
            Ok(listing) => listing,
            Err(error) => return reply.error(errno(&error)),
        };
        while let Some(entry) = at(&listing, offset) {
            offset += 1;
            let full = match entry {
                At::Dot(dot) => reply.add(inode, offset, FileType::Directory, dot),
                At::Name(Listed { name, kind: of, inode }) => reply.add(INodeNo(inode), offset, kind(of), name),
            };
            if full {
                break;
            }
        }
        reply.ok();
    }

    fn readdirplus(
        &self,
        _request: &Request,
        inode: INodeNo,
        handle: FileHandle,
        mut offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let Some(folder) = self.folders.get(handle) else { return reply.error(Errno::EBADF) };
        let listing = match self.listing(&folder, offset) {
            Ok(listing) => listing,
            Err(error) => return reply.error(errno(&error)),
        };
        let mut given = Vec::new();
        // No reference counts for `.` and `..`: the kernel takes only their names.
        let dot = FileAttr { ino: inode, kind: FileType::Directory, ..nothing() };
        while let Some(entry) = at(&listing, offset) {
            offset += 1;
            let full = match entry {
                At::Dot(name) => reply.add(inode, offset, name, &self.options.ttl, &dot, Generation(0)),
                At::Name(Listed { name, kind: of, inode }) => match self.named(folder.node, name, of) {
                    Ok((id, Shown { attributes, ttl })) => {
                        let generation = self.generation(id);
                        let full = reply.add(INodeNo(inode), offset, name, &ttl, &attributes, generation);
                        if full {
                            self.tree.forget(id, 1);
                        } else {
                            given.push(id);
                        }
                        full
                    }
                    // It is gone since it was listed.
                    Err(_) => false,
                },
            };
            if full {
                break;
            }
        }
        match self.tree.unchanged(folder.node) {
            Ok(()) => reply.ok(),
            // The names are of another folder by now, and what they were said to be with them.
            Err(error) => {
                given.into_iter().for_each(|id| self.tree.forget(id, 1));
                reply.error(errno(&error));
            }
        }
    }

    fn releasedir(
        &self,
        _request: &Request,
        _inode: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.folders.remove(handle);
        reply.ok();
    }

    fn statfs(&self, _request: &Request, inode: INodeNo, reply: ReplyStatfs) {
        match self.tree.space(node(inode)) {
            Ok(space) => {
                let (all, free) = (space.bytes / u64::from(SPACE_UNIT), space.bytes_free / u64::from(SPACE_UNIT));
                reply.statfs(all, free, free, space.names, space.names_free, SPACE_UNIT, 255, SPACE_UNIT);
            }
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn getxattr(&self, _request: &Request, inode: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        answer_value(self.tree.xattr(node(inode), name), size, reply);
    }

    fn listxattr(&self, _request: &Request, inode: INodeNo, size: u32, reply: ReplyXattr) {
        let names = self.tree.xattrs(node(inode)).map(|names| {
            let terminated = names.iter().flat_map(|name| [name.as_bytes(), b"\0"]);
            terminated.collect::<Vec<_>>().concat()
        });
        answer_value(names, size, reply);
    }

    // The kernel takes ENOSYS for "never ask again" and then decides by itself: access(2) by the owner always succeeds
    // where the mount does not check modes, and a file has no holes.
    fn access(&self, _request: &Request, _inode: INodeNo, _mask: AccessFlags, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn lseek(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _offset: i64,
        _whence: i32,
        reply: ReplyLseek,
    ) {
        reply.error(Errno::ENOSYS);
    }

    // isatty(3) asks by this; programs that open files in text mode do it each time.
    fn ioctl(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _flags: IoctlFlags,
        _command: u32,
        _input: &[u8],
        _output: u32,
        reply: ReplyIoctl,
    ) {
        reply.error(Errno::ENOTTY);
    }

    fn fsync(&self, _request: &Request, _inode: INodeNo, _handle: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsyncdir(&self, _request: &Request, _inode: INodeNo, _handle: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        reply.ok();
    }
}

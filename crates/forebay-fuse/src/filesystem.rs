//! The requests of the kernel, each answered by one call on the tree: at once, or later on another
//! thread (see `waiting.rs`).

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

use forebay_live::contexts::{FileName, Reader};
use forebay_live::engine::{Lease, OpenFile, Referenced};
use forebay_live::tree::{NodeId, Referred, Tree};
use forebay_source::{self as source, Attributes, Error};
use fuser::{
    AccessFlags, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, IoctlFlags, KernelConfig,
    LockOwner, OpenAccMode, OpenFlags, PollEvents, PollFlags, PollNotifier, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen, ReplyPoll, ReplyStatfs, ReplyXattr,
    Request,
};

use crate::attributes::{Shown, attributes, errno, left, nothing, of_node};
use crate::folders::{Folder, FolderRead};
use crate::handles::Handles;
use crate::hints;
use crate::mount::MountOptions;
use crate::permission::User;
use crate::waiting::{Asker, Slot, Waiting};

/// The largest request, in bytes: the kernel's FUSE_MAX_PAGES of 4 KiB pages.
const REQUEST_MAX: u32 = 1 << 20;

/// Requests that the kernel sends of its own accord (its read-ahead) before it waits for replies.
const BACKGROUND_MAX: u16 = 128;

/// The unit in which free space is counted.
const SPACE_UNIT: u32 = 4096;

/// An open file, and its name where the policy needs it.
struct Opened {
    file: OpenFile,
    name: Option<FileName>,
}

/// For how long the kernel may believe an answer.
#[derive(Clone, Copy)]
struct Lifetimes {
    /// Of names and attributes.
    found: Duration,
    /// Of the absence of a name.
    missing: Duration,
}

/// The adapter: a tree, its open files and folders, and the requests that wait.
pub(crate) struct Adapter {
    tree: Arc<Tree>,
    lifetimes: Lifetimes,
    files: Arc<Handles<Opened>>,
    folders: Handles<Folder>,
    waiting: Waiting,
}

impl Adapter {
    pub(crate) fn new(tree: Arc<Tree>, options: &MountOptions) -> std::io::Result<Adapter> {
        let waiting = Waiting::start()?;
        let lifetimes = Lifetimes { found: options.ttl, missing: options.negative_ttl };
        Ok(Adapter { tree, lifetimes, files: Arc::new(Handles::new()), folders: Handles::new(), waiting })
    }

    fn folder_read(&self, folder: Arc<Folder>, offset: u64) -> FolderRead {
        FolderRead { tree: Arc::clone(&self.tree), folder, ttl: self.lifetimes.found, offset }
    }
}

/// The thread that asks for names.
fn asker(request: &Request) -> Asker {
    Asker { thread: request.pid(), may_be_fault: false }
}

/// Replies with the name of a look-up.
fn answer_entry(tree: &Tree, lifetimes: Lifetimes, found: source::Result<Referred>, slot: &Slot<ReplyEntry>) {
    let Some(reply) = slot.take() else {
        // The reader gave up, so the kernel has no reference.
        return found.map_or((), |found| tree.forget(found.node, 1));
    };
    match found {
        Ok(Referred { node, attributes: found }) => {
            let Shown { attributes, ttl } = of_node(node, &found, lifetimes.found);
            let generation = Generation(tree.generation(node));
            reply.entry_with_ttls(&ttl, &left(&found, lifetimes.found), &attributes, generation);
        }
        Err(Error::NotFound(_)) if !lifetimes.missing.is_zero() => {
            reply.entry(&lifetimes.missing, &nothing(), Generation(0));
        }
        Err(error) => reply.error(errno(&error)),
    }
}

/// The kernel's treatment of an open file. The kernel need not keep blocks that the engine keeps,
/// and the other way round. Pages that it does keep, of mapped files in any case, may stay from one
/// open to the next: a node is one version.
fn open_flags(referenced: Referenced) -> FopenFlags {
    let always = FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH;
    match referenced {
        Referenced::Kept => always | FopenFlags::FOPEN_DIRECT_IO,
        Referenced::HandedOn => always,
    }
}

thread_local! {
    /// Where leases in several pieces are put together: one request at the most, on each thread
    /// that completes reads.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Replies with the bytes of a read; a lease in one piece is not copied.
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
            | InitFlags::FUSE_MAX_PAGES
            | InitFlags::FUSE_HAS_IOCTL_DIR
            | InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP;
        // An older kernel may lack some of these. They only make things faster, except mmap of
        // files.
        if let Err(missing) = config.add_capabilities(wanted & config.capabilities()) {
            log::debug!("the kernel has no {missing:?}");
        }
        if !config.capabilities().contains(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP) {
            log::warn!("this kernel cannot map files of the mount shared (it needs Linux 6.6)");
        }
        // The kernel sizes requests, reads too, by the largest write. The nearest values that it
        // grants will do.
        let _ = config.set_max_write(REQUEST_MAX);
        let _ = config.set_max_readahead(REQUEST_MAX).or_else(|most| config.set_max_readahead(most));
        let _ = config.set_max_background(BACKGROUND_MAX);
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.waiting.ask(asker(request), reply, |slot| {
            let (tree, lifetimes) = (Arc::clone(&self.tree), self.lifetimes);
            let answer = move |found| answer_entry(&tree, lifetimes, found, &slot);
            self.tree.lookup_then(node(parent), name, Box::new(answer));
        });
    }

    fn forget(&self, _request: &Request, inode: INodeNo, lookups: u64) {
        self.tree.forget(node(inode), lookups);
    }

    fn getattr(&self, request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        self.waiting.ask(asker(request), reply, |slot| {
            let ttl = self.lifetimes.found;
            let answer = move |found: source::Result<Attributes>| match (slot.take(), found) {
                (None, _) => {}
                (Some(reply), Ok(found)) => reply.attr(&left(&found, ttl), &attributes(&found)),
                (Some(reply), Err(error)) => reply.error(errno(&error)),
            };
            self.tree.attributes_then(node(inode), Box::new(answer));
        });
    }

    fn readlink(&self, _request: &Request, inode: INodeNo, reply: ReplyData) {
        match self.tree.read_link(node(inode)) {
            Ok(target) => reply.data(target.as_os_str().as_bytes()),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn open(&self, request: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        if flags.acc_mode() != OpenAccMode::O_RDONLY {
            return reply.error(Errno::EROFS);
        }
        self.waiting.ask(asker(request), reply, |slot| {
            let (tree, files) = (Arc::clone(&self.tree), Arc::clone(&self.files));
            let answer = move |file: source::Result<OpenFile>| match (slot.take(), file) {
                (None, _) => {}
                (Some(reply), Ok(file)) => {
                    let flags = open_flags(file.referenced());
                    let name = tree.file_name(node(inode));
                    reply.opened(files.insert(Opened { file, name }), flags);
                }
                (Some(reply), Err(error)) => reply.error(errno(&error)),
            };
            self.tree.open_then(node(inode), Box::new(answer));
        });
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
        // Every program makes a read that finds the end; it need not go to the engine.
        if offset >= file.size() {
            return reply.data(&[]);
        }
        // The kernel says which thread asks, and calls it a process.
        let reader = Reader { thread: request.pid(), user: request.uid() };
        let caller = self.tree.caller(reader, name.as_ref());
        self.waiting.ask(Asker { thread: request.pid(), may_be_fault: true }, reply, |slot| {
            file.read_by_then(caller, offset, size as usize, move |outcome| {
                if let Some(reply) = slot.take() {
                    answer(outcome, reply);
                }
            });
        });
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
        reply.opened(self.folders.insert(Folder::new(node(inode))), FopenFlags::empty());
    }

    fn readdir(&self, request: &Request, _inode: INodeNo, handle: FileHandle, offset: u64, reply: ReplyDirectory) {
        let Some(folder) = self.folders.get(handle) else { return reply.error(Errno::EBADF) };
        let read = self.folder_read(folder, offset);
        self.waiting.ask(asker(request), reply, |slot| read.start(slot, FolderRead::plain));
    }

    fn readdirplus(
        &self,
        request: &Request,
        _inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        reply: ReplyDirectoryPlus,
    ) {
        let Some(folder) = self.folders.get(handle) else { return reply.error(Errno::EBADF) };
        let read = self.folder_read(folder, offset);
        self.waiting.ask(asker(request), reply, |slot| read.start(slot, FolderRead::plus));
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

    fn listxattr(&self, request: &Request, inode: INodeNo, size: u32, reply: ReplyXattr) {
        // As on any file system, names of `trusted.` are shown to root alone (xattr(7)). Asking for
        // their values the kernel refuses by itself.
        let shown = |name: &&OsString| request.uid() == 0 || !name.as_bytes().starts_with(b"trusted.");
        let names = self.tree.xattrs(node(inode)).map(|names| {
            let terminated = names.iter().filter(shown).flat_map(|name| [name.as_bytes(), b"\0"]);
            terminated.collect::<Vec<_>>().concat()
        });
        answer_value(names, size, reply);
    }

    // The kernel asks only where it does not judge modes itself.
    fn access(&self, request: &Request, inode: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        let user = User::asking(request.uid(), request.gid());
        self.waiting.ask(asker(request), reply, |slot| {
            let answer = move |found: source::Result<Attributes>| match (slot.take(), found) {
                (None, _) => {}
                (Some(reply), Ok(found)) if user.may(mask, &found) => reply.ok(),
                (Some(reply), Ok(_)) => reply.error(Errno::EACCES),
                (Some(reply), Err(error)) => reply.error(errno(&error)),
            };
            self.tree.attributes_then(node(inode), Box::new(answer));
        });
    }

    // The kernel takes ENOSYS for "never ask again" and then decides by itself: a file has no
    // holes.

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

    // The same, and a file is always ready.
    fn poll(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _notifier: PollNotifier,
        _events: PollEvents,
        _flags: PollFlags,
        reply: ReplyPoll,
    ) {
        reply.error(Errno::ENOSYS);
    }

    // isatty(3) asks by this; programs that open files in text mode do it each time.
    fn ioctl(
        &self,
        request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _flags: IoctlFlags,
        command: u32,
        input: &[u8],
        _output: u32,
        reply: ReplyIoctl,
    ) {
        match hints::heed(&self.tree, request.uid(), command, input) {
            Ok(()) => reply.ioctl(0, &[]),
            Err(errno) => reply.error(errno),
        }
    }

    fn fsync(&self, _request: &Request, _inode: INodeNo, _handle: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsyncdir(&self, _request: &Request, _inode: INodeNo, _handle: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        reply.ok();
    }
}

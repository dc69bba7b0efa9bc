//! Where names and bytes come from.
//!
//! A [`Source`] is a tree of names: a local folder, a prefix of a bucket. An [`Object`] is one
//! *version* of one file's bytes: if the file changes, its old object fails with [`Error::Stale`]
//! and never returns bytes of another version. Paths are relative to the source's root, have no
//! leading slash and need not be UTF-8; the empty path is the root.

pub mod disk;
pub mod faulty;
pub mod identity;
pub mod io;
mod label;
mod listing;
pub mod local;
pub mod memory;
pub mod object;
pub mod paced;
pub mod pacer;
mod remote;
mod segments;
pub mod size;
pub mod striped;
pub mod uri;
pub mod web;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant, SystemTime};

use forebay_core::DeviceCost;

use striped::Stripes;

pub use identity::{Fingerprint, Identity, Inode, Name, Version};
pub use label::Label;
pub use listing::{Listed, Listing};
pub use remote::{Modes, RemoteSource};
pub use segments::{Keeper, Segments};

/// Bytes in a block. One page, as in the papers, so that a random reader fetches no more than it
/// asks for.
pub const BLOCK: usize = 4096;

/// What a source can answer instead of what it was asked for.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Nothing has that name.
    #[error("{0}: not found")]
    NotFound(String),
    /// The source refuses.
    #[error("{0}: permission denied")]
    Denied(String),
    /// The bytes are no longer those of the version that was opened.
    #[error("{0}: changed since it was opened")]
    Stale(String),
    /// It is a folder, or it is not one, or has no such attribute.
    #[error("{name}: {}", std::io::Error::from_raw_os_error(*.errno))]
    Refused {
        /// What was asked for.
        name: String,
        /// The errno that says why.
        errno: i32,
    },
    /// Nobody needed it any more ([`Object::call_off`]).
    #[error("called off")]
    CalledOff,
    /// The storage failed; trying again may help.
    #[error("{name}: {reason}")]
    Storage {
        /// What was asked for.
        name: String,
        /// What the storage said.
        reason: String,
    },
    /// The storage answers, and a setting has to be changed before it gives what it was asked for.
    #[error("{name}: {reason}")]
    Setting {
        /// What was asked for.
        name: String,
        /// What is wrong, and what to do.
        reason: String,
        /// The region that the bucket lies in, if another one was asked.
        region: Option<Box<str>>,
    },
    /// The storage failed for as long as the source has patience with it.
    #[error("{name}: given up after {after:?}: {reason}")]
    GivenUp {
        /// What was asked for.
        name: String,
        /// What the storage said last.
        reason: String,
        /// For how long it was asked.
        after: Duration,
    },
}

impl Error {
    /// The errno that a file system reports for it.
    pub fn errno(&self) -> i32 {
        match self {
            Error::NotFound(_) => libc::ENOENT,
            Error::Denied(_) => libc::EACCES,
            Error::Stale(_) => libc::ESTALE,
            Error::Refused { errno, .. } => *errno,
            Error::CalledOff => libc::ECANCELED,
            Error::Storage { .. } | Error::Setting { .. } | Error::GivenUp { .. } => libc::EIO,
        }
    }

    /// Whether it says something of the storage, and nothing of the name that was asked for.
    pub fn is_of_the_storage(&self) -> bool {
        matches!(self, Error::Storage { .. } | Error::Setting { .. } | Error::GivenUp { .. } | Error::CalledOff)
    }

    /// Whether the same request may succeed at once: what was given up was tried for long.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Storage { .. })
    }
}

/// The result of asking a source.
pub type Result<T> = std::result::Result<T, Error>;

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device node: shown, never opened.
    Special,
}

/// What is known of a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attributes {
    /// What it stands for.
    pub kind: Kind,
    /// Bytes.
    pub size: u64,
    /// Bytes that it takes on its storage (a sparse file takes fewer than `size`).
    pub allocated: u64,
    /// File type and permission bits, as `st_mode`.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Hard links.
    pub links: u32,
    /// Device number of a device node.
    pub rdev: u64,
    /// Last access.
    pub accessed: SystemTime,
    /// Last modification.
    pub modified: SystemTime,
    /// Last change of the inode.
    pub changed: SystemTime,
    /// The number to show for its inode: unique in the source, and the same whenever it is looked
    /// at.
    pub inode: u64,
    /// Which version of which file its bytes are.
    pub identity: Identity,
    /// When the storage said so, if the source remembered it; `None` if it said so just now.
    pub told: Option<Instant>,
}

impl Attributes {
    /// Which version of its file it is.
    pub fn version(&self) -> &Version {
        &self.identity.version
    }
}

/// A name in a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The name, without a slash.
    pub name: OsString,
    /// What it stands for.
    pub kind: Kind,
    /// As [`Attributes::inode`].
    pub inode: u64,
    /// What the listing said of a file beyond that; `None` if nothing, or not enough to open it.
    pub facts: Option<Facts>,
}

/// What a storage tells of one of its files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Bytes.
    pub size: u64,
    /// Last modification, in nanoseconds since the epoch; `None` if it tells none.
    pub modified: Option<i64>,
    /// Entity tag or version.
    pub tag: Option<Box<str>>,
}

/// How full a source is, in bytes and names; zeros where it has no bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Space {
    /// Bytes in all.
    pub bytes: u64,
    /// Bytes free.
    pub bytes_free: u64,
    /// Names in all.
    pub names: u64,
    /// Names free.
    pub names_free: u64,
}

/// A run of a file's bytes on its device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The first byte, within the file.
    pub offset: u64,
    /// How many bytes.
    pub len: u64,
    /// The first byte, on the device.
    pub at_byte: u64,
}

/// Called with an answer, exactly once, from any thread, possibly before the question returns. It
/// may run on a thread that moves bytes, so it must not wait for a source.
pub type Then<T> = Box<dyn FnOnce(Result<T>) + Send>;

/// Tells what is known of names of one folder's listing.
pub type ListedIn<'a> = Box<dyn FnMut(&Listed<'_>) -> Result<Option<Attributes>> + 'a>;

/// A tree of names. Calls come from several threads at once. Those that take a [`Then`] wait for
/// nothing that is far away; what they ask for without one, a source answers from this machine.
pub trait Source: Send + Sync + 'static {
    /// What it is, for messages: `/srv/data`, `s3://bucket/prefix`.
    fn describe(&self) -> String;
    /// What it is in full, with its server and all else that tells it from other sources: two
    /// sources of one address have the same files. Without secrets.
    fn address(&self) -> &Arc<str>;
    /// What is known of a name. Symbolic links are not followed, in no part of the path.
    fn stat_then(&self, path: &Path, then: Then<Attributes>);
    /// The names in a folder, without `.` and `..`, in any order, each once.
    fn list_then(&self, path: &Path, then: Then<Listing>);
    /// Opens a regular file for reading.
    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>);
    /// What is known of a name of a listing of that folder without asking anything far away: what
    /// the listing said, or what this machine's file system says. `None` if that is not enough.
    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>>;
    /// [`listed`](Source::listed) for many names of a listing, one after the other.
    fn listed_in<'a>(&'a self, folder: &'a Path) -> ListedIn<'a> {
        Box::new(move |listed| self.listed(folder, listed))
    }
    /// Where a symbolic link points. A link that leads out of the source is refused with `EACCES`;
    /// an absolute one that stays inside is given relative to its own folder.
    fn read_link(&self, path: &Path) -> Result<PathBuf>;
    /// The value of an extended attribute.
    fn xattr(&self, path: &Path, name: &OsStr) -> Result<Vec<u8>>;
    /// The names of the extended attributes.
    fn xattrs(&self, path: &Path) -> Result<Vec<OsString>>;
    /// How full it is.
    fn space(&self) -> Result<Space>;
    /// A quick guess of what reading costs, where the source knows without measuring (a model);
    /// else `None`.
    fn cost(&self) -> Option<DeviceCost> {
        None
    }
    /// The sources behind it that lie on a device each, in order; none if it is one device itself.
    /// All its objects say how they are dealt out over them ([`Object::stripes`]).
    fn members(&self) -> &[Arc<dyn Source>] {
        &[]
    }
    /// [`stat_then`](Source::stat_then), waited for. Must not be called from a [`Then`] or a
    /// fetch's `done`; nor must those after it.
    fn stat(&self, path: &Path) -> Result<Attributes> {
        waited(|then| self.stat_then(path, then))
    }
    /// [`list_then`](Source::list_then), waited for.
    fn listing(&self, path: &Path) -> Result<Listing> {
        waited(|then| self.list_then(path, then))
    }
    /// [`listing`](Source::listing), taken apart.
    fn list(&self, path: &Path) -> Result<Vec<Entry>> {
        Ok(self.listing(path)?.iter().map(Entry::from).collect())
    }
    /// [`open_then`](Source::open_then), waited for.
    fn open(&self, path: &Path) -> Result<Arc<dyn Object>> {
        waited(|then| self.open_then(path, then))
    }
}

/// The answer to a question, waited for.
pub fn waited<T: Send + 'static>(ask: impl FnOnce(Then<T>)) -> Result<T> {
    let (send, receive) = sync_channel(1);
    ask(Box::new(move |answer| {
        let _ = send.send(answer);
    }));
    let abandoned = |_| Error::Storage { name: "a name".into(), reason: "the request was abandoned".into() };
    receive.recv().unwrap_or_else(|error| Err(abandoned(error)))
}

impl From<Listed<'_>> for Entry {
    fn from(Listed { name, kind, inode, facts, .. }: Listed<'_>) -> Entry {
        Entry { name: name.to_owned(), kind, inode, facts }
    }
}

/// One version of one file's bytes.
pub trait Object: Send + Sync + 'static {
    /// Which version of which file: what its blocks are cached under.
    fn identity(&self) -> &Identity;
    /// Which version of its file.
    fn version(&self) -> &Version {
        &self.identity().version
    }
    /// How its bytes are dealt out over the devices of its source; `None` if that is one device.
    fn stripes(&self) -> Option<Stripes> {
        None
    }
    /// Where its bytes lie on the device, in order of offset; empty if that is unknown or has no
    /// meaning. Of a striped one: where the members' own bytes lie, if that is the same on each.
    fn layout(&self) -> Vec<Run> {
        Vec::new()
    }
    /// Starts to read. `fetch.done` is called exactly once, from any thread, possibly before this
    /// returns.
    fn fetch(&self, fetch: Fetch);
    /// Nobody needs the fetch of that name any more: if the storage has not begun with it, it is to
    /// be finished with [`Error::CalledOff`], from any thread, possibly before this returns.
    /// Otherwise, and if there is none of that name (any more), nothing happens. What has no queue
    /// has nothing to do.
    fn call_off(&self, _fetch: FetchId) {}
}

/// The name of a fetch: no other one of this process has it, so that engines can share a store.
/// When a failed fetch is repeated it keeps its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FetchId(u64);

impl FetchId {
    /// A name that no fetch has yet.
    pub fn unique() -> FetchId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        FetchId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A read under way: `buffer.len()` bytes of the object from `offset`, which is a multiple of the
/// block size.
pub struct Fetch {
    /// What it is called off by.
    pub id: FetchId,
    /// The first byte.
    pub offset: u64,
    /// Where the bytes go. Its length is the number of bytes wanted rounded up to whole blocks; the
    /// end of the object may come before.
    pub buffer: Segments,
    /// How many bytes of the buffer lie within the object. Fewer than these is an error.
    pub len: usize,
    /// Whether a reader waits; a store with a queue serves these first.
    pub urgent: bool,
    /// What a level below is told: which of the bytes readers wait for, and what they have read
    /// meanwhile. In bytes of this object.
    pub label: Label,
    /// To be called with the outcome. `Ok` means that all `len` bytes are in the buffer.
    pub done: Box<dyn FnOnce(Segments, Result<()>) + Send>,
}

impl Fetch {
    /// Says how it went.
    pub fn finish(self, outcome: Result<()>) {
        (self.done)(self.buffer, outcome);
    }
}

impl fmt::Debug for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetch").field("offset", &self.offset).field("len", &self.len).finish_non_exhaustive()
    }
}

//! Sources of names and bytes.
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
pub mod mounts;
pub mod object;
pub mod paced;
pub mod pacer;
mod printable;
mod quiet;
mod remote;
pub mod runtime;
mod segments;
mod shared;
pub mod size;
pub mod striped;
mod tier;
pub mod uri;
pub mod web;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant, SystemTime};

use forebay_core::DeviceCost;

use striped::Stripes;

pub use identity::{Fingerprint, Identity, Inode, Name, Version};
pub use label::Label;
pub use listing::{Held, Listed, Listing};
pub use printable::printable;
pub use quiet::Quiet;
pub use remote::{Modes, RemoteSource, TooSlow};
pub use segments::{Keeper, Segments};
pub use tier::TierFigures;

/// Bytes in a block. One page, as in the papers, so that a random reader fetches no more than it
/// asks for.
pub const BLOCK: usize = 4096;

/// Why a source does not answer a request.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The name does not exist.
    #[error("{0}: not found")]
    NotFound(String),
    /// The source denies access.
    #[error("{0}: permission denied")]
    Denied(String),
    /// A whole source denies access.
    #[error("{name}: permission denied: {reason}")]
    Barred {
        /// The source.
        name: String,
        /// The storage's answer, and what to do.
        reason: String,
    },
    /// The bytes are no longer those of the version that was opened.
    #[error("{0}: changed since it was opened")]
    Stale(String),
    /// It is a folder, or it is not one, or has no such attribute.
    #[error("{name}: {}", std::io::Error::from_raw_os_error(*.errno))]
    Refused {
        /// The name in the request.
        name: String,
        /// The errno of the reason.
        errno: i32,
    },
    /// No reader needed it any more ([`Object::call_off`]).
    #[error("called off")]
    CalledOff,
    /// The storage failed; trying again may help.
    #[error("{name}: {reason}")]
    Storage {
        /// The name in the request.
        name: String,
        /// The storage's error.
        reason: String,
    },
    /// The storage answers, but a setting has to be changed before it grants the request.
    #[error("{name}: {reason}")]
    Setting {
        /// The name in the request.
        name: String,
        /// The fault, and the remedy.
        reason: String,
        /// The region that the bucket lies in, if another one was asked.
        region: Option<Box<str>>,
    },
    /// The storage failed for as long as the source has patience with it.
    #[error("{name}: given up after {:?}: {reason}", rounded(*.after))]
    GivenUp {
        /// The name in the request.
        name: String,
        /// The storage's last error.
        reason: String,
        /// For how long it was asked.
        after: Duration,
    },
}

/// A duration for a message: to a tenth of a second, or to a millisecond below that.
fn rounded(after: Duration) -> Duration {
    let step = if after < Duration::from_millis(100) { 1 } else { 100 };
    Duration::from_millis((after.as_millis() as u64 + step / 2) / step * step)
}

impl Error {
    /// The errno that a file system reports for it.
    pub fn errno(&self) -> i32 {
        match self {
            Error::NotFound(_) => libc::ENOENT,
            Error::Denied(_) | Error::Barred { .. } => libc::EACCES,
            Error::Stale(_) => libc::ESTALE,
            Error::Refused { errno, .. } => *errno,
            Error::CalledOff => libc::ECANCELED,
            Error::Storage { .. } | Error::Setting { .. } | Error::GivenUp { .. } => libc::EIO,
        }
    }

    /// Whether the error is about the storage, and not about the name in the request.
    pub fn is_of_the_storage(&self) -> bool {
        matches!(self, Error::Storage { .. } | Error::Setting { .. } | Error::GivenUp { .. } | Error::CalledOff)
    }

    /// Whether the same request may succeed at once. A request that was given up was tried for
    /// long.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Storage { .. })
    }
}

/// The result of asking a source.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of file that a name stands for.
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

/// The attributes of a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attributes {
    /// The kind of file.
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
    /// The number to show for its inode: unique in the source, and always the same.
    pub inode: u64,
    /// The file and the version that its bytes are of.
    pub identity: Identity,
    /// When the storage told this, if the source remembered it; `None` if the storage told it just
    /// now.
    pub told: Option<Instant>,
}

impl Attributes {
    /// Those of a name whose storage tells no more of it than this: all may read it, it has one
    /// link, and everything happened to it at once.
    pub fn plain(kind: Kind, modified: SystemTime, identity: Identity) -> Attributes {
        Attributes {
            kind,
            size: identity.version.size,
            allocated: identity.version.size,
            mode: if kind == Kind::Folder { libc::S_IFDIR | 0o555 } else { libc::S_IFREG | 0o444 },
            uid: 0,
            gid: 0,
            links: 1,
            rdev: 0,
            accessed: modified,
            modified,
            changed: modified,
            inode: identity.name.number(),
            identity,
            told: None,
        }
    }

    /// The version of its file.
    pub fn version(&self) -> &Version {
        &self.identity.version
    }
}

/// A name in a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The name, without a slash.
    pub name: OsString,
    /// The kind of file.
    pub kind: Kind,
    /// As [`Attributes::inode`].
    pub inode: u64,
    /// Further facts about a file from the listing; `None` if there are none, or not enough to open
    /// it.
    pub facts: Option<Facts>,
}

/// The facts that a storage tells about one of its files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Bytes.
    pub size: u64,
    /// Last modification, in nanoseconds since the epoch; `None` if the storage tells none.
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

/// Tells the attributes of names of one folder's listing.
pub type ListedIn<'a> = Box<dyn FnMut(&Listed<'_>) -> Result<Option<Attributes>> + 'a>;

/// A tree of names. Calls come from several threads at once. Calls that take a [`Then`] do not wait
/// for remote storage; a source answers those without one from this machine.
pub trait Source: Send + Sync + 'static {
    /// The source, for messages: `/srv/data`, `s3://bucket/prefix`.
    fn describe(&self) -> String;
    /// The source in full, with its server and all else that tells it from other sources: two
    /// sources of one address have the same files. Without secrets.
    fn address(&self) -> &Arc<str>;
    /// The attributes of a name. Symbolic links are not followed, in no part of the path.
    fn stat_then(&self, path: &Path, then: Then<Attributes>);
    /// The names in a folder, without `.` and `..`, in any order, each once.
    fn list_then(&self, path: &Path, then: Then<Listing>);
    /// Opens a regular file for reading.
    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>);
    /// The attributes of a name of a listing of that folder, without asking remote storage: from
    /// the listing, or from this machine's file system. `None` if these do not tell enough.
    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>>;
    /// [`listed`](Source::listed) for many names of a listing, one after the other.
    fn listed_in<'a>(&'a self, folder: &'a Path) -> ListedIn<'a> {
        Box::new(move |listed| self.listed(folder, listed))
    }
    /// The target of a symbolic link. A link that leads out of the source is refused with `EACCES`;
    /// an absolute one that stays inside is given relative to its own folder.
    /// Most storage has none.
    fn read_link(&self, path: &Path) -> Result<PathBuf> {
        Err(Error::Refused { name: path.display().to_string(), errno: libc::EINVAL })
    }
    /// Believes nothing any more that was told of a path and of all below it: the next question
    /// goes to the storage. A source that remembers no names has nothing to do.
    fn forget_names(&self, _path: &Path) {}
    /// The value of an extended attribute. Most storage has none.
    fn xattr(&self, path: &Path, _name: &OsStr) -> Result<Vec<u8>> {
        Err(Error::Refused { name: path.display().to_string(), errno: libc::ENODATA })
    }
    /// The names of the extended attributes.
    fn xattrs(&self, _path: &Path) -> Result<Vec<OsString>> {
        Ok(Vec::new())
    }
    /// How full it is, if it knows.
    fn space(&self) -> Result<Space> {
        Ok(Space::default())
    }
    /// A quick guess of the costs of reading, if the source knows them without measuring (a model);
    /// else `None`.
    fn cost(&self) -> Option<DeviceCost> {
        None
    }
    /// The sources behind it that lie on a device each, in order; none if it is one device itself.
    /// All its objects tell how they are dealt out over them ([`Object::stripes`]).
    fn members(&self) -> &[Arc<dyn Source>] {
        &[]
    }
    /// The disk tiers in front of it, a folder each; sources that share tiers have the same ones.
    fn tiers(&self) -> Vec<TierFigures> {
        Vec::new()
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
    /// [`listing`](Source::listing), as a vector of entries.
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
    /// The file and its version: its blocks are cached under this.
    fn identity(&self) -> &Identity;
    /// The version of its file.
    fn version(&self) -> &Version {
        &self.identity().version
    }
    /// How its bytes are dealt out over the devices of its source; `None` if that is one device.
    fn stripes(&self) -> Option<Stripes> {
        None
    }
    /// The places of its bytes on the device, in order of offset; empty if they are unknown or have
    /// no meaning. For a striped file: the places of the members' own bytes, if they are the same
    /// on each.
    fn layout(&self) -> Vec<Run> {
        Vec::new()
    }
    /// Starts to read. `fetch.done` is called exactly once, from any thread, possibly before this
    /// returns.
    fn fetch(&self, fetch: Fetch);
    /// Calls a fetch off that no reader needs any more. If the storage has not begun with it, the
    /// source finishes it with [`Error::CalledOff`], from any thread, possibly before this returns.
    /// Otherwise, and if there is no fetch of that name (any more), nothing happens. A source
    /// without a queue has nothing to do.
    fn call_off(&self, _fetch: FetchId) {}
    /// Bytes that were fetched ahead are given up, and no reader has asked for them: the fetch was
    /// in vain. For those who count what is fetched twice.
    fn unread(&self, _range: Range<u64>) {}
}

/// The name of a fetch: no other one of this process has it, so that engines can share a store. A
/// failed fetch that is repeated keeps its name.
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
    /// The name for calling it off.
    pub id: FetchId,
    /// The first byte.
    pub offset: u64,
    /// Memory for the bytes. Its length is the number of bytes wanted rounded up to whole blocks;
    /// the end of the object may come before.
    pub buffer: Segments,
    /// How many bytes of the buffer lie within the object. Fewer than these is an error.
    pub len: usize,
    /// Whether a reader waits; a store with a queue serves these first.
    pub urgent: bool,
    /// The label for a level below: the bytes that readers wait for, and the bytes that they have
    /// read meanwhile. In bytes of this object.
    pub label: Label,
    /// To be called with the outcome. `Ok` means that all `len` bytes are in the buffer.
    pub done: Box<dyn FnOnce(Segments, Result<()>) + Send>,
}

impl Fetch {
    /// Reports the outcome.
    pub fn finish(self, outcome: Result<()>) {
        (self.done)(self.buffer, outcome);
    }
}

impl fmt::Debug for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetch").field("offset", &self.offset).field("len", &self.len).finish_non_exhaustive()
    }
}

//! Storages at the other end of a network: object stores and web servers, behind one [`Source`].
//!
//! A [`Remote`] can ask for one name, one page of a folder, or one range of a file, each with one
//! try. Everything else is here, once for all kinds of storage:
//!
//! - names are remembered for a while, and the whole folder is asked for if several names of it are
//!   looked up (`names.rs`, `asker.rs`);
//! - every request is tried again as long as [`Patience`] says (`patience.rs`), and trouble is told
//!   in the log, one line a minute for each kind (`complaints.rs`);
//! - the first question waits for a storage that is busy (`start.rs`);
//! - no more ranges are under way at once than the storage takes (`gate.rs`), on a few threads that
//!   all sources share (`runtime.rs`).

mod advice;
mod asker;
mod complaints;
mod encryption;
mod fetch;
mod flow;
mod gate;
mod names;
mod patience;
mod retry_after;
mod source;
mod start;

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;

use super::listing::Gathered;
use super::{Entry, Error, Facts, Kind, Listed, Version};
use crate::{Label, Segments};

pub(crate) use advice::Shows;
pub(crate) use encryption::explained;
pub(crate) use flow::Flow;
pub use flow::TooSlow;
pub(crate) use gate::Room;
pub(crate) use retry_after::retry_after;
pub(crate) use source::{About, Limits};
pub use source::{Modes, RemoteSource};

/// A name at a remote storage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// A regular file.
    File(Facts),
    /// A regular file whose listing told nothing else, so that it has to be asked for by itself.
    Unmeasured,
    /// A folder, and its last modification where the storage knows one.
    Folder(Option<SystemTime>),
}

/// Names of a folder: all of them, or the first or next ones.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// The names and their meaning, in any order, without inode numbers. A name that is there twice
    /// is a folder if either is.
    pub(crate) names: Gathered,
    /// The token to ask the next page with; `None` if this was the last.
    pub(crate) next: Option<Next>,
}

/// The place where a listing goes on, in the storage's own words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Next(pub(crate) Box<str>);

/// Why one try of a request failed.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// The error to report. Only [`Error::Storage`] is tried again.
    pub(crate) error: Error,
    /// The kind of trouble, for the log: the storage's own code, as `SlowDown` or `503`.
    pub(crate) kind: String,
    /// The remedy, if one is known.
    pub(crate) hint: Option<Hint>,
    /// For how long the storage asked to be left alone (`Retry-After`).
    pub(crate) wait: Option<Duration>,
}

/// The remedy for a trouble.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hint {
    /// The credentials have expired.
    Renew,
    /// The server wants a user and a password.
    Login,
    /// The server wants a token.
    Token,
    /// The server wants credentials of another kind.
    Scheme,
    /// A proxy on the way wants credentials.
    Proxy,
    /// Another server, to which the server redirects, refuses. It is shown no credentials.
    Elsewhere,
}

/// The answer to one try.
pub(crate) type Answer<T> = Result<T, Trouble>;

/// A range of one version of a file.
#[derive(Debug)]
pub(crate) struct Range<'a> {
    /// The file.
    pub(crate) path: &'a Path,
    /// The version that its bytes must be of.
    pub(crate) version: &'a Version,
    /// The first byte.
    pub(crate) offset: u64,
    /// How many bytes, not zero, all within the file.
    pub(crate) len: usize,
    /// The label for a level of ours at the other end.
    pub(crate) label: &'a Label,
    /// Room for requests beside the first one.
    pub(crate) room: Room<'a>,
    /// A body that brings next to nothing for so long is given up.
    pub(crate) patience: Duration,
}

/// A storage at the other end of a network. Each call is one try; the caller decides on further
/// ones. Paths are relative to its root; the empty path is the root and is never looked at.
#[async_trait]
pub(crate) trait Remote: Send + Sync + 'static {
    /// Fetches beforehand what requests need, such as credentials. Most storages need nothing.
    async fn ready(&self) -> Answer<()> {
        Ok(())
    }

    /// Looks up a name. [`Error::NotFound`] only if the storage says that there is no such name.
    async fn look(&self, path: &Path) -> Answer<Told>;

    /// The same for a name that a listing of its folder lacks, if the listing may have left it out.
    async fn look_unlisted(&self, path: &Path) -> Answer<Told> {
        self.look(path).await
    }

    /// The names in a folder, from the first or from `next` on. Refused with `ENOTDIR` if it is a
    /// file, with `EOPNOTSUPP` if names cannot be listed there. An empty page only if the folder is
    /// there.
    async fn page(&self, folder: &Path, next: Option<&Next>) -> Answer<Page>;

    /// Whether a page has a bounded number of names and costs about what [`look`](Remote::look)
    /// does, so that the first look-up in a folder may as well ask for a page of it.
    fn pages_are_cheap(&self) -> bool;

    /// Reads a range into the front of the buffer. [`Error::Stale`] if the file has changed or is
    /// gone. After an error the buffer's content is ignored.
    async fn read(&self, range: Range<'_>, buffer: &mut Segments) -> Answer<()>;
}

impl Trouble {
    /// Trouble that may pass or not, depending on the error; without a `Retry-After`.
    pub(crate) fn new(error: Error, kind: impl Into<String>) -> Trouble {
        Trouble { error, kind: kind.into(), hint: None, wait: None }
    }
}

impl Hint {
    /// The remedy in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Hint::Renew => "the credentials have expired: log in again, or renew them",
            Hint::Login => "it wants a user and a password",
            Hint::Token => "it wants a token",
            Hint::Scheme => "it wants credentials of a kind that Forebay does not have",
            Hint::Proxy => "a proxy on the way wants credentials",
            Hint::Elsewhere => "it redirects to another server, which refuses, and is shown no credentials",
        }
    }
}

impl Told {
    /// The meaning of a name of a listing.
    pub(super) fn of(listed: &Listed<'_>) -> Told {
        match (listed.kind, &listed.facts) {
            (Kind::Folder, facts) => Told::Folder(facts.as_ref().and_then(|facts| facts.modified).map(time)),
            (_, Some(facts)) => Told::File(facts.clone()),
            (_, None) => Told::Unmeasured,
        }
    }

    /// The name as one of a listing, without its inode number.
    fn entry(self, name: OsString) -> Entry {
        let (kind, facts) = match self {
            Told::File(facts) => (Kind::File, Some(facts)),
            Told::Unmeasured => (Kind::File, None),
            Told::Folder(modified) => {
                let modified = modified.and_then(nanos);
                (Kind::Folder, Some(Facts { size: 0, modified, tag: None }))
            }
        };
        Entry { name, kind, inode: 0, facts }
    }
}

impl Gathered {
    /// Adds a name of a page and its meaning.
    pub(crate) fn add(&mut self, name: OsString, told: Told) {
        self.push(&told.entry(name));
    }
}

impl FromIterator<(OsString, Told)> for Gathered {
    fn from_iter<I: IntoIterator<Item = (OsString, Told)>>(names: I) -> Gathered {
        let mut gathered = Gathered::default();
        names.into_iter().for_each(|(name, told)| gathered.add(name, told));
        gathered
    }
}

/// A time this many nanoseconds after the epoch, or before.
fn time(nanos: i64) -> SystemTime {
    let distance = Duration::from_nanos(nanos.unsigned_abs());
    let time = if nanos < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
    time.unwrap_or(UNIX_EPOCH)
}

/// The reverse, where it fits: for 292 years in either direction.
fn nanos(time: SystemTime) -> Option<i64> {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).ok(),
        Err(before) => i64::try_from(before.duration().as_nanos()).ok().map(|nanos| -nanos),
    }
}

impl Facts {
    /// The version of a file by its facts. If there is a tag, it is the version. Else size and time
    /// are, in whole seconds since listings and single answers differ in precision.
    pub fn version(&self) -> Version {
        let tag = self.tag.clone().filter(|tag| !tag.is_empty());
        let seconds = self.modified.unwrap_or(0).div_euclid(1_000_000_000);
        let modified = if tag.is_none() { i128::from(seconds) * 1_000_000_000 } else { 0 };
        Version { size: self.size, modified, changed: 0, tag }
    }
}

#[cfg(test)]
mod tests;

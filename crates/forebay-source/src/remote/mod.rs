//! What lies at the other end of a network: object stores and web servers, behind one [`Source`].
//!
//! A [`Remote`] knows how to ask: one name, one page of a folder, one range of a file, each of them
//! one try. Everything else is here, once for all kinds of storage:
//!
//! - names are remembered for a while, and whole folders asked for where several names of one are
//!   looked up (`names.rs`, `asker.rs`);
//! - every request is tried again as long as [`Patience`] says (`patience.rs`), and trouble is told
//!   in the log, one line a minute for each kind (`complaints.rs`);
//! - the first question waits for a storage that is busy (`start.rs`);
//! - no more ranges are under way at once than the storage takes (`gate.rs`), on a few threads that
//!   all sources share (`runtime.rs`).

mod asker;
mod complaints;
mod encryption;
mod fetch;
mod gate;
mod names;
mod patience;
mod retry_after;
mod runtime;
mod source;
mod start;

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;

use super::listing::Gathered;
use super::{Entry, Error, Facts, Kind, Listed, Version};
use crate::{Label, Segments};

pub(crate) use encryption::explained;
pub(crate) use gate::Room;
pub(crate) use retry_after::retry_after;
pub(crate) use source::{About, Limits};
pub use source::{Modes, RemoteSource};

/// What a name stands for at a remote storage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// A regular file.
    File(Facts),
    /// A regular file of which a listing said only that, so that it has to be asked for by itself.
    Unmeasured,
    /// A folder, and its last modification where the storage knows one.
    Folder(Option<SystemTime>),
}

/// Names of a folder: all of them, or the first or next ones.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// The names and what they stand for, in any order, without inode numbers. A name that is there
    /// twice is a folder if either is.
    pub(crate) names: Gathered,
    /// What to ask the next page with; `None` if this was the last.
    pub(crate) next: Option<Next>,
}

/// Where a listing goes on, in the storage's own words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Next(pub(crate) Box<str>);

/// Why one try of a request failed.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// What it means. Only [`Error::Storage`] is tried again.
    pub(crate) error: Error,
    /// What kind of trouble it is, for the log: the storage's own code, as `SlowDown` or `503`.
    pub(crate) kind: String,
    /// What to do about it, where that is known.
    pub(crate) hint: Option<Hint>,
    /// For how long the storage asked to be left alone (`Retry-After`).
    pub(crate) wait: Option<Duration>,
}

/// What to do about a trouble.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hint {
    /// The credentials have come to their end.
    Renew,
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
    /// What a level of ours at the other end is told.
    pub(crate) label: &'a Label,
    /// Room for requests beside the first one.
    pub(crate) room: Room<'a>,
}

/// A storage at the other end of a network. Each call is one try: whether to try again is not its
/// business. Paths are relative to its root; the empty path is the root and is never looked at.
#[async_trait]
pub(crate) trait Remote: Send + Sync + 'static {
    /// Fetches beforehand what requests need, such as credentials. Nothing, for most.
    async fn ready(&self) -> Answer<()> {
        Ok(())
    }

    /// What a name stands for. [`Error::NotFound`] only if the storage says that nothing has it.
    async fn look(&self, path: &Path) -> Answer<Told>;

    /// The same of a name that a listing of its folder lacks which may have left it out.
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
    /// gone. Whatever is in the buffer after an error is ignored.
    async fn read(&self, range: Range<'_>, buffer: &mut Segments) -> Answer<()>;
}

impl Trouble {
    /// Trouble that may pass, or not, by what the error says; without a wish of the storage.
    pub(crate) fn new(error: Error, kind: impl Into<String>) -> Trouble {
        Trouble { error, kind: kind.into(), hint: None, wait: None }
    }
}

impl Hint {
    /// For people.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Hint::Renew => "the credentials have expired: log in again, or renew them",
        }
    }
}

impl Told {
    /// What a name of a listing stands for.
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
    /// Adds a name of a page and what it stands for.
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

/// A time that many nanoseconds after the epoch, or before.
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
    /// The version of a file by what is known of it. A tag is the version, where there is one; else
    /// size and time are, in whole seconds since listings and single answers differ in precision.
    pub(crate) fn version(&self) -> Version {
        let tag = self.tag.clone().filter(|tag| !tag.is_empty());
        let seconds = self.modified.unwrap_or(0).div_euclid(1_000_000_000);
        let modified = if tag.is_none() { i128::from(seconds) * 1_000_000_000 } else { 0 };
        Version { size: self.size, modified, changed: 0, tag }
    }
}

#[cfg(test)]
mod tests;

//! The ways of a server, so that nothing is tried twice in vain.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;

/// How many times of versions are remembered whose tags change without them, and how many odd files
/// of each kind.
const TIMES: usize = 10_000;

/// In place of the status of a PROPFIND: there was no answer.
pub(super) const SILENCE: u16 = 0;

/// The knowledge about a server. It is never taken back but by a new mount.
#[derive(Debug, Default)]
pub(super) struct Learnt {
    propfind: Mutex<Propfind>,
    /// PROPFIND failed in ways that might pass, while it was unknown whether the server answers it.
    pub(super) failures: Count,
    /// PROPFIND tells other lengths or times than HEAD does, so only names and kinds are taken from
    /// it.
    pub(super) listings_lie: Flag,
    /// A listing has been compared with HEAD.
    pub(super) compared: Flag,
    /// How often a comparison was tried.
    pub(super) comparisons: Count,
    /// HEAD is refused, silent or untrue; a byte is asked for instead.
    pub(super) no_head: Flag,
    /// `If-Match` fails although the version is there; answers' tags are compared.
    pub(super) no_conditions: Flag,
    /// Ranges are refused, and no range was ever answered; files are read whole.
    pub(super) no_ranges: Flag,
    /// A range was answered by a part.
    pub(super) ranges_work: Flag,
    /// Files whose ranges are refused at a server that answers others.
    whole: Mutex<HashSet<PathBuf>>,
    /// Files that are stored in the coding of their label.
    stored: Mutex<HashSet<PathBuf>>,
    /// A folder has been listed by its page.
    pub(super) lists: Flag,
    /// HEAD has found a file.
    pub(super) head_finds: Flag,
    /// Names that neither HEAD nor a byte has found.
    pub(super) missed: Count,
    /// One version has several tags; lengths and times are compared.
    pub(super) tags_flip: Flag,
    /// A folder without its slash is redirected to the one with it, so that a name that is not
    /// found is no folder either.
    pub(super) redirects_folders: Flag,
    times: Mutex<HashMap<(PathBuf, Box<str>), i64>>,
    said: Mutex<HashSet<&'static str>>,
}

/// Whether a server answers PROPFIND.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Propfind {
    /// Not known yet.
    #[default]
    Unknown,
    /// It does.
    Works,
    /// It does not, and answers this status, or [`SILENCE`].
    Refused(u16),
}

/// A fact that is learnt once.
#[derive(Debug, Default)]
pub(super) struct Flag(AtomicBool);

impl Flag {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets it; returns whether it was set before.
    pub(super) fn set(&self) -> bool {
        self.0.swap(true, Ordering::Relaxed)
    }
}

/// A number of events.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU32);

impl Count {
    /// Counts one; returns how many there are now.
    pub(super) fn add(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }

    /// How many there are.
    pub(super) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Learnt {
    pub(super) fn propfind(&self) -> Propfind {
        *self.propfind.lock()
    }

    /// PROPFIND was answered by a listing.
    pub(super) fn propfind_works(&self) {
        *self.propfind.lock() = Propfind::Works;
    }

    /// PROPFIND was refused with this status at a name that exists. PROPFIND that has worked stays
    /// so.
    pub(super) fn propfind_is_refused(&self, status: u16) {
        let mut propfind = self.propfind.lock();
        if *propfind == Propfind::Unknown {
            *propfind = Propfind::Refused(status);
        }
    }

    /// The time of the version of a file that had this tag.
    pub(super) fn time(&self, path: &Path, tag: &str) -> Option<i64> {
        self.times.lock().get(&(path.to_owned(), tag.into())).copied()
    }

    pub(super) fn remember(&self, path: &Path, tag: &str, modified: i64) {
        let mut times = self.times.lock();
        if times.len() >= TIMES {
            times.clear();
        }
        times.insert((path.to_owned(), tag.into()), modified);
    }

    /// Whether a file is read without ranges.
    pub(super) fn reads_whole(&self, path: &Path) -> bool {
        self.no_ranges.is_set() || self.ranges_work.is_set() && self.whole.lock().contains(path)
    }

    /// Ranges of a file are refused. So are those of all others, if none was ever answered.
    pub(super) fn is_read_whole(&self, path: &Path) {
        if self.ranges_work.is_set() {
            add(&self.whole, path);
        } else {
            self.no_ranges.set();
        }
    }

    /// Whether a file is known to be stored in the coding of its label.
    pub(super) fn is_stored(&self, path: &Path) -> bool {
        self.stored.lock().contains(path)
    }

    pub(super) fn is_stored_so(&self, path: &Path) {
        add(&self.stored, path);
    }

    /// Logs a fact about the server, once for each `kind`.
    pub(super) fn say(&self, server: &str, kind: &'static str, detail: &str) {
        if self.said.lock().insert(kind) {
            log::warn!("{server}: {kind}{detail}");
        }
    }
}

/// Remembers a path, and forgets all others if they are too many.
fn add(paths: &Mutex<HashSet<PathBuf>>, path: &Path) {
    let mut paths = paths.lock();
    if paths.len() >= TIMES {
        paths.clear();
    }
    paths.insert(path.to_owned());
}

//! Names that a storage told lately: whole folders, and names that were asked for one by one.
//!
//! The memory answers for as long as `ttl`, and is bounded. Beyond `limit` bytes the folder that
//! was used longest ago is forgotten, and a folder that takes more than that by itself is not kept
//! at all.
//!
//! How a look-up is answered:
//!
//! ```text
//!  the folder was listed, all of it        the listing's answer, also that there is no such name
//!  ... a page of it, and the name is on it the page's answer
//!  the name was asked for                  the answer to that
//!  ... all of it, but the storage may hide   ask for the name
//!      names, or told too little of it
//!  the same is being asked                 wait for that
//!  else, the first one in this folder      ask: by a page of the folder where that costs no more
//!  else, of a folder that is not large     list the folder, since more will be looked up
//!  else                                    ask for the name
//! ```

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Told;
use crate::{Listing, Result, Then};

/// For how long a folder that was too large to be kept, or that cannot be listed, is not listed for
/// look-ups.
const SINGLY: Duration = Duration::from_secs(300);

/// Bytes of a folder's record beside its names, and of a name's that was asked for, about.
const OVERHEAD: usize = 160;

/// The memory of one storage's names.
pub(super) struct Names {
    ttl: Duration,
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    folders: HashMap<Arc<Path>, Folder>,
    /// The folders by when they were used last.
    by_use: BTreeMap<u64, Arc<Path>>,
    uses: u64,
    bytes: usize,
}

#[derive(Default)]
struct Folder {
    /// The last listing, in the order of the names' bytes.
    listing: Option<Listing>,
    /// If that is only a page: the last key on it. Names up to there are known.
    up_to: Option<Vec<u8>>,
    singles: HashMap<OsString, Single>,
    /// The callers that wait for the listing that is under way.
    listing_for: Option<Vec<Then<Listing>>>,
    /// The look-ups that wait for a page, or the whole, to find a name on it.
    looking: Vec<Looking>,
    /// When a name was asked for last.
    asked: Option<Instant>,
    /// Until when names are asked for singly.
    singly_until: Option<Instant>,
    /// Answers that were asked for earlier are asked for once more, and not kept.
    since: Option<Instant>,
    bytes: usize,
    last_use: u64,
}

/// A look-up that waits for a name.
pub(super) struct Looking {
    pub(super) name: OsString,
    /// Since when: the patience counts from there.
    pub(super) since: Instant,
    pub(super) then: Then<Known>,
}

enum Single {
    Asked(Vec<Then<Known>>),
    Told(Known),
}

/// The knowledge about a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Known {
    /// The meaning of the name; `None` if there is no such name.
    pub(super) told: Option<Told>,
    /// When the storage was asked.
    pub(super) at: Instant,
}

/// The next step of a look-up.
pub(super) enum LookUp {
    /// Nothing: here is the answer.
    Known(Known, Then<Known>),
    /// Nothing: the name is being asked for.
    Waits,
    /// Ask for the name and report the outcome ([`Names::told`]).
    Ask {
        /// The folder was listed, and the listing lacks the name.
        unlisted: bool,
    },
    /// Ask for a page of the folder, or for all of it, and report the outcome ([`Names::listed`],
    /// [`Names::failed`]).
    List { whole: bool },
}

/// The next step of a listing.
pub(super) enum ToList {
    /// Nothing: here it is.
    Known(Listing, Then<Listing>),
    /// Nothing: it is under way.
    Waits,
    /// List the whole folder.
    List,
}

/// Names of a folder that came.
pub(super) struct Heard {
    /// In the order of the names' bytes.
    pub(super) listing: Listing,
    /// The last key, if there are more behind it.
    pub(super) up_to: Option<Vec<u8>>,
    /// All were wanted, and were too many.
    pub(super) given_up: bool,
}

impl Heard {
    /// The answer about a name; `None` if the name has to be asked for.
    pub(super) fn of(&self, name: &OsStr) -> Option<Known> {
        on(&self.listing, self.up_to.as_deref(), name)
    }

    /// Whether it should have the name, and lacks it.
    pub(super) fn lacks(&self, name: &OsStr) -> bool {
        self.up_to.is_none() && self.listing.find(name).is_none()
    }
}

/// The callers to answer when a listing has come, or has failed.
pub(super) struct Waiting {
    pub(super) listings: Vec<Then<Listing>>,
    pub(super) lookings: Vec<Looking>,
}

impl Names {
    /// A memory of at most `limit` bytes that believes answers for `ttl`.
    pub(super) fn new(ttl: Duration, limit: usize) -> Names {
        Names { ttl, limit, state: Mutex::default() }
    }

    /// Looks a name up; `pages` tells whether a page of the folder costs no more than the name.
    pub(super) fn look_up(&self, folder: &Path, name: &OsStr, pages: bool, then: Then<Known>) -> LookUp {
        let mut state = self.state.lock();
        let record = state.folder(folder);
        if let Some(known) = record.known(name, self.ttl) {
            return LookUp::Known(known, then);
        }
        if let Some(Single::Asked(waiting)) = record.singles.get_mut(name) {
            waiting.push(then);
            return LookUp::Waits;
        }
        let looking = |then| Looking { name: name.to_owned(), since: Instant::now(), then };
        if record.listing_for.is_some() {
            record.looking.push(looking(then));
            return LookUp::Waits;
        }
        // The listing has told all that it can.
        let whole = record.listing.as_ref().filter(|_| record.up_to.is_none() && record.is_fresh(self.ttl));
        let unlisted = whole.is_some_and(|listing| listing.find(name).is_none());
        let singly = self.ttl.is_zero() || record.singly_until.is_some_and(|until| Instant::now() < until);
        let singly = singly || whole.is_some();
        // A fresh listing that does not know the name was only a page.
        let again = record.asked.is_some_and(|at| at.elapsed() < self.ttl) || record.is_fresh(self.ttl);
        record.asked = Some(Instant::now());
        if !singly && (pages || again) {
            record.listing_for = Some(Vec::new());
            record.looking.push(looking(then));
            return LookUp::List { whole: again };
        }
        record.singles.insert(name.to_owned(), Single::Asked(vec![then]));
        state.weigh(folder, self.limit);
        LookUp::Ask { unlisted }
    }

    /// Looks up a name that a page did not tell. Returns whether it has to be asked for.
    pub(super) fn look_up_singly(&self, folder: &Path, name: &OsStr, then: Then<Known>) -> bool {
        let mut state = self.state.lock();
        let record = state.folder(folder);
        if let Some(Single::Asked(waiting)) = record.singles.get_mut(name) {
            waiting.push(then);
            return false;
        }
        record.singles.insert(name.to_owned(), Single::Asked(vec![then]));
        state.weigh(folder, self.limit);
        true
    }

    /// Takes in the answer for a name. Returns the callers that wait for it.
    pub(super) fn told(&self, folder: &Path, name: &OsStr, answer: &Result<Known>) -> Vec<Then<Known>> {
        let mut state = self.state.lock();
        let record = state.folder(folder);
        let asked = match answer {
            Ok(known) if record.keeps(known.at) => record.singles.insert(name.to_owned(), Single::Told(known.clone())),
            _ => record.singles.remove(name),
        };
        if let Ok(Known { told: Some(_), at }) = answer {
            state.is_there(folder, *at, self);
        }
        state.weigh(folder, self.limit);
        match asked {
            Some(Single::Asked(waiting)) => waiting,
            _ => Vec::new(),
        }
    }

    /// Asks for all names of a folder.
    pub(super) fn list(&self, folder: &Path, then: Then<Listing>) -> ToList {
        let mut state = self.state.lock();
        let record = state.folder(folder);
        if let Some(waiting) = &mut record.listing_for {
            waiting.push(then);
            return ToList::Waits;
        }
        let whole = record.listing.as_ref().filter(|_| record.up_to.is_none());
        if let Some(listing) = whole.filter(|listing| listing.told().elapsed() < self.ttl) {
            return ToList::Known(listing.clone(), then);
        }
        record.listing_for = Some(vec![then]);
        ToList::List
    }

    /// Whether a caller waits for all names of the folder, so that a page does not do.
    pub(super) fn is_awaited(&self, folder: &Path) -> bool {
        let state = self.state.lock();
        let waiting = state.folders.get(folder).and_then(|record| record.listing_for.as_ref());
        waiting.is_some_and(|waiting| !waiting.is_empty())
    }

    /// Takes in the names of a folder. Returns the callers that wait for it.
    pub(super) fn listed(&self, folder: &Path, heard: &Heard) -> Waiting {
        let Heard { listing, up_to, given_up } = heard;
        let mut state = self.state.lock();
        let record = state.folder(folder);
        let large = listing.bytes() > self.limit;
        if large || *given_up {
            record.singly_until = Some(Instant::now() + SINGLY);
        }
        if !large && record.keeps(listing.told()) {
            // The answers for single names are older.
            record.singles.retain(|_, single| matches!(single, Single::Asked(_)));
            record.listing = Some(listing.clone());
            record.up_to.clone_from(up_to);
        }
        let waiting = record.waiting();
        if !listing.is_empty() {
            state.is_there(folder, listing.told(), self);
        }
        state.weigh(folder, self.limit);
        waiting
    }

    /// A folder could not be listed. Returns the callers that waited; for some time the names in it
    /// are asked for singly.
    pub(super) fn failed(&self, folder: &Path) -> Waiting {
        let mut state = self.state.lock();
        let record = state.folder(folder);
        record.singly_until = Some(Instant::now() + self.ttl);
        let waiting = record.waiting();
        state.weigh(folder, self.limit);
        waiting
    }

    /// A name is not what the storage told: the next look-up asks the storage.
    pub(super) fn forget(&self, folder: &Path, name: &OsStr) {
        let mut state = self.state.lock();
        let record = state.folder(folder);
        record.listing = None;
        record.up_to = None;
        if let Some(Single::Told(_)) = record.singles.get(name) {
            record.singles.remove(name);
        }
        state.weigh(folder, self.limit);
    }

    /// Whether names of a folder were forgotten after that time, so that an answer which was asked
    /// for then is asked for again.
    pub(super) fn is_outdated(&self, folder: &Path, asked: Instant) -> bool {
        self.state.lock().folders.get(folder).is_some_and(|record| !record.keeps(asked))
    }

    /// Nothing is believed of a path and of all below it: the next question asks the storage.
    pub(super) fn forget_below(&self, path: &Path) {
        let mut state = self.state.lock();
        let above = path.parent().into_iter();
        let below = state.folders.keys().filter(|folder| folder.starts_with(path));
        let folders: Vec<Arc<Path>> = above.map(Arc::from).chain(below.cloned()).collect();
        for folder in folders {
            if let Some(record) = state.folders.get_mut(&folder) {
                record.forget(Instant::now());
            }
            state.weigh(&folder, self.limit);
        }
    }

    /// The memory that the records take, in bytes, about.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.state.lock().bytes
    }
}

impl State {
    /// The record of a folder, which counts as used.
    fn folder(&mut self, folder: &Path) -> &mut Folder {
        self.uses += 1;
        let path = match self.folders.get_key_value(folder) {
            Some((path, _)) => Arc::clone(path),
            None => folder.into(),
        };
        let record = self.folders.entry(Arc::clone(&path)).or_default();
        self.by_use.remove(&record.last_use);
        record.last_use = self.uses;
        self.by_use.insert(self.uses, path);
        record
    }

    /// There were names in a folder at that time. If one above it was missing before, it was made
    /// since.
    fn is_there(&mut self, folder: &Path, at: Instant, names: &Names) {
        for path in folder.ancestors() {
            let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return };
            let Some(record) = self.folders.get_mut(above) else { continue };
            if record.known(name, names.ttl).is_some_and(|known| known.told.is_none() && known.at < at) {
                let known = Known { told: Some(Told::Folder(None)), at };
                record.singles.insert(name.to_owned(), Single::Told(known));
                self.weigh(above, names.limit);
            }
        }
    }

    /// Counts the size of a folder's record, and forgets others until all fit.
    fn weigh(&mut self, folder: &Path, limit: usize) {
        if let Some(record) = self.folders.get_mut(folder) {
            let bytes = record.weight() + folder.as_os_str().len();
            self.bytes = self.bytes - record.bytes + bytes;
            record.bytes = bytes;
        }
        while self.bytes > limit {
            let idle = |path: &&Arc<Path>| self.folders.get(*path).is_some_and(Folder::is_idle);
            let Some(oldest) = self.by_use.values().find(idle).cloned() else { return };
            if let Some(record) = self.folders.remove(&oldest) {
                self.by_use.remove(&record.last_use);
                self.bytes -= record.bytes;
            }
        }
    }
}

impl Folder {
    /// Whether an answer that was asked for at that time is believed.
    fn keeps(&self, asked: Instant) -> bool {
        self.since.is_none_or(|since| asked >= since)
    }

    /// Believes nothing that was asked for before `now`.
    fn forget(&mut self, now: Instant) {
        (self.listing, self.up_to, self.singly_until) = (None, None, None);
        self.singles.retain(|_, single| matches!(single, Single::Asked(_)));
        self.since = Some(now);
    }

    /// Bytes that it takes, about.
    fn weight(&self) -> usize {
        let listing = self.listing.as_ref().map_or(0, Listing::bytes);
        OVERHEAD * (1 + self.singles.len()) + listing
    }

    /// Whether no caller waits for anything in it.
    fn is_idle(&self) -> bool {
        let asked = |single: &Single| matches!(single, Single::Asked(_));
        self.listing_for.is_none() && !self.singles.values().any(asked)
    }

    fn is_fresh(&self, ttl: Duration) -> bool {
        self.listing.as_ref().is_some_and(|listing| listing.told().elapsed() < ttl)
    }

    fn waiting(&mut self) -> Waiting {
        let listings = self.listing_for.take().unwrap_or_default();
        Waiting { listings, lookings: std::mem::take(&mut self.looking) }
    }

    fn known(&self, name: &OsStr, ttl: Duration) -> Option<Known> {
        if let Some(Single::Told(known)) = self.singles.get(name)
            && known.at.elapsed() < ttl
        {
            return Some(known.clone());
        }
        let listing = self.listing.as_ref().filter(|listing| listing.told().elapsed() < ttl)?;
        on(listing, self.up_to.as_deref(), name)
    }
}

/// A listing's answer about a name; `None` if the name has to be asked for. Beyond the last key of
/// a page no name is known, nor is a name whose folder would come behind that key.
fn on(listing: &Listing, up_to: Option<&[u8]>, name: &OsStr) -> Option<Known> {
    let as_folder = || name.as_bytes().iter().chain(b"/");
    if up_to.is_some_and(|last| as_folder().gt(last)) {
        return None;
    }
    match listing.find(name).map(|listed| Told::of(&listed)) {
        Some(Told::Unmeasured) => None,
        None if listing.may_lack() => None,
        told => Some(Known { told, at: listing.told() }),
    }
}

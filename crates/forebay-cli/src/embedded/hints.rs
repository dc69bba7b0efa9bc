//! Hints: lists of what will be read next, in order, fetched ahead of their readers.
//!
//! A list has a cursor that reads of its files move on. Fetches go on from the cursor at most as
//! far as half of the memory holds, so a list may be as long as an epoch. A few threads read the
//! files through the cache and drop the bytes, which leaves the blocks there.
//!
//! ```text
//!   read      cursor      under way     next                 end of the list
//!   ▓▓▓▓▓▓▓▓▓▓│▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│· · · · · · · · · ·│
//!              └──── at most `bound` ─────┘
//! ```

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};

use super::files::Files;

/// Threads that read ahead: enough for small files on an object store, where each takes a round
/// trip.
const THREADS: usize = 16;

/// Files that may be ahead of the cursor, however small.
const FILES: usize = 4096;

/// A file counts as so many bytes until its length is known.
const UNKNOWN: u64 = 1 << 20;

/// Bytes that are read at a time.
const PIECE: u64 = 1 << 20;

/// A range of a file that will be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Want {
    /// The file.
    pub path: PathBuf,
    /// The first byte.
    pub start: u64,
    /// The end; `None` is that of the file.
    pub end: Option<u64>,
}

/// The ways to tell a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Go on with more.
    Append,
    /// Forget what it had.
    Replace,
    /// Forget the list.
    Clear,
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Mode, String> {
        match text {
            "append" => Ok(Mode::Append),
            "replace" => Ok(Mode::Replace),
            "clear" => Ok(Mode::Clear),
            other => Err(format!("mode '{other}' is not known; known are append, replace, clear")),
        }
    }
}

/// The counters of hints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Ranges that were told.
    pub told: u64,
    /// Of them, those that were fetched.
    pub fetched: u64,
    /// Those that could not be fetched.
    pub failed: u64,
    /// Those that the reader passed before they were fetched.
    pub overtaken: u64,
}

/// The lists of a cache, with the threads that follow them.
pub(super) struct Hints {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    files: Arc<Files>,
    /// Bytes ahead of the cursors, at most.
    bound: u64,
    lists: Mutex<Lists>,
    changed: Condvar,
}

#[derive(Default)]
struct Lists {
    by_name: BTreeMap<String, List>,
    counts: Counts,
    numbers: u64,
    closed: bool,
}

/// A list, without what lies behind its cursor.
#[derive(Default)]
struct List {
    /// Tells it from an earlier list of the same name.
    number: u64,
    wants: VecDeque<Place>,
    /// The number of the first of `wants` since the list began.
    cursor: usize,
    /// The number of the next to be fetched; never below `cursor`.
    next: usize,
    /// Where files stand, by number; some may lie behind the cursor.
    places: HashMap<PathBuf, VecDeque<usize>>,
}

struct Place {
    want: Want,
    bytes: u64,
}

/// A range to be fetched.
struct Errand {
    list: String,
    number: u64,
    at: usize,
    want: Want,
}

impl List {
    fn append(&mut self, wants: Vec<Want>) {
        for want in wants {
            let at = self.cursor + self.wants.len();
            self.places.entry(want.path.clone()).or_default().push_back(at);
            let bytes = want.end.map_or(UNKNOWN, |end| end.saturating_sub(want.start));
            self.wants.push_back(Place { want, bytes });
        }
    }

    /// The bytes between the cursor and the next to be fetched.
    fn ahead(&self) -> u64 {
        self.wants.iter().take(self.next - self.cursor).map(|place| place.bytes).sum()
    }

    /// A file is read: the cursor moves past its first place. Returns how many it passes that were
    /// not fetched.
    fn read(&mut self, path: &Path) -> usize {
        let Some(places) = self.places.get_mut(path) else { return 0 };
        while places.front().is_some_and(|&place| place < self.cursor) {
            places.pop_front();
        }
        let Some(place) = places.pop_front() else {
            self.places.remove(path);
            return 0;
        };
        if places.is_empty() {
            self.places.remove(path);
        }
        self.wants.drain(..=place - self.cursor);
        self.cursor = place + 1;
        let overtaken = self.cursor.saturating_sub(self.next);
        self.next = self.next.max(self.cursor);
        overtaken
    }
}

impl Hints {
    pub(super) fn new(files: Arc<Files>, bound: u64) -> Hints {
        let shared = Shared { files, bound, lists: Mutex::default(), changed: Condvar::new() };
        Hints { shared: Arc::new(shared), threads: Mutex::default() }
    }

    /// Changes a list, and starts the threads if there is something to do.
    pub(super) fn tell(&self, name: &str, mode: Mode, mut wants: Vec<Want>) {
        for want in &mut wants {
            if let Ok(inner) = want.path.strip_prefix("/") {
                want.path = inner.to_owned();
            }
        }
        let mut lists = self.shared.lists.lock();
        if mode != Mode::Append {
            lists.by_name.remove(name);
        }
        if mode == Mode::Clear || wants.is_empty() {
            return;
        }
        lists.numbers += 1;
        lists.counts.told += wants.len() as u64;
        let fresh = List { number: lists.numbers, ..List::default() };
        lists.by_name.entry(name.to_owned()).or_insert(fresh).append(wants);
        drop(lists);
        self.start();
        self.shared.changed.notify_all();
    }

    /// A file is opened or read by path.
    pub(super) fn read(&self, path: &Path) {
        let mut lists = self.shared.lists.lock();
        if lists.by_name.is_empty() {
            return;
        }
        // Hints and readers may write a path with and without a slash at its beginning.
        let path = path.strip_prefix("/").unwrap_or(path);
        let mut overtaken = 0;
        lists.by_name.values_mut().for_each(|list| overtaken += list.read(path));
        lists.counts.overtaken += overtaken as u64;
        lists.by_name.retain(|_, list| !list.wants.is_empty());
        drop(lists);
        self.shared.changed.notify_all();
    }

    pub(super) fn counts(&self) -> Counts {
        self.shared.lists.lock().counts
    }

    fn start(&self) {
        let mut threads = self.threads.lock();
        while threads.len() < THREADS {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("forebay-hints".into()).spawn(move || shared.follow());
            match thread {
                Ok(thread) => threads.push(thread),
                // A hint is no promise.
                Err(error) => return log::warn!("hints have {} threads, and no more: {error}", threads.len()),
            }
        }
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        self.shared.lists.lock().closed = true;
        self.shared.changed.notify_all();
        for thread in self.threads.lock().drain(..) {
            // If it panicked, the message was printed then.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Follows the lists until the cache is closed.
    fn follow(&self) {
        let mut lists = self.lists.lock();
        while !lists.closed {
            let Some(errand) = lists.errand(self.bound) else {
                self.changed.wait(&mut lists);
                continue;
            };
            drop(lists);
            let fetched = self.fetch(&errand);
            lists = self.lists.lock();
            match fetched {
                Some(bytes) => {
                    lists.counts.fetched += 1;
                    lists.measured(&errand, bytes);
                }
                None => {
                    lists.counts.failed += 1;
                    lists.measured(&errand, 0);
                }
            }
            self.changed.notify_one();
        }
    }

    /// Reads a range through the cache; returns how many bytes it had, or `None` if it failed or
    /// the cache is being closed.
    fn fetch(&self, Errand { want, .. }: &Errand) -> Option<u64> {
        let file = self.files.open(&want.path).ok()?;
        let end = want.end.unwrap_or(u64::MAX).min(file.size());
        // SAFETY: asks the kernel for this thread's number.
        let reader = unsafe { libc::gettid() } as u32;
        let mut buffer = vec![0; PIECE.min(end.saturating_sub(want.start)) as usize];
        let mut at = want.start;
        while at < end {
            let most = buffer.len().min((end - at) as usize);
            match file.read(reader, at, &mut buffer[..most]) {
                Ok(0) | Err(_) => return None,
                Ok(read) => at += read as u64,
            }
            if self.lists.lock().closed {
                return None;
            }
        }
        Some(end.saturating_sub(want.start))
    }
}

impl Lists {
    /// The next range to fetch, if memory allows one.
    fn errand(&mut self, bound: u64) -> Option<Errand> {
        let ahead: u64 = self.by_name.values().map(List::ahead).sum();
        let due = |list: &List| list.next - list.cursor < list.wants.len().min(FILES);
        let (name, list) = self.by_name.iter_mut().find(|(_, list)| due(list))?;
        let place = &list.wants[list.next - list.cursor];
        // One that is larger than the bound is fetched when nothing else is ahead.
        if ahead > 0 && ahead + place.bytes > bound {
            return None;
        }
        let errand = Errand { list: name.clone(), number: list.number, at: list.next, want: place.want.clone() };
        list.next += 1;
        Some(errand)
    }

    /// The length of a range that was fetched.
    fn measured(&mut self, errand: &Errand, bytes: u64) {
        let list = self.by_name.get_mut(&errand.list).filter(|list| list.number == errand.number);
        let place = list.and_then(|list| list.wants.get_mut(errand.at.checked_sub(list.cursor)?));
        if let Some(place) = place {
            place.bytes = bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn want(path: &str, bytes: u64) -> Want {
        Want { path: path.into(), start: 0, end: Some(bytes) }
    }

    /// Lists with one list, and the paths that are handed out under a bound.
    fn handed_out(lists: &mut Lists, bound: u64) -> Vec<String> {
        let errands = std::iter::from_fn(|| lists.errand(bound));
        errands.map(|errand| errand.want.path.display().to_string()).collect()
    }

    fn lists(wants: Vec<Want>) -> Lists {
        let mut list = List::default();
        list.append(wants);
        Lists { by_name: [("epoch".to_owned(), list)].into(), ..Lists::default() }
    }

    #[test]
    fn a_list_runs_as_far_ahead_as_memory_holds() {
        let mut lists = lists((0..6).map(|n| want(&n.to_string(), 10)).collect());
        assert_eq!(handed_out(&mut lists, 25), ["0", "1"]);
        let list = lists.by_name.get_mut("epoch").unwrap();
        assert_eq!(list.read(Path::new("0")), 0);
        assert_eq!(list.read(Path::new("elsewhere")), 0, "a file of no list");
        assert_eq!(handed_out(&mut lists, 25), ["2"]);
        let list = lists.by_name.get_mut("epoch").unwrap();
        assert_eq!(list.read(Path::new("4")), 2, "3 and 4 were not fetched yet");
        assert_eq!(list.ahead(), 0);
        assert_eq!(handed_out(&mut lists, 25), ["5"]);
    }

    #[test]
    fn a_file_larger_than_the_bound_goes_alone() {
        let mut lists = lists(vec![want("large", 100), want("small", 1)]);
        assert_eq!(handed_out(&mut lists, 25), ["large"]);
        lists.by_name.get_mut("epoch").unwrap().read(Path::new("large"));
        assert_eq!(handed_out(&mut lists, 25), ["small"]);
    }

    #[test]
    fn a_file_may_stand_in_a_list_more_than_once() {
        let mut list = List::default();
        list.append(vec![want("a", 1), want("b", 1), want("a", 1)]);
        list.append(vec![want("b", 1)]);
        list.read(Path::new("a"));
        assert_eq!((list.cursor, list.wants.len()), (1, 3));
        list.read(Path::new("a"));
        assert_eq!((list.cursor, list.wants.len()), (3, 1), "b was passed over");
        list.read(Path::new("a"));
        assert_eq!(list.cursor, 3, "it does not come again");
        list.read(Path::new("b"));
        assert!(list.wants.is_empty() && list.places.is_empty());
    }

    #[test]
    fn lengths_that_turn_out_to_be_others_count_as_they_are() {
        let mut lists = lists(vec![Want { end: None, ..want("a", 0) }, want("b", 10)]);
        let errand = lists.errand(20).unwrap();
        assert!(lists.errand(20).is_none(), "the length of a is not known");
        lists.measured(&errand, 5);
        assert!(lists.errand(20).is_some());
        let late = Errand { number: 7, ..errand };
        lists.measured(&late, 1000);
        assert_eq!(lists.by_name["epoch"].ahead(), 15, "the length is of an earlier list");
    }
}

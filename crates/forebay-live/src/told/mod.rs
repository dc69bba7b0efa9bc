//! Told lists of a tree: names in an order that readers will follow.
//!
//! ```text
//!   names ─▶ packed ─▶ window: opened ahead, in order ─▶ core ─▶ fetched ahead of the readers
//!             (bounded)        └ missing: reported, skipped         │ readers go on
//!                      ◀──────────── let go ────────────────────────┘
//! ```
//!
//! The core knows files by number, so a file is opened before it is told, by the ordinary look-ups
//! of its source, on a thread of the tree's own (`opener`). At most 512 files of a list are open
//! ahead of its readers. The other names wait, packed, and take no more than an eighth of the
//! memory of the engine, and 8 MiB at least.

mod lines;
mod opener;
mod packed;
mod spelling;

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_core::{ToldId, ToldList};
use forebay_source::{Attributes, BLOCK, Error, Kind, Result};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::engine::Held;
use crate::site::{Found, Located, Site};
use crate::tree::{Branch, Tree};
use crate::world::Bell;

pub use lines::{BadHint, BadLine, Hint, hint, inner, line, named, report};
pub use packed::Named;
use packed::Packed;
pub use spelling::spelt;

/// The treatment of names that are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// They come behind those of the list.
    #[default]
    Append,
    /// They are the list from now on.
    Replace,
    /// The list is over.
    Clear,
}

impl std::str::FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> std::result::Result<Mode, UnknownMode> {
        match text {
            "append" => Ok(Mode::Append),
            "replace" => Ok(Mode::Replace),
            "clear" => Ok(Mode::Clear),
            _ => Err(UnknownMode(text.to_owned())),
        }
    }
}

/// A mode that there is not.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the mode {0:?} is none of append, replace and clear")]
pub struct UnknownMode(String);

/// Why names are not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TellError {
    /// Names that wait take too much memory.
    #[error(
        "the names that wait take {bytes} bytes, and {most} are the most: {taken} were taken; tell the rest once readers have gone on"
    )]
    Full {
        /// The names of this call that were taken.
        taken: u64,
        /// The bytes of all that wait.
        bytes: usize,
        /// The most.
        most: usize,
    },
    /// The name of the list is none.
    #[error("the name of a list has 1 to {LONGEST_NAME} bytes")]
    Name,
    /// Too many lists.
    #[error("there are {MOST_LISTS} lists already: clear one first")]
    Lists,
    /// No thread.
    #[error("cannot start the thread that opens files ahead: {0}")]
    Thread(String),
}

/// The longest name of a list, in bytes.
const LONGEST_NAME: usize = 200;

/// The most lists of a tree.
const MOST_LISTS: usize = 256;

/// Missing names that are reported.
pub const REPORTED: usize = 10;

/// The outcome of telling.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Answer {
    /// Names that were taken.
    pub accepted: u64,
    /// The first of these names that are known to be missing.
    pub missing: Vec<String>,
}

/// The state of a list.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ListState {
    /// Its name.
    pub name: String,
    /// Names that it has, those apart that are missing.
    pub length: u64,
    /// Names that its readers have passed.
    pub cursor: u64,
    /// Names that were taken.
    pub accepted: u64,
    /// Names that no file has, or whose file cannot be opened.
    pub missing: u64,
    /// The first of these.
    pub missing_names: Vec<String>,
    /// Bytes that were fetched ahead.
    pub fetched: u64,
    /// Bytes of these that nobody read while they were there.
    pub wasted: u64,
    /// Whether nobody has read any of it for a minute, so that nothing is fetched for it.
    pub asleep: bool,
}

/// A file of a list's window.
enum Ahead {
    /// It is being opened.
    Opening,
    /// It is open. The core was told its bytes up to the first number, of those up to the second.
    Open { held: Held, told: u64, end: u64 },
    /// There is no such file.
    Missing,
}

/// A name of a list's window.
struct Slot {
    ahead: Ahead,
    range: Option<std::ops::Range<u64>>,
    /// How many extents the core had been told when it was told the last of this file.
    extents: Option<u32>,
}

/// A list.
struct Told {
    id: ToldId,
    names: Packed,
    accepted: u64,
    missing: u64,
    missing_names: Vec<String>,
    /// Names in front of the window.
    passed: u64,
    window: VecDeque<Slot>,
    /// Extents that the core was told.
    extents: u32,
    /// Extents that readers have passed.
    extents_passed: u32,
    fetched: u64,
    wasted: u64,
    asleep: bool,
}

impl Told {
    fn new(id: ToldId) -> Told {
        Told {
            id,
            names: Packed::default(),
            accepted: 0,
            missing: 0,
            missing_names: Vec::new(),
            passed: 0,
            window: VecDeque::new(),
            extents: 0,
            extents_passed: 0,
            fetched: 0,
            wasted: 0,
            asleep: false,
        }
    }

    /// A name has no file that can be opened.
    fn misses(&mut self, name: String) {
        self.missing += 1;
        if self.missing_names.len() < REPORTED {
            self.missing_names.push(name);
        }
    }

    /// The core has got so far.
    fn sees(&mut self, views: &[ToldList]) {
        let view = views.iter().find(|view| view.list == self.id).copied().unwrap_or_default();
        (self.fetched, self.wasted) = (view.fetched * BLOCK as u64, view.wasted * BLOCK as u64);
        (self.asleep, self.extents_passed) = (view.asleep, view.passed);
    }

    /// Whether readers have passed a name, or it is missing.
    fn has_passed(&self, slot: &Slot) -> bool {
        match (&slot.ahead, slot.extents) {
            (Ahead::Missing, _) => true,
            (Ahead::Open { .. }, Some(extents)) => extents <= self.extents_passed,
            _ => false,
        }
    }

    fn state(&self, name: &str) -> ListState {
        let passed = self.passed + self.window.iter().take_while(|slot| self.has_passed(slot)).count() as u64;
        ListState {
            name: name.to_owned(),
            length: self.accepted - self.missing,
            cursor: passed.min(self.accepted - self.missing),
            accepted: self.accepted,
            missing: self.missing,
            missing_names: self.missing_names.clone(),
            fetched: self.fetched,
            wasted: self.wasted,
            asleep: self.asleep,
        }
    }
}

/// An open that has ended: of which list, which of its names, and how.
struct Opened {
    id: ToldId,
    number: u64,
    path: PathBuf,
    object: Result<Located>,
}

#[derive(Default)]
struct State {
    lists: BTreeMap<String, Told>,
    next: u32,
    /// Lists that are over and that the core still knows.
    over: Vec<ToldId>,
    opened: Vec<Opened>,
    /// Opens that have not ended.
    opening: usize,
    /// Wakes the work on the lists; `None` unless it is under way.
    bell: Option<Bell>,
}

/// The lists of a tree.
#[derive(Default)]
pub(crate) struct Lists {
    state: Mutex<State>,
}

impl Tree {
    /// Tells names of a list, which begins with them if it is not there. Returns how many were
    /// taken. Files that there are not are found out later, and skipped.
    pub fn tell(
        self: &Arc<Tree>,
        list: &str,
        mode: Mode,
        names: impl IntoIterator<Item = Named>,
    ) -> std::result::Result<u64, TellError> {
        let list = name_of_list(list)?;
        let most = usize::try_from(self.engine().memory() / 8).unwrap_or(usize::MAX).max(8 << 20);
        // Its files are let go of once nothing is locked.
        let mut gone = None;
        let mut state = self.lists().state.lock();
        if mode != Mode::Append
            && let Some(told) = state.lists.remove(list)
        {
            state.over.push(told.id);
            gone = Some(told);
        }
        let mut taken = 0;
        if mode != Mode::Clear {
            if !state.lists.contains_key(list) {
                if state.lists.len() >= MOST_LISTS {
                    return Err(TellError::Lists);
                }
                state.next = state.next.wrapping_add(1);
                let told = Told::new(ToldId(state.next));
                state.lists.insert(list.to_owned(), told);
            }
            let others: usize =
                state.lists.iter().filter(|(name, _)| *name != list).map(|(_, it)| it.names.footprint()).sum();
            let Some(told) = state.lists.get_mut(list) else { return Ok(taken) };
            let mut full = false;
            for named in names {
                full = others + told.names.footprint() > most;
                if full {
                    break;
                }
                if told.names.push(&named) {
                    told.accepted += 1;
                    taken += 1;
                }
            }
            if full {
                let bytes = others + told.names.footprint();
                self.wake(state)?;
                return Err(TellError::Full { taken, bytes, most });
            }
        }
        self.wake(state)?;
        drop(gone);
        Ok(taken)
    }

    /// Which of these names no file has. Asks for all at once, and waits.
    pub fn absent(self: &Arc<Tree>, names: &[Named]) -> Vec<String> {
        let (answers, found) = std::sync::mpsc::channel();
        for (number, named) in names.iter().enumerate() {
            let answers = answers.clone();
            let then = move |found: Result<Attributes>| {
                // The receiver waits for all of them.
                let _ = answers.send((number, found));
            };
            match self.within(&named.path) {
                Some((branch, path)) => self.branches()[branch].source.stat_then(&path, Box::new(then)),
                None => then(Err(Error::NotFound(String::new()))),
            }
        }
        drop(answers);
        let is_absent = |path: &Path, found: Result<Attributes>| match found {
            Ok(found) if found.kind == Kind::File => false,
            Ok(found) if found.kind == Kind::Link => self.linked(path).is_err(),
            Err(error) if is_linked(&error) => self.linked(path).is_err(),
            _ => true,
        };
        let absent = found.iter().filter_map(|(at, found)| is_absent(&names[at].path, found).then_some(at));
        let mut absent: Vec<usize> = absent.collect();
        absent.sort_unstable();
        absent.into_iter().map(|number| names[number].path.display().to_string()).collect()
    }

    /// The source of a path from the root on, by its number, and the path there. `None` if the path
    /// leads to no source.
    pub fn within(&self, path: &Path) -> Option<(usize, PathBuf)> {
        if let [Branch { name: None, .. }] = self.branches() {
            return Some((0, path.to_owned()));
        }
        let mut parts = path.components();
        let first = parts.next()?.as_os_str();
        let branch = self.branches().iter().position(|branch| branch.name.as_deref() == Some(first))?;
        Some((branch, parts.as_path().to_owned()))
    }

    /// Opens a file on whose path there are links, which sources do not follow.
    fn linked(self: &Arc<Tree>, path: &Path) -> Result<Located> {
        let names: Vec<OsString> = path.iter().map(OsStr::to_owned).collect();
        let site = Site::new(Arc::clone(self));
        match site.find(&names)? {
            Found::File(place, _) => site.object(&place),
            Found::Folder(_) => Err(Error::Refused { name: path.display().to_string(), errno: libc::EISDIR }),
        }
    }

    /// The told lists.
    pub fn told(&self) -> Vec<ListState> {
        let (_, views) = self.engine().lists(ToldId(0));
        let mut state = self.lists().state.lock();
        let lists = state.lists.iter_mut().map(|(name, told)| {
            told.sees(&views);
            told.state(name)
        });
        lists.collect()
    }

    /// The thread has something to do.
    fn wake(self: &Arc<Tree>, mut state: parking_lot::MutexGuard<'_, State>) -> std::result::Result<(), TellError> {
        let bell = match &state.bell {
            Some(bell) => Arc::clone(bell),
            None => {
                let bell = opener::start(self).map_err(|error| TellError::Thread(error.to_string()))?;
                Arc::clone(state.bell.insert(bell))
            }
        };
        drop(state);
        bell();
        Ok(())
    }
}

/// The name of a list, unless it is none.
pub fn name_of_list(name: &str) -> std::result::Result<&str, TellError> {
    if (1..=LONGEST_NAME).contains(&name.len()) { Ok(name) } else { Err(TellError::Name) }
}

/// Whether an error says that there is a link on the path.
fn is_linked(error: &Error) -> bool {
    matches!(error, Error::Refused { errno: libc::ELOOP | libc::ENOTDIR, .. })
}

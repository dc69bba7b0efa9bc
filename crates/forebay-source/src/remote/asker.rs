//! Asks a storage for names, and remembers the answers.

use std::ffi::OsStr;
use std::future::Future;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::complaints::{Complaints, UNLISTED};
use super::names::{Heard, Known, LookUp, Looking, Names, ToList, Waiting};
use super::patience::Patience;
use super::{Answer, Page, Remote, Told, Trouble};
use crate::identity::inode_number;
use crate::listing::Gathered;
use crate::runtime::Shared;
use crate::{Error, Kind, Listed, Listing, Result, Then};

/// Pages of a folder that are asked for when names in it are looked up: 25,000 names of a bucket.
const PAGES: usize = 25;

/// The longest name of a file on Linux, bytes.
const LONGEST: usize = 255;

/// Asks one storage for names.
pub(super) struct Asker {
    pub(super) remote: Arc<dyn Remote>,
    pub(super) names: Names,
    pub(super) patience: Patience,
    pub(super) complaints: Complaints,
    pub(super) runtime: Shared,
    /// The address of the source, of which inode numbers are hashes.
    pub(super) address: Arc<str>,
    /// Whether a name that cannot be shown has been reported.
    pub(super) told_of_names: AtomicBool,
}

/// The manner in which a name is asked for.
#[derive(Clone, Copy)]
struct Asking {
    /// Since when a reader waits.
    since: Instant,
    /// A listing of its folder lacks it.
    unlisted: bool,
    /// Whether it is asked for anew, since names were forgotten under way. Once is enough: names
    /// may be forgotten more often than answers come.
    anew: bool,
}

/// The end of a listing.
struct Cut {
    /// There are names behind it.
    more: bool,
    /// They were wanted.
    given_up: bool,
}

impl Asker {
    /// Looks up a name; the root is not asked for.
    pub(super) fn look_up(self: &Arc<Self>, path: &Path, then: Then<Known>) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return then(Err(Error::NotFound(path.display().to_string())));
        };
        match self.names.look_up(folder, name, self.remote.pages_are_cheap(), then) {
            LookUp::Known(known, then) => then(Ok(known)),
            LookUp::Waits => {}
            LookUp::Ask { unlisted } => self.ask(folder, name, Asking { since: Instant::now(), unlisted, anew: false }),
            LookUp::List { whole } => self.fetch(folder, if whole { PAGES } else { 1 }, false),
        }
    }

    /// All names in a folder, in the order of their bytes.
    pub(super) fn list(self: &Arc<Self>, folder: &Path, then: Then<Listing>) {
        match self.names.list(folder, then) {
            ToList::Known(listing, then) => then(Ok(listing)),
            ToList::Waits => {}
            ToList::List => self.fetch(folder, usize::MAX, false),
        }
    }

    /// Asks for one name.
    fn ask(self: &Arc<Self>, folder: &Path, name: &OsStr, asking: Asking) {
        let (folder, name) = (folder.to_path_buf(), name.to_owned());
        self.start(move |asker| async move {
            let path = folder.join(&name);
            let at = Instant::now();
            let ask = || match asking.unlisted {
                true => asker.remote.look_unlisted(&path),
                false => asker.remote.look(&path),
            };
            let shown = path.display().to_string();
            let answer = match asker.patience.since(asking.since, &asker.complaints, &shown, ask).await {
                Ok(Told::Unmeasured) => {
                    Err(Error::Storage { name: shown, reason: "the storage does not tell its length".into() })
                }
                Ok(told) => Ok(Known { told: Some(told), at }),
                Err(Error::NotFound(_)) => Ok(Known { told: None, at }),
                Err(error) => Err(error),
            };
            if !asking.anew && asker.names.is_outdated(&folder, at) {
                return asker.ask(&folder, &name, Asking { anew: true, ..asking });
            }
            for then in asker.names.told(&folder, &name, &answer) {
                then(answer.clone());
            }
        });
    }

    /// Asks for at most `most` pages of a folder; for all if a listing waits for all.
    /// `anew` is as in [`Asking`].
    fn fetch(self: &Arc<Self>, folder: &Path, most: usize, anew: bool) {
        let folder = folder.to_path_buf();
        self.start(move |asker| async move {
            match asker.pages(&folder, most).await {
                Ok(heard) if !anew && asker.names.is_outdated(&folder, heard.listing.told()) => {
                    asker.fetch(&folder, most, true);
                }
                Ok(heard) => asker.listed(&folder, &heard),
                Err(error) => asker.failed(&folder, &error),
            }
        });
    }

    fn start<F: Future<Output = ()> + Send + 'static>(self: &Arc<Self>, task: impl FnOnce(Arc<Asker>) -> F) {
        self.runtime.start(task(Arc::clone(self)));
    }

    async fn pages(&self, folder: &Path, most: usize) -> Result<Heard> {
        let at = Instant::now();
        let root = folder.as_os_str().is_empty();
        let shown = if root { ".".into() } else { folder.display().to_string() };
        let mut names = Gathered::default();
        let mut next = None;
        for number in 1.. {
            let ask = || self.remote.page(folder, next.as_ref());
            // A look-up has one patience for all pages, and a listing goes on as long as pages
            // come.
            let since = if self.names.is_awaited(folder) { Instant::now() } else { at };
            let page = match self.patience.since(since, &self.complaints, &shown, ask).await {
                // The names in it may all have been removed since it was opened.
                Err(Error::NotFound(_)) if root => Page::default(),
                page => page?,
            };
            next = page.next;
            self.add(&mut names, folder, page.names);
            if next.is_none() || number >= most && !self.names.is_awaited(folder) {
                break;
            }
        }
        Ok(heard(names, Cut { more: next.is_some(), given_up: next.is_some() && most > 1 }, at))
    }

    /// The first page of the root, in one try; it is remembered.
    pub(super) async fn first_page(&self) -> Answer<()> {
        let (root, at) = (Path::new(""), Instant::now());
        let page = self.remote.page(root, None).await?;
        let mut names = Gathered::default();
        self.add(&mut names, root, page.names);
        let heard = heard(names, Cut { more: page.next.is_some(), given_up: false }, at);
        // No look-up can wait for it yet.
        self.names.listed(root, &heard);
        Ok(())
    }

    /// Adds the names of a page. A name that is a file and a folder is shown as the folder: better
    /// one name less than a whole tree.
    fn add(&self, names: &mut Gathered, folder: &Path, mut page: Gathered) {
        page.number(|name| {
            let bytes = name.as_bytes();
            let held = bytes.len() <= LONGEST && !bytes.iter().any(|byte| matches!(byte, b'/' | 0));
            if matches!(bytes, b"" | b"." | b"..") || !held {
                if !self.told_of_names.swap(true, Ordering::Relaxed) {
                    log::warn!("{}: {name:?} and other names that no file system can hold are left out", self.address);
                }
                return None;
            }
            Some(inode_number(&self.address, &folder.join(name)))
        });
        names.append(page);
    }

    fn listed(self: &Arc<Self>, folder: &Path, heard: &Heard) {
        let Waiting { listings, lookings } = self.names.listed(folder, heard);
        for then in listings {
            then(Ok(heard.listing.clone()));
        }
        for looking in lookings {
            match heard.of(&looking.name) {
                Some(known) => (looking.then)(Ok(known)),
                None => {
                    let unlisted = heard.lacks(&looking.name);
                    self.singly(folder, looking, unlisted);
                }
            }
        }
    }

    fn failed(self: &Arc<Self>, folder: &Path, error: &Error) {
        let Waiting { listings, lookings } = self.names.failed(folder);
        if !listings.is_empty() && matches!(error, Error::Refused { errno: libc::EOPNOTSUPP, .. }) {
            self.complaints.hear(&Trouble::new(error.clone(), UNLISTED));
        }
        for then in listings {
            then(Err(error.clone()));
        }
        for looking in lookings {
            match error {
                error if error.is_of_the_storage() => (looking.then)(Err(error.clone())),
                // Where names cannot be listed, or listing is refused, they may still be asked for.
                _ => self.singly(folder, looking, false),
            }
        }
    }

    /// Asks for a name that a listing did not tell. The patience goes on from the look-up, unless
    /// the listing took longer because it was long: then the storage is alive.
    fn singly(self: &Arc<Self>, folder: &Path, Looking { name, since, then }: Looking, unlisted: bool) {
        let since = if since.elapsed() < self.patience.0 { since } else { Instant::now() };
        if self.names.look_up_singly(folder, &name, then) {
            self.ask(folder, &name, Asking { since, unlisted, anew: false });
        }
    }
}

fn heard(names: Gathered, cut: Cut, at: Instant) -> Heard {
    let listing = Listing::in_order(names, at);
    let key = |listed: Listed<'_>| {
        let folder = listed.kind == Kind::Folder;
        [listed.name.as_bytes(), if folder { b"/" } else { b"" }].concat()
    };
    let up_to = cut.more.then(|| listing.iter().map(key).max().unwrap_or_default());
    Heard { listing, up_to, given_up: cut.given_up }
}

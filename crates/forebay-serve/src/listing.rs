//! The names of a folder, or of all folders below it, with their files and folders, as far as the
//! client takes them.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use forebay_source::{Error, Kind, Listed, Listing, Result};
use futures::future::try_join_all;
use tokio::task::spawn_blocking;

use crate::target::escape;
use forebay_live::site::{Folder, Seen, Site, hides};

/// Names that one thread looks up at a time, and how many threads do so at once for one listing: a
/// store far away takes its time for each.
const BATCH: usize = 32;
const THREADS: usize = 8;

/// A name in a listing.
pub(crate) struct Item {
    /// Its address: the folder's, and its name, escaped; with a slash at the end if it is a folder.
    pub(crate) href: String,
    /// The name.
    pub(crate) name: OsString,
    /// Its file or folder.
    pub(crate) seen: Seen,
}

/// A walk over names under way. It holds the names of one folder for each level that it is below
/// the first, nothing else.
pub(crate) struct Walk {
    site: Site,
    /// The folder whose names come next, after those that it lies in.
    levels: Vec<Level>,
    how: How,
}

/// A folder whose names are walked over.
struct Level {
    of: Arc<At>,
    names: Listing,
    /// The first name that was not looked up.
    next: usize,
    /// The first name below which no name was looked up.
    below: usize,
}

/// A folder, and its address.
struct At {
    href: String,
    folder: Folder,
}

/// How names are walked over.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// With all that lies below.
    pub(crate) deep: bool,
    /// The names that the client gets.
    pub(crate) shows: fn(&OsStr) -> bool,
}

impl How {
    fn shows(self, listed: &Listed<'_>) -> bool {
        listed.kind != Kind::Special && (self.shows)(listed.name)
    }
}

impl Walk {
    /// Lists a folder, at the address `href`.
    pub(crate) async fn begin(site: Site, folder: Folder, href: String, how: How) -> Result<Walk> {
        let mut walk = Walk { site, levels: Vec::new(), how };
        walk.list(At { href, folder }).await?;
        Ok(walk)
    }

    async fn list(&mut self, at: At) -> Result<()> {
        let (site, of) = (self.site.clone(), Arc::new(at));
        let at = Arc::clone(&of);
        let names = blocking(move || site.list(&at.folder)).await?;
        self.levels.push(Level { of, names, next: 0, below: 0 });
        Ok(())
    }

    /// The next names, never none; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Item>>> {
        while let Some(level) = self.levels.last_mut() {
            if level.next < level.names.len() {
                let items = level.look(&self.site, self.how).await?;
                if !items.is_empty() {
                    return Ok(Some(items));
                }
            } else if let Some(below) = level.below(&self.site, self.how).await? {
                match self.list(below).await {
                    // A folder that cannot be read stays empty.
                    Err(error) if hides(&error) => {}
                    listed => listed?,
                }
            } else {
                self.levels.pop();
            }
        }
        Ok(None)
    }
}

impl Level {
    /// Looks up the next names.
    async fn look(&mut self, site: &Site, how: How) -> Result<Vec<Item>> {
        let mut batches = Vec::new();
        while batches.len() < THREADS && self.next < self.names.len() {
            let batch = self.next..self.names.len().min(self.next + BATCH);
            self.next = batch.end;
            let (site, of, names) = (site.clone(), Arc::clone(&self.of), self.names.clone());
            batches.push(blocking(move || {
                let mut look = site.listed_in(&of.folder);
                let listed = batch.filter_map(|position| names.get(position)).filter(|listed| how.shows(listed));
                listed.filter_map(|listed| item(&of, &listed, look(&listed))).collect()
            }));
        }
        let looked: Vec<Vec<Item>> = try_join_all(batches).await?;
        Ok(looked.into_iter().flatten().collect())
    }

    /// The next folder in it, if folders below are wanted.
    async fn below(&mut self, site: &Site, how: How) -> Result<Option<At>> {
        if !how.deep {
            return Ok(None);
        }
        let (site, of, names, from) = (site.clone(), Arc::clone(&self.of), self.names.clone(), self.below);
        let found = blocking(move || {
            let mut look = site.listed_in(&of.folder);
            for position in from..names.len() {
                let Some(listed) = names.get(position).filter(|listed| how.shows(listed)) else { continue };
                if !matches!(listed.kind, Kind::Folder | Kind::Link) {
                    continue;
                }
                if let Some(Item { href, seen: Seen::Folder(folder), .. }) =
                    item(&of, &listed, look(&listed)).transpose()?
                {
                    return Ok((position + 1, Some(At { href, folder })));
                }
            }
            Ok((names.len(), None))
        });
        let (below, at) = found.await?;
        self.below = below;
        Ok(at)
    }
}

/// A name, looked up. A name that is gone, is refused or leads nowhere is left out. A name that the
/// storage does not answer for is an error, lest names vanish while the storage is gone.
fn item(of: &At, listed: &Listed<'_>, seen: Result<Seen>) -> Option<Result<Item>> {
    let seen = match seen {
        Ok(seen) => seen,
        Err(error) if hides(&error) => return None,
        Err(error) => return Some(Err(error)),
    };
    let slash = if matches!(seen, Seen::Folder(_)) { "/" } else { "" };
    let href = format!("{}{}{slash}", of.href, escape(listed.name));
    Some(Ok(Item { href, name: listed.name.to_owned(), seen }))
}

/// Asks a source, on a thread that may wait.
pub(crate) async fn blocking<T: Send + 'static>(ask: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let abandoned = |_| Error::Storage { name: "the source".into(), reason: "the question was abandoned".into() };
    spawn_blocking(ask).await.map_err(abandoned)?
}

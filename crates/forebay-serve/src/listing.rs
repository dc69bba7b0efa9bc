//! Names and what they stand for, of a folder or of all below it, as far as somebody takes them.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use forebay_live::source::{Entry, Error, Result};
use futures::future::try_join_all;
use tokio::task::spawn_blocking;

use crate::site::{Folder, Seen, Site, hides};
use crate::target::escape;

/// Names that are looked at by one thread at a time, and how many threads do so at once for one listing: a store far away takes its
/// time for each.
const BATCH: usize = 32;
const THREADS: usize = 8;

/// A name in a listing.
pub(crate) struct Item {
    /// Its address: the folder's, and its name, escaped; with a slash at the end if it is a folder.
    pub(crate) href: String,
    /// The name.
    pub(crate) name: OsString,
    /// What it stands for.
    pub(crate) seen: Seen,
}

/// A walk over names under way. It holds the names of one folder for each level that it is below the first, nothing else.
pub(crate) struct Walk {
    site: Site,
    /// Folders whose names are not known yet, the last one first.
    folders: Vec<(String, Folder)>,
    /// Names of the present folder that were not looked at.
    names: VecDeque<Entry>,
    present: Arc<(String, Folder)>,
    how: How,
}

/// How names are walked over.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// With all that lies below.
    pub(crate) deep: bool,
    /// Which names there are for whoever asks.
    pub(crate) shows: fn(&OsStr) -> bool,
}

impl Walk {
    /// Lists a folder, at the address `href`.
    pub(crate) async fn begin(site: Site, folder: Folder, href: String, how: How) -> Result<Walk> {
        let mut walk =
            Walk { site, folders: Vec::new(), names: VecDeque::new(), present: Arc::new((href, folder)), how };
        walk.list().await?;
        Ok(walk)
    }

    async fn list(&mut self) -> Result<()> {
        let (site, present) = (self.site.clone(), Arc::clone(&self.present));
        let names = blocking(move || site.list(&present.1)).await?;
        self.names = names.into_iter().filter(|entry| (self.how.shows)(&entry.name)).collect();
        Ok(())
    }

    /// The next names, never none; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Item>>> {
        loop {
            while self.names.is_empty() {
                let Some(folder) = self.folders.pop() else { return Ok(None) };
                self.present = Arc::new(folder);
                match self.list().await {
                    // What cannot be read stays empty.
                    Err(error) if hides(&error) => {}
                    listed => listed?,
                }
            }
            let items = self.look().await?;
            if self.how.deep {
                // Turned round, so that the first comes first.
                for item in items.iter().rev() {
                    if let Seen::Folder(folder) = &item.seen {
                        self.folders.push((item.href.clone(), folder.clone()));
                    }
                }
            }
            if !items.is_empty() {
                return Ok(Some(items));
            }
        }
    }

    /// Looks at the next names of the present folder.
    async fn look(&mut self) -> Result<Vec<Item>> {
        let mut batches = Vec::new();
        while batches.len() < THREADS && !self.names.is_empty() {
            let names: Vec<Entry> = self.names.drain(..self.names.len().min(BATCH)).collect();
            let (site, present) = (self.site.clone(), Arc::clone(&self.present));
            batches
                .push(blocking(move || names.into_iter().filter_map(|entry| item(&site, &present, entry)).collect()));
        }
        let looked: Vec<Vec<Item>> = try_join_all(batches).await?;
        Ok(looked.into_iter().flatten().collect())
    }
}

/// A name, looked at. What is gone, refused or leads nowhere is left out; what the storage does not tell is an error, lest
/// names vanish while it is gone.
fn item(site: &Site, present: &(String, Folder), entry: Entry) -> Option<Result<Item>> {
    let seen = match site.listed(&present.1, &entry) {
        Ok(seen) => seen,
        Err(error) if hides(&error) => return None,
        Err(error) => return Some(Err(error)),
    };
    let slash = if matches!(seen, Seen::Folder(_)) { "/" } else { "" };
    let href = format!("{}{}{slash}", present.0, escape(&entry.name));
    Some(Ok(Item { href, name: entry.name, seen }))
}

/// Asks a source, on a thread that may wait.
pub(crate) async fn blocking<T: Send + 'static>(ask: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let abandoned = |_| Error::Storage { name: "the source".into(), reason: "the question was abandoned".into() };
    spawn_blocking(ask).await.map_err(abandoned)?
}

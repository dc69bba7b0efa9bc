//! The files that are open, by path: a read of a path opens and closes nothing.
//!
//! The table has two halves. A file that is asked for goes into the young one; when that is full,
//! it becomes the old one, and the files of the old one are let go.

use std::collections::HashMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_live::engine::OpenFile;
use forebay_live::site::{Found, Site};
use forebay_source::{Attributes, Error, Result};
use parking_lot::Mutex;

use super::cache::names;

/// Files in a half of the table, at most.
const HALF: usize = 512;

/// An open file: one version of it.
pub struct Opened {
    file: OpenFile,
    attributes: Attributes,
}

impl Opened {
    /// The attributes of this version.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }
}

impl Deref for Opened {
    type Target = OpenFile;

    fn deref(&self) -> &OpenFile {
        &self.file
    }
}

/// The table.
pub(super) struct Files {
    site: Site,
    /// How long a name counts as unchanged.
    ttl: Duration,
    halves: Mutex<Halves>,
}

#[derive(Default)]
struct Halves {
    young: HashMap<PathBuf, Known>,
    old: HashMap<PathBuf, Known>,
}

#[derive(Clone)]
struct Known {
    opened: Arc<Opened>,
    /// When its source was asked last.
    at: Instant,
}

impl Files {
    pub(super) fn new(site: Site, ttl: Duration) -> Files {
        Files { site, ttl, halves: Mutex::default() }
    }

    /// The file at a path; asks its source unless it did so just now.
    pub(super) fn open(&self, path: &Path) -> Result<Arc<Opened>> {
        let known = self.known(path);
        if let Some(known) = known.as_ref().filter(|known| known.at.elapsed() < self.ttl) {
            return Ok(Arc::clone(&known.opened));
        }
        let at = Instant::now();
        let (place, attributes) = match self.site.find(&names(path)?)? {
            Found::File(place, attributes) => (place, *attributes),
            Found::Folder(_) => return Err(Error::Refused { name: path.display().to_string(), errno: libc::EISDIR }),
        };
        let same = known.filter(|known| known.opened.attributes.identity == attributes.identity);
        let opened = match same {
            Some(known) => known.opened,
            None => {
                let (file, attributes) = self.site.open(&place, attributes)?;
                Arc::new(Opened { file, attributes })
            }
        };
        let passed = self.halves.lock().keep(path.to_owned(), Known { opened: Arc::clone(&opened), at });
        // Closing a file takes the engine's lock, so it happens without ours.
        drop(passed);
        Ok(opened)
    }

    /// Lets a file go.
    pub(super) fn forget(&self, path: &Path) {
        let mut halves = self.halves.lock();
        let gone = [halves.young.remove(path), halves.old.remove(path)];
        drop(halves);
        drop(gone);
    }

    fn known(&self, path: &Path) -> Option<Known> {
        let mut halves = self.halves.lock();
        if let Some(known) = halves.young.get(path) {
            return Some(known.clone());
        }
        let (path, known) = halves.old.remove_entry(path)?;
        let passed = halves.keep(path, known.clone());
        drop(halves);
        drop(passed);
        Some(known)
    }
}

impl Halves {
    /// Takes a file in; returns those that are let go.
    fn keep(&mut self, path: PathBuf, known: Known) -> Vec<Known> {
        let full = self.young.len() >= HALF && !self.young.contains_key(&path);
        let turned =
            if full { std::mem::replace(&mut self.old, std::mem::take(&mut self.young)) } else { HashMap::new() };
        let replaced = self.young.insert(path, known);
        turned.into_values().chain(replaced).collect()
    }
}

//! The files that are open.
//!
//! A level above asks for a file piece by piece. If each request opened and closed the file,
//! closing it would call off the fetches ahead between two requests. So a file stays open for a
//! while after its last request, and while the time to live of names lasts, a request for it asks
//! the source nothing.
//!
//! The table has two halves. A file that is asked for goes into the young one. From time to time,
//! and when that is full, the young half becomes the old one, and the files of the old one are let
//! go. So a file is closed between one and two such spans after its last request, and there are
//! never more than twice as many as a half holds.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_live::engine::OpenFile;
use forebay_source::{Error, Identity, Result};
use parking_lot::Mutex;

use crate::conditions::Validators;
use crate::tag;
use crate::target::Target;
use forebay_live::site::{Found, Site};

/// A file that is served: one version of it.
pub(crate) struct Shown {
    /// Its bytes.
    pub(crate) file: OpenFile,
    /// The validators of its version.
    pub(crate) validators: Validators,
    /// The last modification as HTTP writes it.
    pub(crate) modified: String,
    identity: Identity,
}

/// The files that are open, by the path of their address.
pub(crate) struct Files {
    site: Site,
    ttl: Duration,
    halves: Mutex<Halves>,
}

#[derive(Default)]
struct Halves {
    young: HashMap<Box<str>, Known>,
    old: HashMap<Box<str>, Known>,
}

#[derive(Clone)]
struct Known {
    shown: Arc<Shown>,
    /// When the source was asked last.
    at: Instant,
}

/// The target of an address.
pub(crate) enum Opened {
    File(Arc<Shown>),
    Folder(forebay_live::site::Folder),
}

/// Files in a half of the table, at most.
const HALF: usize = 1024;

impl Files {
    pub(crate) fn new(site: Site, ttl: Duration) -> Files {
        Files { site, ttl, halves: Mutex::default() }
    }

    /// A file that is known to be the same as a moment ago.
    pub(crate) fn fresh(&self, path: &str) -> Option<Arc<Shown>> {
        let known = self.known(path)?;
        (known.at.elapsed() < self.ttl).then_some(known.shown)
    }

    fn known(&self, path: &str) -> Option<Known> {
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

    /// Looks up a path at the source, and opens it if it is a file. Blocks.
    pub(crate) fn open(&self, path: &str, target: &Target) -> Result<Opened> {
        let at = Instant::now();
        let (place, attributes) = match self.site.find(&target.names)? {
            Found::Folder(folder) => return Ok(Opened::Folder(folder)),
            Found::File(..) if target.slash => return Err(Error::NotFound(path.to_owned())),
            Found::File(place, attributes) => (place, attributes),
        };
        let same = self.known(path).filter(|known| known.shown.identity == attributes.identity);
        let shown = match same {
            Some(known) => known.shown,
            None => {
                let (file, attributes) = self.site.open(&place, *attributes)?;
                let validators = Validators { tag: tag::of(&attributes.identity), modified: attributes.modified };
                let modified = crate::conditions::date(validators.modified);
                Arc::new(Shown { file, validators, modified, identity: attributes.identity })
            }
        };
        let passed = self.halves.lock().keep(path.into(), Known { shown: Arc::clone(&shown), at });
        // Closing files asks the engine, without our lock.
        drop(passed);
        Ok(Opened::File(shown))
    }

    /// A file turned out to have changed: the next request asks the source.
    pub(crate) fn forget(&self, path: &str) {
        let mut halves = self.halves.lock();
        let known = (halves.young.remove(path), halves.old.remove(path));
        drop(halves);
        drop(known);
    }

    /// A span of time has passed: closes files that were not asked for in the one before it.
    pub(crate) fn grow_old(&self) {
        let passed = self.halves.lock().turn();
        drop(passed);
    }
}

impl Halves {
    /// Puts a file among the young ones; returns the files that are to be let go.
    fn keep(&mut self, path: Box<str>, known: Known) -> Vec<HashMap<Box<str>, Known>> {
        let turned = if self.young.len() >= HALF { self.turn() } else { HashMap::new() };
        let replaced = self.young.insert(path.clone(), known).map(|known| (path, known));
        vec![turned, replaced.into_iter().collect()]
    }

    fn turn(&mut self) -> HashMap<Box<str>, Known> {
        std::mem::replace(&mut self.old, std::mem::take(&mut self.young))
    }
}

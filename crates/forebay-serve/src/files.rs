//! The files that are open.
//!
//! A level above asks for a file piece by piece. If each request opened and closed the file,
//! closing it would call off the fetches ahead between two requests. So a file stays open for a
//! while after its last request, and while the time to live of names lasts, a request for it asks
//! the source nothing.
//!
//! From time to time those are closed that were not asked for in the span before, so a file is
//! closed between one and two such spans after its last request.

use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_live::engine::OpenFile;
use forebay_live::recent::Recent;
use forebay_live::site::{Found, Site};
use forebay_source::{Error, Identity, Result};

use crate::conditions::Validators;
use crate::tag;
use crate::target::Target;

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
    open: Recent<Box<str>, Known>,
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
        Files { site, ttl, open: Recent::new(HALF) }
    }

    /// A file that is known to be the same as a moment ago.
    pub(crate) fn fresh(&self, path: &str) -> Option<Arc<Shown>> {
        let known = self.open.get(path)?;
        (known.at.elapsed() < self.ttl).then_some(known.shown)
    }

    /// Looks up a path at the source, and opens it if it is a file. Blocks.
    pub(crate) fn open(&self, path: &str, target: &Target) -> Result<Opened> {
        let at = Instant::now();
        let (place, attributes) = match self.site.find(&target.names)? {
            Found::Folder(folder) => return Ok(Opened::Folder(folder)),
            Found::File(..) if target.slash => return Err(Error::NotFound(path.to_owned())),
            Found::File(place, attributes) => (place, attributes),
        };
        let same = self.open.get(path).filter(|known| known.shown.identity == attributes.identity);
        let shown = match same {
            Some(known) => known.shown,
            None => {
                let (file, attributes) = self.site.open(&place, *attributes)?;
                let validators = Validators { tag: tag::of(&attributes.identity), modified: attributes.modified };
                let modified = crate::conditions::date(validators.modified);
                Arc::new(Shown { file, validators, modified, identity: attributes.identity })
            }
        };
        self.open.keep(path.into(), Known { shown: Arc::clone(&shown), at });
        Ok(Opened::File(shown))
    }

    /// A file turned out to have changed: the next request asks the source.
    pub(crate) fn forget(&self, path: &str) {
        self.open.forget(path);
    }

    /// A span of time has passed: closes files that were not asked for in the one before it.
    pub(crate) fn grow_old(&self) {
        self.open.grow_old();
    }
}

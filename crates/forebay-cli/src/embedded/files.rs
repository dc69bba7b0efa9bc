//! The files that are open, by path: a read of a path opens and closes nothing.

use std::ffi::OsString;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_live::engine::OpenFile;
use forebay_live::recent::Recent;
use forebay_live::site::{Found, Site};
use forebay_source::{Attributes, Error, Result};

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
    open: Recent<PathBuf, Known>,
}

#[derive(Clone)]
struct Known {
    opened: Arc<Opened>,
    /// When its source was asked last.
    at: Instant,
}

impl Files {
    pub(super) fn new(site: Site, ttl: Duration) -> Files {
        Files { site, ttl, open: Recent::new(HALF) }
    }

    /// The file at a path; asks its source unless it did so just now.
    pub(super) fn open(&self, path: &Path) -> Result<Arc<Opened>> {
        let known = self.open.get(path);
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
        self.open.keep(path.to_owned(), Known { opened: Arc::clone(&opened), at });
        Ok(opened)
    }

    /// Lets the files go at a path and below it.
    pub(super) fn forget_below(&self, path: &[OsString]) {
        self.open.forget_those(|name| names(name).is_ok_and(|name| name.starts_with(path)));
    }

    /// Lets a file go.
    pub(super) fn forget(&self, path: &Path) {
        self.open.forget(path);
    }
}

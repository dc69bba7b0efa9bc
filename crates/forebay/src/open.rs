//! The objects that are open, by location.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use forebay_live::engine::{Engine, OpenFile};
use forebay_live::recent::Recent;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, Result};

use crate::error::of_reading;
use crate::source::StoreSource;

/// Objects in a half of the table, at most.
const HALF: usize = 512;

/// An open object: one version of it.
pub(crate) struct Open {
    pub(crate) file: OpenFile,
    pub(crate) meta: ObjectMeta,
}

/// The table.
pub(crate) struct Objects<S> {
    source: StoreSource<S>,
    engine: Arc<Engine>,
    /// For how long an object counts as unchanged.
    ttl: Duration,
    open: Recent<Path, Known>,
    /// How many objects were forgotten so far.
    changes: AtomicU64,
}

#[derive(Clone)]
struct Known {
    open: Arc<Open>,
    /// When the store was asked last.
    at: Instant,
}

impl<S: ObjectStore> Objects<S> {
    pub(crate) fn new(source: StoreSource<S>, engine: Arc<Engine>, ttl: Duration) -> Objects<S> {
        Objects { source, engine, ttl, open: Recent::new(HALF), changes: AtomicU64::new(0) }
    }

    /// The object at a location; asks the store unless it was asked a short while ago.
    pub(crate) async fn get(&self, location: &Path) -> Result<Arc<Open>> {
        match self.open.get(location).filter(|known| known.at.elapsed() < self.ttl) {
            Some(known) => Ok(known.open),
            None => self.renewed(location).await,
        }
    }

    /// The object at a location as it is now.
    pub(crate) async fn renewed(&self, location: &Path) -> Result<Arc<Open>> {
        let (at, changes) = (Instant::now(), self.changes.load(Ordering::Acquire));
        let meta = match self.source.head(location).await {
            Ok(meta) => meta,
            Err(error) => {
                self.forget(location);
                return Err(error);
            }
        };
        let known = self.open.get(location).filter(|known| known.open.meta == meta);
        let open = known.map_or_else(|| self.opened(meta), |known| known.open);
        // An object that was replaced meanwhile is asked for anew.
        if self.changes.load(Ordering::Acquire) == changes {
            self.open.keep(location.clone(), Known { open: Arc::clone(&open), at });
        }
        Ok(open)
    }

    fn opened(&self, meta: ObjectMeta) -> Arc<Open> {
        let file = self.engine.open(self.source.object(&meta), Default::default());
        Arc::new(Open { file, meta })
    }

    /// An error of reading an object, as a store tells it.
    pub(crate) fn told(&self, location: &Path, error: forebay_source::Error) -> object_store::Error {
        of_reading(location, error, self.source.failure(location))
    }

    /// The object has changed: the store is asked next time.
    pub(crate) fn forget(&self, location: &Path) {
        self.changes.fetch_add(1, Ordering::Release);
        self.open.forget(location);
    }
}

//! An object store as a source: objects by their location, without folders.

use std::path::Path as Name;
use std::sync::Arc;
use std::time::Duration;

use forebay_live::recent::Recent;
use forebay_source::identity::Identity;
use forebay_source::object::{facts, range};
use forebay_source::runtime::Shared;
use forebay_source::{Attributes, Error, Fetch, Kind, Listed, Listing, Object, Result, Source, Then, identity};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, Result as StoreResult};

use crate::error::{of_name, of_range};

/// The source.
pub(crate) struct StoreSource<S> {
    store: Arc<S>,
    address: Arc<str>,
    runtime: Shared,
    /// The last failures of ranges. Readers get no more than a number from the engine.
    failures: Arc<Recent<Path, Arc<str>>>,
}

/// Failures that are remembered, half of them.
const FAILURES: usize = 64;

impl<S> Clone for StoreSource<S> {
    fn clone(&self) -> StoreSource<S> {
        StoreSource {
            store: Arc::clone(&self.store),
            address: Arc::clone(&self.address),
            runtime: self.runtime.clone(),
            failures: Arc::clone(&self.failures),
        }
    }
}

impl<S: ObjectStore> StoreSource<S> {
    pub(crate) fn new(store: Arc<S>, runtime: Shared) -> StoreSource<S> {
        let address = store.to_string().into();
        StoreSource { store, address, runtime, failures: Arc::new(Recent::new(FAILURES)) }
    }

    /// The reason why a range of an object was not read last.
    pub(crate) fn failure(&self, location: &Path) -> Option<Arc<str>> {
        self.failures.get(location)
    }

    /// Asks the store for an object's facts, on the threads that its ranges are read on: the
    /// connections of a store are of the runtime that made them.
    pub(crate) async fn head(&self, location: &Path) -> StoreResult<ObjectMeta> {
        let (answer, told) = tokio::sync::oneshot::channel();
        let (store, asked) = (Arc::clone(&self.store), location.clone());
        self.runtime.start(async move {
            // Nobody waits any more if it is not taken.
            let _ = answer.send(store.head(&asked).await);
        });
        told.await.unwrap_or_else(|_| {
            let source = "the request was abandoned".into();
            Err(object_store::Error::Generic { store: "forebay", source })
        })
    }

    /// The object, as it was told.
    pub(crate) fn object(&self, meta: &ObjectMeta) -> Arc<dyn Object> {
        let (source, location) = (self.clone(), meta.location.clone());
        Arc::new(StoreObject { source, identity: self.identity(meta), location })
    }

    fn identity(&self, meta: &ObjectMeta) -> Identity {
        let name = identity::Name::path(&self.address, Name::new(meta.location.as_ref()));
        Identity { name, version: facts(meta).version() }
    }

    fn attributes(&self, meta: &ObjectMeta) -> Attributes {
        Attributes::plain(Kind::File, meta.last_modified.into(), self.identity(meta))
    }

    /// Asks for an object, and hands on what `then` makes of its facts.
    fn ask<T: Send + 'static>(&self, path: &Name, then: Then<T>, of: fn(&Self, &ObjectMeta) -> T) {
        let shown = path.display().to_string();
        let Some(location) = path.to_str().and_then(|path| Path::parse(path).ok()) else {
            return then(Err(Error::NotFound(shown)));
        };
        let source = self.clone();
        self.runtime.start(async move {
            let told = source.store.head(&location).await;
            then(told.map(|meta| of(&source, &meta)).map_err(|error| of_name(&location, &error)));
        });
    }
}

impl<S: ObjectStore> Source for StoreSource<S> {
    fn describe(&self) -> String {
        self.address.to_string()
    }

    fn address(&self) -> &Arc<str> {
        &self.address
    }

    fn stat_then(&self, path: &Name, then: Then<Attributes>) {
        self.ask(path, then, StoreSource::attributes);
    }

    /// Lists nothing: listings go to the store itself.
    fn list_then(&self, path: &Name, then: Then<Listing>) {
        then(Err(Error::Refused { name: path.display().to_string(), errno: libc::EOPNOTSUPP }));
    }

    fn open_then(&self, path: &Name, then: Then<Arc<dyn Object>>) {
        self.ask(path, then, StoreSource::object);
    }

    fn listed(&self, _folder: &Name, _listed: &Listed<'_>) -> Result<Option<Attributes>> {
        Ok(None)
    }
}

/// An answer that brings next to nothing for so long has failed. Tries again are for the store.
const PATIENCE: Duration = Duration::from_secs(30);

/// One version of an object.
struct StoreObject<S> {
    source: StoreSource<S>,
    identity: Identity,
    location: Path,
}

impl<S: ObjectStore> Object for StoreObject<S> {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn fetch(&self, mut fetch: Fetch) {
        let store = Arc::clone(&self.source.store);
        let (location, version) = (self.location.clone(), self.identity.version.clone());
        let failures = Arc::clone(&self.source.failures);
        self.source.runtime.start(async move {
            let wanted = fetch.offset..fetch.offset + fetch.len as u64;
            let read = range::read(&*store, &location, &version, wanted, PATIENCE, &mut fetch.buffer).await;
            let outcome = read.map_err(|unread| of_range(&location, unread));
            if let Err(Error::Storage { reason, .. } | Error::GivenUp { reason, .. }) = &outcome {
                failures.keep(location, reason.as_str().into());
            }
            fetch.finish(outcome);
        });
    }
}

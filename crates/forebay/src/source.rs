//! An object store as a source: objects by their location, without folders.

use std::path::Path as Name;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use forebay_live::recent::Recent;
use forebay_source::identity::{Identity, Version, inode_number};
use forebay_source::runtime::Shared;
use forebay_source::{Attributes, Error, Fetch, Kind, Listed, Listing, Object, Result, Source, Then, identity};
use futures::StreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, Result as StoreResult};

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
        Identity { name, version: version(meta) }
    }

    fn attributes(&self, meta: &ObjectMeta) -> Attributes {
        let (size, path) = (meta.size, Name::new(meta.location.as_ref()));
        let nanoseconds = meta.last_modified.timestamp_nanos_opt().and_then(|time| u64::try_from(time).ok());
        let modified = SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds.unwrap_or(0));
        Attributes {
            kind: Kind::File,
            size,
            allocated: size,
            mode: libc::S_IFREG | 0o444,
            uid: 0,
            gid: 0,
            links: 1,
            rdev: 0,
            accessed: modified,
            modified,
            changed: modified,
            inode: inode_number(&self.address, path),
            identity: self.identity(meta),
            told: None,
        }
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

/// The version of an object: its tag, or else its time.
fn version(meta: &ObjectMeta) -> Version {
    let tag = meta.e_tag.clone().filter(|tag| !tag.is_empty()).or_else(|| meta.version.clone());
    let time = meta.last_modified.timestamp_nanos_opt().map_or(0, i128::from);
    let modified = if tag.is_some() { 0 } else { time };
    Version { size: meta.size, modified, tag: tag.map(String::into_boxed_str), ..Version::default() }
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
            let outcome = read(&*store, &location, &version, &mut fetch).await;
            if let Err(Error::Storage { reason, .. } | Error::GivenUp { reason, .. }) = &outcome {
                failures.keep(location, reason.as_str().into());
            }
            fetch.finish(outcome);
        });
    }
}

/// Reads a range of exactly this version.
async fn read<S: ObjectStore>(store: &S, location: &Path, of: &Version, fetch: &mut Fetch) -> Result<()> {
    let wanted = fetch.offset..fetch.offset + fetch.len as u64;
    let options = GetOptions {
        range: Some(GetRange::Bounded(wanted.clone())),
        // A weak tag matches nothing by the rules of HTTP; the answer's own is compared below.
        if_match: of.tag.as_deref().filter(|tag| !tag.starts_with("W/")).map(str::to_owned),
        ..GetOptions::default()
    };
    let refused = |error| of_range(location, &error);
    let answer = store.get_opts(location, options).await.map_err(refused)?;
    if version(&answer.meta) != *of || answer.range != wanted {
        return Err(Error::Stale(location.to_string()));
    }
    let mut body = answer.into_stream();
    let mut filled = 0;
    while let Some(bytes) = body.next().await {
        let bytes = bytes.map_err(refused)?;
        let fits = filled + bytes.len() <= fetch.len;
        if fits {
            fetch.buffer.write(filled, &bytes);
        }
        filled += bytes.len();
        if !fits {
            break;
        }
    }
    if filled == fetch.len {
        return Ok(());
    }
    let reason = format!("{} bytes were asked for, and {filled} or more came", fetch.len);
    Err(Error::Storage { name: location.to_string(), reason })
}

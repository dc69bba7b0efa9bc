//! An object store behind a cache that looks ahead.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use forebay_core::{DeviceCost, DeviceId, Policy};
use forebay_live::engine::{Config, Engine};
use forebay_live::told::{self, Mode, Named, TellError};
use forebay_live::tree::{Branch, Tree};
use forebay_source::runtime;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};

use crate::error::StartError;
use crate::open::Objects;
use crate::reading::{self, Begun};
use crate::source::StoreSource;
use crate::upload::Upload;

/// The options of a [`Cached`] store.
#[derive(Clone, Debug)]
pub struct Options {
    /// The budget in bytes, for the blocks and for all that is known of them.
    pub memory: u64,
    /// The policy.
    pub policy: Policy,
    /// The cost of reading from the store. Usual is that of a store in the same region: 20 ms to
    /// the first byte, 90 MB/s a connection, 64 connections.
    pub cost: DeviceCost,
    /// For how long an object counts as unchanged. Changes through this store are seen at once.
    pub ttl: Duration,
}

impl Options {
    /// The usual ones: the policy `auto`, and objects that count as unchanged for a second.
    pub fn new(memory: u64) -> Options {
        let cost = DeviceCost::flat(20_000_000, 90_000_000, 64);
        Options { memory, policy: Policy::default(), cost, ttl: Duration::from_secs(1) }
    }
}

/// An object store behind a cache that looks ahead.
///
/// Reads go through the cache. All else goes to the store, and objects that are written, deleted,
/// copied or renamed through this are asked for anew. A read of a version or with extensions goes
/// to the store as well, since the cache has only what is current. Attributes are not cached:
/// [`GetResult::attributes`] is empty.
///
/// It may be used from any runtime: requests run on threads of their own.
pub struct Cached<S> {
    store: Arc<S>,
    tree: Arc<Tree>,
    objects: Arc<Objects<S>>,
}

impl<S: ObjectStore> Cached<S> {
    /// Wraps a store.
    pub fn new(store: S, options: Options) -> std::result::Result<Cached<S>, StartError> {
        let store = Arc::new(store);
        let runtime = runtime::shared().map_err(StartError::Threads)?;
        let source = StoreSource::new(Arc::clone(&store), runtime);
        let engine = Engine::start(Config::new(options.memory, options.policy), vec![options.cost])?;
        let objects = Objects::new(source.clone(), Arc::clone(&engine), options.ttl);
        let branch = Branch { name: None, source: Arc::new(source), device: DeviceId(0) };
        let tree = Tree::new(engine, vec![branch])?;
        Ok(Cached { store, tree: Arc::new(tree), objects: Arc::new(objects) })
    }

    /// The store itself.
    pub fn inner(&self) -> &S {
        &self.store
    }

    /// Tells what will be read next, in order, so that it is fetched ahead. The path of a name is a
    /// location. See `docs/told.md` for lists, and their bounds.
    pub fn hint(
        &self,
        list: &str,
        mode: Mode,
        names: impl IntoIterator<Item = Named>,
    ) -> std::result::Result<(), TellError> {
        self.tree.tell(list, mode, names).map(drop)
    }

    /// The told lists, as JSON.
    pub fn hints(&self) -> String {
        told::report(&self.tree.told())
    }

    /// The counters as JSON, as `forebay stats --json` has them.
    pub fn stats(&self) -> String {
        self.tree.stats()
    }

    /// The reasons as JSON, as `forebay explain --json` has them.
    pub fn explain(&self) -> String {
        self.tree.explain()
    }
}

impl<S: fmt::Display> fmt::Display for Cached<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "forebay over {}", self.store)
    }
}

impl<S: fmt::Debug> fmt::Debug for Cached<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cached").field("store", &self.store).finish_non_exhaustive()
    }
}

/// Whether the caller wants more than the bytes that are current.
fn is_special(options: &GetOptions) -> bool {
    options.version.is_some() || !options.extensions.is_empty()
}

/// Whether the answer depends on the state of the object right now.
fn is_conditional(options: &GetOptions) -> bool {
    let GetOptions { if_match, if_none_match, if_modified_since, if_unmodified_since, .. } = options;
    if_match.is_some() || if_none_match.is_some() || if_modified_since.is_some() || if_unmodified_since.is_some()
}

#[async_trait]
impl<S: ObjectStore> ObjectStore for Cached<S> {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let outcome = self.store.put_opts(location, payload, options).await;
        self.objects.forget(location);
        outcome
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let inner = self.store.put_multipart_opts(location, options).await?;
        Ok(Box::new(Upload { inner, objects: Arc::clone(&self.objects), location: location.clone() }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if is_special(&options) {
            return self.store.get_opts(location, options).await;
        }
        let fresh = options.head || is_conditional(&options);
        let open = if fresh { self.objects.renewed(location).await? } else { self.objects.get(location).await? };
        options.check_preconditions(&open.meta)?;
        let begun = if options.head {
            let meta = open.meta.clone();
            Begun { range: 0..meta.size, meta, pieces: futures::stream::empty().boxed() }
        } else {
            reading::begin(&self.objects, open, options.range.as_ref()).await?
        };
        let Begun { meta, range, pieces } = begun;
        let payload = GetResultPayload::Stream(pieces);
        Ok(GetResult { payload, meta, range, attributes: Attributes::default(), extensions: Default::default() })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let open = self.objects.get(location).await?;
        reading::ranges(&self.objects, open, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let objects = Arc::clone(&self.objects);
        // Before the store is told and after: a read between the two finds either.
        let (before, after) = (Arc::clone(&objects), objects);
        let told = locations.inspect(move |location| location.iter().for_each(|it| before.forget(it)));
        let deleted = self.store.delete_stream(told.boxed());
        deleted.inspect(move |location| location.iter().for_each(|it| after.forget(it))).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let outcome = self.store.copy_opts(from, to, options).await;
        self.objects.forget(to);
        outcome
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        let outcome = self.store.rename_opts(from, to, options).await;
        [from, to].into_iter().for_each(|location| self.objects.forget(location));
        outcome
    }
}

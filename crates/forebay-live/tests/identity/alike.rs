//! A store whose objects are alike in all but their names and bytes.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt};
use object_store::memory::InMemory;
use object_store::path::Path as Key;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// All objects have one time and one tag, or none, as on a server that makes tags of length and
/// time.
#[derive(Debug)]
pub(super) struct AlikeStore {
    objects: Arc<InMemory>,
    tag: Option<&'static str>,
}

impl AlikeStore {
    pub(super) fn new(tag: Option<&'static str>) -> AlikeStore {
        AlikeStore { objects: Arc::default(), tag }
    }

    pub(super) fn put(&self, key: &Key, bytes: Vec<u8>) {
        futures::executor::block_on(self.objects.put(key, bytes.into())).unwrap();
    }

    fn alike(&self, meta: ObjectMeta) -> ObjectMeta {
        let (e_tag, last_modified) = (self.tag.map(str::to_owned), "2026-11-18T12:00:00Z".parse().unwrap());
        ObjectMeta { e_tag, last_modified, version: None, ..meta }
    }
}

impl fmt::Display for AlikeStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AlikeStore")
    }
}

#[async_trait]
impl ObjectStore for AlikeStore {
    async fn put_opts(&self, key: &Key, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.objects.put_opts(key, payload, options).await
    }

    async fn put_multipart_opts(&self, key: &Key, options: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.objects.put_multipart_opts(key, options).await
    }

    /// The tag is the same for all, so `If-Match` always holds.
    async fn get_opts(&self, key: &Key, options: GetOptions) -> Result<GetResult> {
        let result = self.objects.get_opts(key, GetOptions { if_match: None, ..options }).await?;
        let meta = self.alike(result.meta.clone());
        Ok(GetResult { meta, ..result })
    }

    fn delete_stream(&self, keys: BoxStream<'static, Result<Key>>) -> BoxStream<'static, Result<Key>> {
        self.objects.delete_stream(keys)
    }

    fn list(&self, prefix: Option<&Key>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.objects.list(prefix).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Key>) -> Result<ListResult> {
        let mut found = self.objects.list_with_delimiter(prefix).await?;
        found.objects = found.objects.into_iter().map(|meta| self.alike(meta)).collect();
        Ok(found)
    }

    async fn copy_opts(&self, from: &Key, to: &Key, options: CopyOptions) -> Result<()> {
        self.objects.copy_opts(from, to, options).await
    }
}

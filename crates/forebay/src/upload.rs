//! An upload through the cache, which forgets the object that it replaces.

use std::sync::Arc;

use async_trait::async_trait;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, PutPayload, PutResult, Result, UploadPart};

use crate::open::Objects;

pub(crate) struct Upload<S> {
    pub(crate) inner: Box<dyn MultipartUpload>,
    pub(crate) objects: Arc<Objects<S>>,
    pub(crate) location: Path,
}

impl<S> std::fmt::Debug for Upload<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upload").field("inner", &self.inner).field("location", &self.location).finish_non_exhaustive()
    }
}

#[async_trait]
impl<S: ObjectStore> MultipartUpload for Upload<S> {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.inner.put_part(data)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let outcome = self.inner.complete().await;
        self.objects.forget(&self.location);
        outcome
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}

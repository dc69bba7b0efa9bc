//! A source with a tier in front of it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_core::DeviceCost;
use forebay_source::{Attributes, Listed, ListedIn, Listing, Object, Result, Source, Space, Then, TierFigures};

use crate::object::TieredObject;
use crate::tiers::Tiers;

/// A source whose files' blocks are looked for in tiers first, and kept there if they are worth it.
/// Names are the source's own.
#[derive(Clone)]
pub struct TieredSource {
    inner: Arc<dyn Source>,
    tiers: Arc<Tiers>,
}

impl TieredSource {
    /// Tiers in front of a source. Several sources may share them.
    pub fn new(inner: Arc<dyn Source>, tiers: Arc<Tiers>) -> TieredSource {
        TieredSource { inner, tiers }
    }
}

impl Source for TieredSource {
    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn address(&self) -> &Arc<str> {
        self.inner.address()
    }

    fn stat_then(&self, path: &Path, then: Then<Attributes>) {
        self.inner.stat_then(path, then);
    }

    fn list_then(&self, path: &Path, then: Then<Listing>) {
        self.inner.list_then(path, then);
    }

    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>) {
        let tiers = Arc::clone(&self.tiers);
        let tiered = move |inner: Arc<dyn Object>| match tiers.of(inner.identity()) {
            Some((store, of)) => Arc::new(TieredObject::new(inner, Arc::clone(store), of)),
            None => inner,
        };
        self.inner.open_then(path, Box::new(move |inner| then(inner.map(tiered))));
    }

    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>> {
        self.inner.listed(folder, listed)
    }

    fn listed_in<'a>(&'a self, folder: &'a Path) -> ListedIn<'a> {
        self.inner.listed_in(folder)
    }

    fn forget_names(&self, path: &Path) {
        self.inner.forget_names(path);
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf> {
        self.inner.read_link(path)
    }

    fn xattr(&self, path: &Path, name: &OsStr) -> Result<Vec<u8>> {
        self.inner.xattr(path, name)
    }

    fn xattrs(&self, path: &Path) -> Result<Vec<OsString>> {
        self.inner.xattrs(path)
    }

    fn space(&self) -> Result<Space> {
        self.inner.space()
    }

    fn cost(&self) -> Option<DeviceCost> {
        self.inner.cost()
    }

    fn tiers(&self) -> Vec<TierFigures> {
        self.tiers.figures()
    }

    fn members(&self) -> &[Arc<dyn Source>] {
        self.inner.members()
    }
}

//! A folder of which some names never answer.

use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_source::{Attributes, Fetch, Identity, Listed, Listing, Object, Result, Source, Space, Then, Version};
use parking_lot::Mutex;

use crate::folder::Folder;

/// A folder. The beginning of a name says which request for it is never answered: `look` is never
/// found, `list` never listed, `open` never opened, `read` never read.
pub(crate) struct Silent {
    folder: Folder,
    kept: Arc<Kept>,
}

#[derive(Default)]
struct Kept(Mutex<Vec<Box<dyn Any + Send>>>);

impl Kept {
    fn keep(&self, question: impl Send + 'static) {
        self.0.lock().push(Box::new(question));
    }
}

impl Silent {
    pub(crate) fn new(folder: &Path) -> Silent {
        Silent { folder: Folder::new(folder), kept: Arc::default() }
    }
}

fn is(path: &Path, what: &str) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(what.as_bytes()))
}

impl Source for Silent {
    fn describe(&self) -> String {
        self.folder.describe()
    }
    fn address(&self) -> &Arc<str> {
        self.folder.address()
    }
    fn stat_then(&self, path: &Path, then: Then<Attributes>) {
        if is(path, "look") { self.kept.keep(then) } else { self.folder.stat_then(path, then) }
    }
    fn list_then(&self, path: &Path, then: Then<Listing>) {
        if is(path, "list") { self.kept.keep(then) } else { self.folder.list_then(path, then) }
    }
    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>) {
        if is(path, "open") {
            return self.kept.keep(then);
        }
        let kept = is(path, "read").then(|| Arc::clone(&self.kept));
        let opened = |object| match kept {
            Some(kept) => Arc::new(Mute { object, kept }) as Arc<dyn Object>,
            None => object,
        };
        self.folder.open_then(path, Box::new(|object| then(object.map(opened))));
    }
    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>> {
        if is(Path::new(listed.name), "look") { Ok(None) } else { self.folder.listed(folder, listed) }
    }
    fn read_link(&self, path: &Path) -> Result<PathBuf> {
        self.folder.read_link(path)
    }
    fn xattr(&self, path: &Path, name: &OsStr) -> Result<Vec<u8>> {
        self.folder.xattr(path, name)
    }
    fn xattrs(&self, path: &Path) -> Result<Vec<OsString>> {
        self.folder.xattrs(path)
    }
    fn space(&self) -> Result<Space> {
        self.folder.space()
    }
}

/// A file whose bytes never come.
struct Mute {
    object: Arc<dyn Object>,
    kept: Arc<Kept>,
}

impl Object for Mute {
    fn identity(&self) -> &Identity {
        self.object.identity()
    }
    fn version(&self) -> &Version {
        self.object.version()
    }
    fn fetch(&self, fetch: Fetch) {
        self.kept.keep(fetch);
    }
}

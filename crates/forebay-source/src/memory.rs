//! For tests: a source whose files are in memory and hold a known pattern.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::identity::inode_number;
use super::{
    Attributes, Entry, Error, Fetch, Identity, Kind, Listed, Listing, Name, Object, Result, Source, Then, Version,
};

/// Fetches that wait for the test.
pub type Held = Arc<Mutex<Vec<Box<dyn FnOnce() + Send>>>>;

/// Files of equal size by name, all in the root.
#[derive(Clone)]
pub struct MemorySource {
    address: Arc<str>,
    /// In front of names, to make other bytes of them.
    label: String,
    names: Vec<String>,
    size: u64,
    failing: bool,
    held: Option<Held>,
}

/// The bytes of the file `name` from `offset`.
pub fn pattern(name: &str, offset: u64, len: usize) -> Vec<u8> {
    let salt = name.bytes().map(u64::from).sum::<u64>();
    (offset..offset + len as u64).map(|at| ((at / 512).wrapping_mul(31) + at + salt) as u8).collect()
}

impl MemorySource {
    /// Files of those names, of so many bytes each.
    pub fn of(names: &[&str], size: u64) -> MemorySource {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        MemorySource { address: "memory".into(), label: String::new(), names, size, failing: false, held: None }
    }

    /// Gives the files other bytes: those of [`pattern`] for the label and the name.
    pub fn labelled(self, label: &str) -> MemorySource {
        MemorySource { address: format!("memory{label}").into(), label: label.to_owned(), ..self }
    }

    /// Every fetch fails.
    pub fn failing(self) -> MemorySource {
        MemorySource { failing: true, ..self }
    }

    /// Fetches wait until they are taken from the list and called.
    pub fn holding(self) -> (MemorySource, Held) {
        let held = Held::default();
        (MemorySource { held: Some(Arc::clone(&held)), ..self }, held)
    }

    fn identity(&self, path: &Path) -> Identity {
        let version = Version { size: self.size, ..Version::default() };
        Identity { name: Name::path(&self.address, path), version }
    }

    fn name(&self, path: &Path) -> Result<&String> {
        let found = self.names.iter().find(|name| Path::new(name) == path);
        found.ok_or_else(|| Error::NotFound(path.display().to_string()))
    }

    fn attributes(&self, path: &Path) -> Result<Attributes> {
        let root = path.as_os_str().is_empty();
        if !root {
            self.name(path)?;
        }
        let kind = if root { Kind::Folder } else { Kind::File };
        let plain = Attributes::plain(kind, SystemTime::UNIX_EPOCH, self.identity(path));
        Ok(Attributes { mode: 0o444, ..plain })
    }

    fn entries(&self, path: &Path) -> Listing {
        assert!(path.as_os_str().is_empty(), "the root is the only folder");
        let entry = |name: &String| {
            let inode = inode_number(&self.address, Path::new(name));
            Entry { name: name.into(), kind: Kind::File, inode, facts: None }
        };
        self.names.iter().map(entry).collect()
    }

    fn file(&self, path: &Path) -> Result<Arc<dyn Object>> {
        let name = self.name(path)?.clone();
        let (label, identity) = (self.label.clone(), self.identity(path));
        Ok(Arc::new(MemoryObject { label, name, identity, failing: self.failing, held: self.held.clone() }))
    }
}

impl Source for MemorySource {
    fn describe(&self) -> String {
        self.address.to_string()
    }

    fn address(&self) -> &Arc<str> {
        &self.address
    }

    fn stat_then(&self, path: &Path, then: Then<Attributes>) {
        then(self.attributes(path));
    }

    fn list_then(&self, path: &Path, then: Then<Listing>) {
        then(Ok(self.entries(path)));
    }

    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>) {
        then(self.file(path));
    }

    fn listed(&self, folder: &Path, listed: &Listed<'_>) -> Result<Option<Attributes>> {
        self.attributes(&folder.join(listed.name)).map(Some)
    }
}

struct MemoryObject {
    label: String,
    name: String,
    identity: Identity,
    failing: bool,
    held: Option<Held>,
}

impl Object for MemoryObject {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn fetch(&self, mut fetch: Fetch) {
        if self.failing {
            return fetch.finish(Err(Error::Storage { name: self.name.clone(), reason: "told to fail".into() }));
        }
        fetch.buffer.write(0, &pattern(&(self.label.clone() + &self.name), fetch.offset, fetch.len));
        match &self.held {
            Some(held) => held.lock().push(Box::new(move || fetch.finish(Ok(())))),
            None => fetch.finish(Ok(())),
        }
    }
}

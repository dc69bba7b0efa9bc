//! A source in memory with one file, which counts what it is asked for. Each block begins with its
//! number, and the rest is what the memory held.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use forebay_source::{
    Attributes, BLOCK, Fetch, Identity, Kind, Listed, Listing, Name, Object, Result, Source, Then, Version,
};

/// See the file's head. The file has any name.
#[derive(Clone)]
pub(super) struct Stamped {
    address: Arc<str>,
    size: u64,
    asked: Arc<AtomicU64>,
}

impl Stamped {
    pub(super) fn new(size: u64) -> Stamped {
        Stamped { address: "stamped".into(), size, asked: Arc::default() }
    }

    /// The bytes that were asked for since the last call.
    pub(super) fn asked(&self) -> u64 {
        self.asked.swap(0, Ordering::Relaxed)
    }

    fn identity(&self, path: &Path) -> Identity {
        let version = Version { size: self.size, tag: Some("1".into()), ..Version::default() };
        Identity { name: Name::path(&self.address, path), version }
    }
}

impl Source for Stamped {
    fn describe(&self) -> String {
        self.address.to_string()
    }

    fn address(&self) -> &Arc<str> {
        &self.address
    }

    fn stat_then(&self, path: &Path, then: Then<Attributes>) {
        then(Ok(Attributes::plain(Kind::File, SystemTime::UNIX_EPOCH, self.identity(path))));
    }

    fn list_then(&self, _path: &Path, then: Then<Listing>) {
        then(Ok([].into_iter().collect()));
    }

    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>) {
        then(Ok(Arc::new(File { identity: self.identity(path), asked: Arc::clone(&self.asked) })));
    }

    fn listed(&self, _folder: &Path, _listed: &Listed<'_>) -> Result<Option<Attributes>> {
        Ok(None)
    }
}

struct File {
    identity: Identity,
    asked: Arc<AtomicU64>,
}

impl Object for File {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn fetch(&self, mut fetch: Fetch) {
        self.asked.fetch_add(fetch.len as u64, Ordering::Relaxed);
        for first in (0..fetch.len).step_by(BLOCK) {
            fetch.buffer.write(first, &(fetch.offset + first as u64).to_le_bytes());
        }
        fetch.finish(Ok(()));
    }
}

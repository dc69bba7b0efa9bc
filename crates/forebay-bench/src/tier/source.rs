//! A source in memory with one file, which counts what it is asked for. Each block begins with its
//! number, and the rest is what the memory held.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use forebay_source::{
    Attributes, BLOCK, Fetch, Identity, Kind, Listed, Listing, Name, Object, Result, Source, Then, Version,
};
use tokio::runtime::{Builder, Runtime};

/// See the file's head. The file has any name.
#[derive(Clone)]
pub(crate) struct Stamped {
    address: Arc<str>,
    size: u64,
    asked: Arc<AtomicU64>,
    pause: Option<Pause>,
}

/// The time before an answer.
#[derive(Clone)]
struct Pause {
    lasting: Duration,
    clock: Arc<Runtime>,
}

impl Stamped {
    pub(super) fn new(size: u64) -> Stamped {
        Stamped { address: "stamped".into(), size, asked: Arc::default(), pause: None }
    }

    /// One whose answers take so long, side by side.
    pub(crate) fn slow(size: u64, lasting: Duration) -> io::Result<Stamped> {
        let clock = Builder::new_multi_thread().worker_threads(1).enable_time().build()?;
        Ok(Stamped { pause: Some(Pause { lasting, clock: Arc::new(clock) }), ..Stamped::new(size) })
    }

    /// The bytes that were asked for since the last call.
    pub(crate) fn asked(&self) -> u64 {
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
        then(Ok(Arc::new(File {
            identity: self.identity(path),
            asked: Arc::clone(&self.asked),
            pause: self.pause.clone(),
        })));
    }

    fn listed(&self, _folder: &Path, _listed: &Listed<'_>) -> Result<Option<Attributes>> {
        Ok(None)
    }
}

struct File {
    identity: Identity,
    asked: Arc<AtomicU64>,
    pause: Option<Pause>,
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
        match &self.pause {
            None => fetch.finish(Ok(())),
            Some(Pause { lasting, clock }) => {
                let lasting = *lasting;
                clock.spawn(async move {
                    tokio::time::sleep(lasting).await;
                    fetch.finish(Ok(()));
                });
            }
        }
    }
}

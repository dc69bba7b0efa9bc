//! The live engine (skeleton: reads straight through, so that what is built on it can be tried).

use std::sync::Arc;

use forebay_core::{DeviceCost, DeviceId};

use crate::arena::Segments;
use crate::source::{Error, Fetch, Object, Result};

/// What an engine is started with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The budget in bytes, for everything.
    pub memory: u64,
    /// The name of the policy.
    pub policy: String,
}

/// Shared by everything that reads.
#[derive(Debug)]
pub struct Engine {}

impl Engine {
    /// Starts an engine over the devices that its files will lie on.
    pub fn start(_config: Config, _devices: Vec<DeviceCost>) -> Result<Arc<Engine>> {
        Ok(Arc::new(Engine {}))
    }

    /// Makes one version of a file readable. Opening the same version twice shares its blocks.
    pub fn open(self: &Arc<Self>, object: Arc<dyn Object>, _device: DeviceId) -> OpenFile {
        OpenFile { object }
    }

    /// The counters, as they are in `forebay stats --json`.
    pub fn stats_json(&self) -> String {
        "{}".into()
    }
}

/// A file that can be read. Dropping it closes it.
pub struct OpenFile {
    object: Arc<dyn Object>,
}

impl OpenFile {
    /// Its length in bytes.
    pub fn size(&self) -> u64 {
        self.object.version().size
    }

    /// Reads into `buffer`; returns how many bytes there were. `handler` says who reads (a thread id).
    pub fn read(&self, handler: u32, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let (send, receive) = std::sync::mpsc::channel();
        self.read_then(handler, offset, buffer.len(), move |outcome| {
            let _ = send.send(outcome.map(|lease| lease.slices().flatten().copied().collect::<Vec<u8>>()));
        });
        let bytes = receive.recv().map_err(|_| Error::Stale(String::new()))??;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    /// Reads and calls `then` with what was read: at once, on this thread, if everything is in memory, otherwise later on
    /// a thread of the engine.
    pub fn read_then(&self, _handler: u32, offset: u64, len: usize, then: impl FnOnce(Result<Lease>) + Send + 'static) {
        let len = (self.size().saturating_sub(offset) as usize).min(len);
        let start = offset / 4096 * 4096;
        let skip = (offset - start) as usize;
        let done = Box::new(move |buffer: Segments, outcome: Result<()>| {
            then(outcome.map(|()| Lease { bytes: buffer.to_vec()[skip..skip + len].to_vec() }));
        });
        self.object.fetch(Fetch {
            offset: start,
            buffer: Segments::own(skip + len),
            len: skip + len,
            urgent: true,
            done,
        });
    }
}

/// Bytes that were read, held in memory until it is dropped.
pub struct Lease {
    bytes: Vec<u8>,
}

impl Lease {
    /// Bytes in all.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is nothing (the read began at or beyond the end).
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes, in order, in as few pieces as memory allows.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(self.bytes.as_slice())
    }
}

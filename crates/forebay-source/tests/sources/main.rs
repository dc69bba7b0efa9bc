//! Sources against the originals: bytes, names, versions and refusals.

mod amiss;
mod faulty;
mod keys;
mod local;
mod odd;
mod odd_keys;
mod store;
mod striped;
mod web;

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use forebay_source::object::StoreOptions;
use forebay_source::{Fetch, FetchId, Label, Object, Result, Segments, Source};

/// Options of a store that is asked each time: no earlier answer is believed.
pub(crate) fn fresh(connections: usize) -> StoreOptions {
    StoreOptions { connections, ttl: Duration::ZERO, patience: Duration::from_secs(5), ..StoreOptions::default() }
}

/// `len` bytes from `offset`, which is a multiple of the block size.
pub(crate) fn fetch(object: &dyn Object, offset: u64, len: usize) -> Result<Vec<u8>> {
    let (send, receive) = channel();
    let done = Box::new(move |buffer: Segments, outcome: Result<()>| {
        let _ = send.send(outcome.map(|()| buffer.to_vec()));
    });
    let (id, label) = (FetchId::unique(), Label::all(offset..offset + len as u64));
    object.fetch(Fetch { id, offset, buffer: Segments::own(len), len, urgent: true, label, done });
    let mut bytes = receive.recv().expect("every fetch is finished")?;
    bytes.truncate(len);
    Ok(bytes)
}

/// A whole file, in pieces of an odd number of blocks.
pub(crate) fn read_all(source: &dyn Source, path: &Path) -> Result<Vec<u8>> {
    const PIECE: u64 = 37 * 4096;
    let object = source.open(path)?;
    let size = object.version().size;
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < size {
        let len = PIECE.min(size - bytes.len() as u64) as usize;
        bytes.extend(fetch(&*object, bytes.len() as u64, len)?);
    }
    Ok(bytes)
}

/// Waits for a request of a test's own to a store.
pub(crate) fn block_on<T>(request: impl Future<Output = T>) -> T {
    futures::executor::block_on(request)
}

//! One version of a file, with a tier in front of it.

use std::ops::Range;
use std::sync::Arc;

use forebay_core::tier::Run;
use forebay_source::striped::Stripes;
use forebay_source::{BLOCK, Fetch, FetchId, Identity, Object, Result, Segments};

use crate::figures::count;
use crate::fingerprint::Fingerprint;
use crate::gather;
use crate::layout::bytes;
use crate::store::Store;

/// See the file's head.
pub(crate) struct TieredObject(Arc<Tiered>);

/// The object, as fetches under way hold it.
pub(crate) struct Tiered {
    inner: Arc<dyn Object>,
    pub(crate) store: Arc<Store>,
    pub(crate) of: Fingerprint,
}

impl TieredObject {
    pub(crate) fn new(inner: Arc<dyn Object>, store: Arc<Store>, of: Fingerprint) -> TieredObject {
        TieredObject(Arc::new(Tiered { inner, store, of }))
    }
}

impl Tiered {
    /// The blocks of a fetch; `None` if it asks for none that a tier could have.
    fn run(&self, fetch: &Fetch) -> Option<Run> {
        let start = u32::try_from(fetch.offset / BLOCK as u64).ok()?;
        let len = u32::try_from(fetch.len.div_ceil(BLOCK)).ok()?;
        start.checked_add(len)?;
        let whole = fetch.offset.is_multiple_of(BLOCK as u64) && bytes(len) <= fetch.buffer.len();
        (len > 0 && whole).then_some(Run { file: self.of.file(), start, len })
    }

    /// Asks the source, and offers the tier what it brings.
    pub(crate) fn ask(self: &Arc<Tiered>, fetch: Fetch) {
        let (tiered, offset, len) = (Arc::clone(self), fetch.offset, fetch.len);
        let Fetch { id, buffer, urgent, label, done, .. } = fetch;
        count(&self.store.counters.miss_bytes, len);
        let done = move |buffer: Segments, outcome: Result<()>| {
            if outcome.is_ok() {
                tiered.offer(offset, &buffer, len);
            }
            done(buffer, outcome);
        };
        self.inner.fetch(Fetch { id, offset, buffer, len, urgent, label, done: Box::new(done) });
    }

    /// The source has brought bytes: offers the blocks that are whole, or end with the file.
    fn offer(&self, offset: u64, buffer: &Segments, len: usize) {
        let to_end = offset + len as u64 >= self.inner.version().size;
        let blocks = if to_end { len.div_ceil(BLOCK) } else { len / BLOCK };
        let start = offset / BLOCK as u64;
        if let (Ok(start), Ok(blocks)) = (u32::try_from(start), u32::try_from(blocks)) {
            self.store.offer(self.of, Run { file: self.of.file(), start, len: blocks }, buffer, len);
        }
    }
}

impl Object for TieredObject {
    fn identity(&self) -> &Identity {
        self.0.inner.identity()
    }

    fn stripes(&self) -> Option<Stripes> {
        self.0.inner.stripes()
    }

    fn layout(&self) -> Vec<forebay_source::Run> {
        self.0.inner.layout()
    }

    fn fetch(&self, fetch: Fetch) {
        let Some(run) = self.0.run(&fetch) else { return self.0.inner.fetch(fetch) };
        let (lying, missing) = self.0.store.look(run);
        if lying.is_empty() { self.0.ask(fetch) } else { gather::start(&self.0, fetch, lying, missing) }
    }

    fn unread(&self, range: Range<u64>) {
        let block = |byte: u64| u32::try_from(byte.div_ceil(BLOCK as u64)).unwrap_or(u32::MAX);
        let start = block(range.start);
        let run = Run { file: self.0.of.file(), start, len: block(range.end).saturating_sub(start) };
        self.0.store.state.lock().tier.unread(run);
        self.0.inner.unread(range);
    }

    /// Reads from the disk end soon, and are not called off.
    fn call_off(&self, fetch: FetchId) {
        self.0.inner.call_off(fetch);
    }
}

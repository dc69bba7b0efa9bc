//! Whether anybody comes back to a context's blocks: what tells one-shot contexts (AMP §3.1).
//!
//! "If none of the blocks accessed by a context are accessed again after a long time, the detector
//! assigns the one-shot pattern": it is not enough that the context itself does not come back. One
//! list, sampled as those of contexts are, has the blocks of all contexts that do not come back
//! themselves. A block of it is accessed, by whomever: that context's blocks are not one-shot. A
//! block of it was not accessed for a *long time*: it leaves the list as one that nobody came back
//! to. Where there are no such contexts the list is empty and costs nothing.

use super::order::Order;
use super::sample::{Sample, Sampling};

/// The blocks of all contexts.
#[derive(Clone, Debug)]
pub(super) struct Revisits {
    sample: Sample,
    order: Order<Visit>,
    /// How long is long, in accesses to the cache.
    long: u64,
}

/// Who accessed a block last, and when.
#[derive(Clone, Copy, Debug)]
struct Visit {
    by: u32,
    time: u64,
}

impl Revisits {
    /// With this long a time.
    pub(super) fn new(sampling: Sampling, long: u64) -> Revisits {
        Revisits { sample: Sample::new(sampling), order: Order::default(), long }
    }

    pub(super) fn set_long(&mut self, long: u64) {
        self.long = long;
    }

    /// Q: the hash of a block that is looked at is below it.
    pub(super) fn bound(&self) -> u64 {
        self.sample.bound()
    }

    /// Whether there is any block.
    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Somebody accesses a block. Whose was it, if it is in the list? It is no more.
    pub(super) fn come_back(&mut self, block: u64) -> Option<u32> {
        self.order.forget(block).map(|visit| visit.by)
    }

    /// A block is accessed by a context that does not come back itself.
    pub(super) fn leave(&mut self, block: u64, by: u32, time: u64) {
        self.order.access(block, Visit { by, time });
        self.sample.adapt(&mut self.order);
    }

    /// Lets go of a block to which nobody came back for a long time; whose it was.
    pub(super) fn forget_one(&mut self, time: u64) -> Option<u32> {
        let oldest = time.saturating_sub(self.long);
        self.order.forget_oldest(|visit| visit.time < oldest).map(|visit| visit.by)
    }

    /// Some have left.
    pub(super) fn adapt(&mut self) {
        self.sample.adapt(&mut self.order);
    }

    pub(super) fn footprint(&self) -> usize {
        self.order.footprint()
    }
}

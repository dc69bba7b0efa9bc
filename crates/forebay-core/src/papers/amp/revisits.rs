//! Whether any context comes back to another's blocks, which tells one-shot contexts (AMP §3.1).
//!
//! "If none of the blocks accessed by a context are accessed again after a long time, the detector
//! assigns the one-shot pattern": it is not enough that the context itself does not come back. One
//! list, sampled as those of contexts are, has the blocks of all contexts that do not come back
//! themselves. If any context accesses a block of it, the blocks of the context that left it there
//! are not one-shot. If a block of it was not accessed for a *long time*, it leaves the list as one
//! that no context came back to. Without such contexts the list is empty and costs nothing.

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

/// The last access to a block: its context and its time.
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

    /// A block is accessed. If it is in the list, takes it out and returns the context that left it
    /// there.
    pub(super) fn come_back(&mut self, block: u64) -> Option<u32> {
        self.order.forget(block).map(|visit| visit.by)
    }

    /// A block is accessed by a context that does not come back itself.
    pub(super) fn leave(&mut self, block: u64, by: u32, time: u64) {
        self.order.access(block, Visit { by, time });
        self.sample.adapt(&mut self.order);
    }

    /// Takes out a block to which no context came back for a long time; returns the context that
    /// left it there.
    pub(super) fn forget_one(&mut self, time: u64) -> Option<u32> {
        let oldest = time.saturating_sub(self.long);
        self.order.forget_oldest(|visit| visit.time < oldest).map(|visit| visit.by)
    }

    /// Some blocks have left the list.
    pub(super) fn adapt(&mut self) {
        self.sample.adapt(&mut self.order);
    }

    pub(super) fn footprint(&self) -> usize {
        self.order.footprint()
    }
}

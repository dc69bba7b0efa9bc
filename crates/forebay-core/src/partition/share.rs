//! What is known of a partition.

use super::Change;

/// How a partition is classified (SAC §3.1, Fig. 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum State {
    /// "Wait time below the threshold. The wait time is within the normal operating regime."
    #[default]
    Cool,
    /// "Wait time above threshold and increasing."
    Warming,
    /// "Wait time above threshold and decreasing."
    Cooling,
    /// "Wait time above threshold and constant."
    Warm,
}

/// What is known of a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Share {
    /// The desired size in frames. The sizes of all partitions add up to the cache.
    pub size: u32,
    /// Its device's wait time in the last epoch, nanoseconds.
    pub wait: u64,
    /// What its requests of the last epoch cost, by the prices of its device; zero unless that is what counts.
    pub price: u64,
    /// The wait time, or the price, relative to the mean of all devices, in thousandths.
    pub relative: u32,
    /// What that was taken for.
    pub state: State,
    /// Whether its accesses stream through without reuse, so that it may have no pages. Known only where it matters.
    pub streaming: bool,
    /// How its size changed last.
    pub change: Option<Change>,
    /// Its size at the end of the epoch before.
    pub(super) before: u32,
    /// Wait time of the epoch that is under way, nanoseconds.
    pub waiting: u64,
    /// Price of the epoch that is under way, in 2^-20.
    pub(super) billing: u64,
    /// For how many epochs it has been warming, has gained by a page more, or has been streaming.
    pub(super) streak: u32,
    /// How much its relative cost varies by chance: see [`noise`](super::noise).
    pub(super) variance: u64,
    /// What was counted of its device.
    pub(super) counted: Counted,
    /// Of the last epochs, the latest most.
    pub(super) recent: Recent,
}

/// What is counted of a device, over an epoch or since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Counted {
    /// References to blocks that were there.
    pub hits: u64,
    /// References to blocks that readers had to wait for.
    pub misses: u64,
    /// Frames that it has now.
    pub frames: u32,
}

/// Sums over epochs, the latest of which weigh most: see [`aged`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Recent {
    /// Hits and misses of the last epoch alone.
    pub(super) hits: u64,
    pub(super) misses: u64,
    /// Misses and what they cost.
    pub(super) missed: u64,
    pub(super) cost: u64,
}

impl Share {
    /// An epoch is over, of a memory of so many: what it cost, by prices or by waits.
    pub(super) fn close(&mut self, priced: bool, memory: u64) -> u64 {
        self.wait = core::mem::take(&mut self.waiting);
        let billed = core::mem::take(&mut self.billing);
        self.price = billed >> 20;
        let cost = if priced { billed } else { self.wait };
        self.recent.missed = aged(self.recent.missed, memory).saturating_add(self.recent.misses);
        self.recent.cost = aged(self.recent.cost, memory).saturating_add(cost);
        cost
    }

    /// The hits and misses of the last epoch.
    pub(super) fn last(&self) -> (u64, u64) {
        (self.recent.hits, self.recent.misses)
    }

    /// What was counted of its device since the beginning.
    pub(super) fn count(&mut self, now: Counted) {
        self.recent.hits = now.hits.saturating_sub(self.counted.hits);
        self.recent.misses = now.misses.saturating_sub(self.counted.misses);
        self.counted = now;
    }
}

/// What is left of a sum after an epoch, of which each has the part 1 - 1/`memory` of the weight of the next one.
pub(super) fn aged(sum: u64, memory: u64) -> u64 {
    sum - sum.div_ceil(memory)
}

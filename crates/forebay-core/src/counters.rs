//! Feedback: the fate of every block that was referenced or prefetched.

use core::ops::AddAssign;

/// Counts of blocks. Every prefetched block ends as used, late, wasted or called off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Counters {
    /// References to resident blocks.
    pub hits: u64,
    /// References to blocks that were neither resident nor under way.
    pub misses: u64,
    /// References to blocks that another reader's demand was bringing already.
    pub joined: u64,
    /// Blocks fetched before a read asked for them.
    pub prefetched: u64,
    /// Prefetched blocks that were there when they were first referenced.
    pub used: u64,
    /// Prefetched blocks that were still under way when they were first referenced.
    pub late: u64,
    /// Prefetched blocks that were given up unreferenced.
    pub wasted: u64,
    /// Wasted blocks that were wanted after all, soon after.
    pub thrashed: u64,
    /// Prefetched blocks that the device was spared, since no reader needed them any more.
    pub called_off: u64,
    /// Prefetched blocks that a told list names: fetched for it, or kept for it before anybody read
    /// them. They are counted among the
    /// others, too, as are the next two.
    #[cfg_attr(feature = "serde", serde(default))]
    pub hinted: u64,
    /// Of these: used or late.
    #[cfg_attr(feature = "serde", serde(default))]
    pub hints_used: u64,
    /// Of these: wasted.
    #[cfg_attr(feature = "serde", serde(default))]
    pub hints_wasted: u64,
    /// Blocks that arrived.
    pub fetched: u64,
    /// Fetches that were asked for, called off or not.
    pub fetches: u64,
    /// Fetches that failed, and not because they were called off.
    pub failures: u64,
}

impl Counters {
    /// Every reference.
    pub fn references(&self) -> u64 {
        self.hits + self.misses + self.joined + self.late
    }

    /// Prefetched blocks that no told list names and that were referenced.
    pub fn used_untold(&self) -> u64 {
        (self.used + self.late).saturating_sub(self.hints_used)
    }

    /// Prefetched blocks that no told list names and that were given up unreferenced.
    pub fn wasted_untold(&self) -> u64 {
        self.wasted.saturating_sub(self.hints_wasted)
    }

    /// First references to blocks that were not kept from before, fetched ahead or not.
    pub fn unkept(&self) -> u64 {
        self.misses + self.late + self.used
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.joined += other.joined;
        self.prefetched += other.prefetched;
        self.used += other.used;
        self.late += other.late;
        self.wasted += other.wasted;
        self.thrashed += other.thrashed;
        self.called_off += other.called_off;
        self.hinted += other.hinted;
        self.hints_used += other.hints_used;
        self.hints_wasted += other.hints_wasted;
        self.fetched += other.fetched;
        self.fetches += other.fetches;
        self.failures += other.failures;
    }
}

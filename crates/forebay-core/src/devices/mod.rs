//! The engine's measurements of each device.

mod company;

use crate::counters::Counters;
use crate::device::DeviceCost;
use crate::types::Instant;

pub use company::{ALWAYS, Company};

/// A device as the core sees it.
#[derive(Clone, Debug)]
pub struct Device {
    /// The cost of reading from it.
    pub cost: DeviceCost,
    /// D_seek: exponentially weighted mean of seek distances (weight 1/8), bytes. Going on where
    /// the last transfer ended is no seek.
    pub seek_distance: u64,
    /// Fetches under way.
    pub under_way: u32,
    /// Of these: for told lists.
    pub told_under_way: u32,
    /// Frames that hold its blocks or are being filled with them.
    pub frames: u32,
    /// The fate of its blocks.
    pub counters: Counters,
    /// How long a fetch with a prefetched part takes, an exponentially weighted mean (weight 1/8),
    /// nanoseconds; zero before the first. The lead time (SCM §3.2).
    pub lead_time: u64,
    /// How long readers leave it alone after a fetch that one of them waited for: the same mean
    /// with weight 1/16, nanoseconds. Unknown before they needed it twice.
    pub respite: Option<u64>,
    /// Fetches under way that were issued for a reader, and when the last one was over.
    needed: u32,
    served: Option<Instant>,
    pub(crate) head: Option<u64>,
    /// Whether streams find it where they left it.
    pub(crate) company: Company,
}

impl Device {
    /// A device of which only the cost is known.
    pub fn new(cost: DeviceCost) -> Device {
        Device {
            seek_distance: cost.mean_distance(),
            cost,
            under_way: 0,
            told_under_way: 0,
            frames: 0,
            counters: Counters::default(),
            lead_time: 0,
            respite: None,
            needed: 0,
            served: None,
            head: None,
            company: Company::default(),
        }
    }

    /// A reader needs it.
    pub(crate) fn is_needed(&mut self, at: Instant) {
        if let Some(served) = self.served {
            let left = if self.needed > 0 { 0 } else { at.since(served) };
            self.respite = Some(self.respite.map_or(left, |mean| mean - mean / 16 + left / 16));
        }
        self.needed += 1;
    }

    /// A fetch that a reader needed is over.
    pub(crate) fn has_served(&mut self, at: Instant) {
        self.needed = self.needed.saturating_sub(1);
        self.served = Some(at);
    }

    pub(crate) fn took(&mut self, nanoseconds: u64) {
        let mean = self.lead_time;
        self.lead_time = if mean == 0 { nanoseconds } else { mean - mean / 8 + nanoseconds / 8 };
    }

    /// Whether the cost of a switch depends on the distance.
    pub(crate) fn seeks(&self) -> bool {
        self.cost.seek.len() > 1
    }

    /// How many blocks it transfers at `place` in `nanoseconds`, in 1/256.
    pub(crate) fn blocks_in(&self, nanoseconds: u64, place: u64, block_bytes: u32) -> u64 {
        let bytes = u128::from(nanoseconds) * u128::from(self.cost.transfer_rate(place)) / 1_000_000_000;
        u64::try_from(bytes * 256 / u128::from(block_bytes)).unwrap_or(u64::MAX)
    }
}

//! The seam of division: each device has a partition of the cache, and a divider says which
//! partition gives up a frame.

use crate::devices::Device;
use crate::share::{Prospect, Share};
use crate::types::{BlockKey, Instant};

/// A request to a device that is over.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// When.
    pub at: Instant,
    /// Which device.
    pub device: usize,
    /// Nanoseconds that readers waited for it; zero if none did.
    pub nanoseconds: u64,
}

/// Says which partition gives up a frame. Partitions are numbered as devices are. The engine calls
/// it where a frame is wanted or a fetch is over; on a hit, only if the block is in its sample.
pub trait Divider: Send {
    /// The partitions: their sizes add up to the cache.
    fn shares(&self) -> &[Share];

    /// How many epochs are over.
    fn epochs(&self) -> u64;

    /// Whether a partition that has its size gives up a frame before it gets another, even if
    /// frames are free.
    fn keeps_to_sizes(&self) -> bool {
        false
    }

    /// Whether new sizes hold at once: partitions free the frames beyond them for the others.
    fn reallocates(&self) -> bool {
        false
    }

    /// Whether it wants [`referenced`](Self::referenced).
    fn hears_references(&self) -> bool {
        false
    }

    /// Blocks whose hash is below this are in its sample; it need not hear of hits on others.
    fn sample(&self) -> u64 {
        0
    }

    /// A read refers to a block of a device, resident or not.
    fn referenced(&mut self, _device: usize, _key: BlockKey) {}

    /// A request is over. Returns whether sizes have changed.
    fn waited(&mut self, wait: &Wait, devices: &[Device]) -> bool;

    /// A frame is about to be given up. Returns whether sizes have changed.
    fn looks(&mut self, _devices: &[Device]) -> bool {
        false
    }

    /// The partition that gives up a frame for a block of partition `taker`; `None` if it is no
    /// partition's turn.
    fn gives(&mut self, taker: usize, devices: &[Device]) -> Option<usize>;

    /// A partition whose turn it was has no frame that could go. Returns whether to ask again.
    fn has_none(&mut self, _partition: usize) -> bool {
        false
    }

    /// A partition has got a frame.
    fn takes_part(&mut self, _partition: usize) {}

    /// The worth of one block more or fewer to a partition, if the divider measures and knows it.
    fn prospect(&self, _partition: usize) -> Option<Prospect> {
        None
    }

    /// The bytes that it takes.
    fn footprint(&self) -> usize;
}

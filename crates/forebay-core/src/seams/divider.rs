//! The seam of division: whose frame goes where each device has a partition of the cache.

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
    /// For how long readers waited for it, nanoseconds; zero if nobody did.
    pub nanoseconds: u64,
}

/// Whose frame goes. Partitions are numbered as devices are. Called where a frame is wanted or a
/// fetch is over, and on a hit only if the block is in the divider's sample.
pub trait Divider: Send {
    /// The partitions: their sizes add up to the cache.
    fn shares(&self) -> &[Share];

    /// How many epochs are over.
    fn epochs(&self) -> u64;

    /// Whether a partition that has its size gives up a frame of its own before it gets another,
    /// free ones or not.
    fn keeps_to_sizes(&self) -> bool {
        false
    }

    /// Whether new sizes hold at once: what partitions have beyond them is freed for the others.
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

    /// Somebody refers to a block of a device, wherever it is.
    fn referenced(&mut self, _device: usize, _key: BlockKey) {}

    /// A request is over. Says whether sizes have changed.
    fn waited(&mut self, wait: &Wait, devices: &[Device]) -> bool;

    /// A frame is about to be given up. Says whether sizes have changed.
    fn looks(&mut self, _devices: &[Device]) -> bool {
        false
    }

    /// Whose frame goes for a block of partition `taker`; `None` if it is nobody's turn.
    fn gives(&mut self, taker: usize, devices: &[Device]) -> Option<usize>;

    /// A partition whose turn it was has no frame that could go. Says whether to ask again.
    fn has_none(&mut self, _partition: usize) -> bool {
        false
    }

    /// A partition has got a frame.
    fn takes_part(&mut self, _partition: usize) {}

    /// What a block more or fewer is worth to a partition, if that is measured and known.
    fn prospect(&self, _partition: usize) -> Option<Prospect> {
        None
    }

    /// The bytes that it takes.
    fn footprint(&self) -> usize;
}

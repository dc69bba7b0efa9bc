//! The setup of an engine, and the policies that decide in it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::device::DeviceCost;
use crate::partition::Callers;
use crate::seams::{Divider, Loops, Placement, Prefetcher, Reclaimer};

/// The sizes and devices of an engine.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Setup {
    /// Frames with a buffer.
    pub frames: u32,
    /// Bytes in a block, a power of two.
    pub block_bytes: u32,
    /// Streams that are known at a time.
    pub streams: u32,
    /// The devices, by number.
    pub devices: Vec<DeviceCost>,
    /// The fate of blocks that were referenced.
    #[cfg_attr(feature = "serde", serde(default))]
    pub referenced: Referenced,
}

impl Setup {
    /// At least one frame and one device, and a block of a power of two, whatever it says.
    #[must_use]
    pub fn sound(mut self) -> Setup {
        self.frames = self.frames.max(1);
        self.block_bytes = self.block_bytes.next_power_of_two();
        if self.devices.is_empty() {
            self.devices.push(DeviceCost::flat(0, 0, 1));
        }
        self
    }
}

/// The fate of a block that was referenced. CPEM §4.1 moves a page that is read from the
/// prefetch cache to the kernel's own list; a driver whose readers keep what they are given can
/// have that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Referenced {
    /// Its frame is kept under the replacement policy.
    #[default]
    Kept,
    /// The reader keeps it (the kernel, in its page cache). Its frame is free once no read holds
    /// it, and frames hold only blocks under way, or prefetched and unread. A second request for
    /// such a block is a miss like any other: the reader's side has dropped it.
    HandedOn,
}

impl Referenced {
    /// How much of memory may be prefetched and unread where nothing else is kept, in per cent; the
    /// rest is for what readers miss.
    pub(crate) const ALL_BUT_A_TENTH: u8 = 90;

    /// The most frames, of `frames`, that all streams together should have prefetched and not yet
    /// read, without a prefetch cache. If frames are kept: a third. A block that was prefetched A
    /// blocks ahead waits while A others are used and as many arrive, all of them more recent than
    /// it, and up to A frames are being filled. With more than a third it would be thrown out just
    /// before its use (CPEM §2.3).
    pub(super) fn room(self, frames: u32) -> u32 {
        match self {
            Referenced::Kept => frames / 3,
            Referenced::HandedOn => (u64::from(frames) * u64::from(Referenced::ALL_BUT_A_TENTH) / 100) as u32,
        }
    }
}

/// The policies of an engine, by seam.
pub struct Seats {
    /// How much is fetched for a stream, and when.
    pub prefetcher: Box<dyn Prefetcher>,
    /// Which prefetched frame is given up, if they are kept apart from the rest.
    pub reclaimer: Option<Box<dyn Reclaimer>>,
    /// The choice of the device that gives a frame, if the cache is divided among devices.
    pub divider: Option<Box<dyn Divider>>,
    /// Whether contexts have partitions.
    pub contexts: Option<ContextSeat>,
}

impl Seats {
    /// A prefetcher, and nobody else.
    pub fn of(prefetcher: Box<dyn Prefetcher>) -> Seats {
        Seats { prefetcher, reclaimer: None, divider: None, contexts: None }
    }
}

/// Program contexts whose loops have partitions.
pub struct ContextSeat {
    /// The callers, and where their blocks go.
    pub callers: Callers,
    /// The loops of each partition of the cache.
    pub loops: Loops,
    /// The last word of where blocks of each partition go; none if contexts have it.
    pub placements: Vec<Box<dyn Placement>>,
}

//! The seam of placement: whether blocks go where their context says, in one partition of the cache
//! (past AMP, whose paper has no such question).

use crate::explain::Duel;
use crate::frames::Slot;
use crate::random::Random;
use crate::types::BlockKey;

use super::contexts::{Access, Place};

/// How a block is used that is resident.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Again, or for the first time if it was demanded.
    Hit,
    /// For the first time since it was prefetched.
    First,
    /// By somebody who does not want it for himself, but passes it on.
    Passed,
}

/// Who has the last word of where blocks of a partition go. Called on misses; on a hit only if the
/// block is in its sample, or if it [wants to](Self::hears_uses).
pub trait Placement: Send {
    /// Blocks whose hash is below this are in its sample.
    fn sample(&self) -> u64 {
        0
    }

    /// Whether blocks of loops go to their partitions for now. Else they are the default policy's.
    fn has_loops(&self) -> bool;

    /// Whether it wants to hear of every use ([`used`](Self::used)) for now.
    fn hears_uses(&self) -> bool {
        false
    }

    /// A block of its sample is accessed, while the partition has so many frames. Says whether what
    /// that costs is to be [told](Self::charged).
    fn heard(&mut self, _key: BlockKey, _access: &Access, _frames: &dyn Fn() -> u32) -> bool {
        false
    }

    /// The access of which it heard last is waited for as long as the transfer of a block, and of
    /// so many more for its part of a switch, if it is a miss.
    fn charged(&mut self, _switch: u32) {}

    /// It is this virtual time.
    fn is(&mut self, _now: u64) {}

    /// Where a block goes that comes in.
    fn of_new(&mut self, key: BlockKey, place: Place, random: &mut Random) -> Place;

    /// Where a block goes that is used; `None` if it stays where it is.
    fn of_used(&self, place: Place, how: Use) -> Option<Place>;

    /// The block of a slot is used, or comes in.
    fn used(&mut self, _slot: Slot) {}

    /// There was no free frame.
    fn is_full(&mut self) {}

    /// The default policy has given up the block of a slot.
    fn given_up(&mut self, _slot: Slot) {}

    /// So many dropped blocks wait for a while before their frames are as good as free.
    fn waiting(&self) -> u32 {
        0
    }

    /// The partition is meant to have so many frames from now on.
    fn resized(&mut self, _frames: u32) {}

    /// What it goes by, for whoever asks why.
    fn explain(&self) -> Option<Duel> {
        None
    }

    /// The bytes that it takes.
    fn footprint(&self) -> usize;
}

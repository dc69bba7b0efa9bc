//! The seam of placement: whether blocks go where their context says, in one partition of the cache
//! (past AMP, whose paper does not ask this).

use crate::explain::Duel;
use crate::frames::Slot;
use crate::random::Random;
use crate::types::BlockKey;

use super::contexts::{Access, Place};

/// How a resident block is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Again, or for the first time if it was demanded.
    Hit,
    /// For the first time since it was prefetched.
    First,
    /// By a request of a level above whose readers do not want it yet.
    Passed,
}

/// References of a sample that differ in memory and in a small cache that has the default policy
/// alone, and nothing ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Memory had the block, or it was under way, and the small cache missed it.
    pub gained: u64,
    /// Memory missed it, and the small cache had it.
    pub lost: u64,
}

/// The last word on where blocks of a partition go. The engine calls it on misses; on a hit, only
/// if the block is in its sample or it [wants to](Self::hears_uses).
pub trait Placement: Send {
    /// Blocks whose hash is below this are in its sample.
    fn sample(&self) -> u64 {
        0
    }

    /// Whether blocks of loops go to their partitions for now; otherwise the default policy has
    /// them.
    fn has_loops(&self) -> bool;

    /// Whether it wants to hear of every use ([`used`](Self::used)) for now.
    fn hears_uses(&self) -> bool {
        false
    }

    /// A block of its sample is accessed; `frames` gives the partition's number of frames,
    /// `is_there` whether memory has the block or it is under way. Returns whether the cost of the
    /// access is to be [told](Self::charged).
    fn heard(
        &mut self,
        _key: BlockKey,
        _access: &Access,
        _frames: &dyn Fn() -> u32,
        _is_there: &dyn Fn() -> bool,
    ) -> bool {
        false
    }

    /// How its sample fares in memory, beside the default policy alone.
    fn tally(&self) -> Tally {
        Tally::default()
    }

    /// The cost of the access that it [heard](Self::heard) last, if that is a miss: the transfer of
    /// one block, and of `switch` blocks more for its part of a switch. If the default policy gets
    /// blocks back by that which others had placed, it
    /// [begins anew](crate::replacement::Replacement::begin_anew), with the returned balance.
    fn charged(&mut self, _switch: u32) -> Option<u32> {
        None
    }

    /// Sets the virtual time.
    fn set_time(&mut self, _now: u64) {}

    /// Where a new block goes.
    fn of_new(&mut self, key: BlockKey, place: Place, random: &mut Random) -> Place;

    /// Where a used block goes; `None` if it stays where it is.
    fn of_used(&self, place: Place, how: Use) -> Option<Place>;

    /// The block of a slot comes in.
    fn comes(&mut self, _slot: Slot) {}

    /// The block of a slot is used; `waits` says whether that is a hit of a dropped one.
    fn used(&mut self, _slot: Slot, _waits: bool) {}

    /// There was no free frame.
    fn fill(&mut self) {}

    /// The default policy has given up the block of a slot.
    fn given_up(&mut self, _slot: Slot) {}

    /// How many dropped blocks still wait before their frames are as good as free.
    fn waiting(&self) -> u32 {
        0
    }

    /// The partition is to have `frames` frames from now on.
    fn resized(&mut self, _frames: u32) {}

    /// The figures that it goes by, for [`explain`](crate::explain).
    fn explain(&self) -> Option<Duel> {
        None
    }

    /// The bytes that it takes.
    fn footprint(&self) -> usize;
}

//! The seam of reclaim: which prefetched, unreferenced frame is given up, and how many there may
//! be.
//!
//! Without a reclaimer prefetched frames live among the rest, under the replacement policy. With
//! one they live in a queue of their own, the list `UNREAD`, until somebody refers to them.

use alloc::vec::Vec;

use crate::explain;
use crate::frames::{Frames, Slot};
use crate::history::Was;
use crate::types::{HandlerId, Instant};

/// Who could share what may be ahead.
#[derive(Clone, Copy, Debug)]
pub struct Sharers {
    /// Files that are open, one that several have open counted as often.
    pub open_files: u32,
    /// Streams that go on, and those whose readers may be waiting for the processor.
    pub streams: u32,
}

/// Below what no page has to go.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Among how many it is shared.
    pub sharers: u32,
    /// Frames beyond the room that nobody else would miss.
    pub spare: u32,
}

/// What becomes of prefetched frames that nobody has referred to. Called on misses and with
/// fetches, never on a hit.
pub trait Reclaimer: Send {
    /// How many pages it has, those under way included.
    fn len(&self, frames: &Frames) -> u32;

    /// Pages that are under way.
    fn under_way(&self) -> u32;

    /// How many pages so many `sharers` may have together.
    fn room(&self, sharers: u32) -> u32;

    /// Among how many that is shared: N_stream of CPEM §4.2.
    fn sharers(&self, sharers: &Sharers) -> u32;

    /// Of a switch that is worth the transfer of `depth` blocks: what it is worth if each of them
    /// pays for the memory that it takes, too.
    fn worth_a_switch(&self, depth: u32) -> u32 {
        depth
    }

    /// Whether blocks that nobody read have a history of their own, so that they do not drive out
    /// what was read.
    fn tells_histories_apart(&self) -> bool {
        false
    }

    /// A handler was seen running, or reads.
    fn ran(&mut self, handler: HandlerId, at: Instant);

    /// A handler is gone.
    fn exited(&mut self, handler: HandlerId);

    /// Appends handlers whose running and exiting matters, in order, behind `after`, at most so
    /// many.
    fn in_question(&self, after: HandlerId, most: usize, out: &mut Vec<HandlerId>);

    /// A fetch of a handler is issued.
    fn fetches(&mut self, handler: HandlerId, at: Instant);

    /// A fetch of a handler is over, and its pages have entered.
    fn fetched(&mut self, handler: HandlerId);

    /// A page is prefetched: a frame is being filled with it.
    fn awaits(&mut self);

    /// A page that was under way arrived, was referenced meanwhile, or does not come.
    fn awaits_no_longer(&mut self);

    /// A page enters that a handler had prefetched at some time.
    fn enters(&mut self, frames: &mut Frames, slot: Slot, handler: HandlerId, prefetched: Instant);

    /// A page leaves, to wherever the caller puts it.
    fn leaves(&mut self, frames: &Frames, slot: Slot);

    /// A block is missed that went a short while ago, and what it was then.
    fn missed(&mut self, was: Was);

    /// A page of memory is wanted for another block. Returns whether
    /// [`deepest`](Self::deepest) is to be said anew.
    fn wanted(&mut self, frames: &Frames, now: Instant) -> bool;

    /// On the device where it is worth most, a switch is worth so many blocks; and how many
    /// requests that device serves at once.
    fn deepest(&mut self, _depth: u32, _channels: u32) {}

    /// A page that has to go to the replacement policy, and has left; `None` if none has.
    fn gives_up(&mut self, frames: &mut Frames, limits: Limits, now: Instant) -> Option<Slot>;

    /// Takes out a page that nobody holds, though none has to go. `None` if all are held.
    fn evicts(&mut self, frames: &mut Frames, now: Instant) -> Option<Slot>;

    /// Where it stands, for whoever asks.
    fn explain(&self, frames: &Frames) -> explain::Cache;

    /// How many of its pages name the handler that prefetched them.
    fn marked(&self) -> u32;

    /// The bytes of bookkeeping.
    fn footprint(&self) -> usize;
}

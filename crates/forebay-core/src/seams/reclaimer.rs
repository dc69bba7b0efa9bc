//! The seam of reclaim: which prefetched, unreferenced frame is given up, and how many there may
//! be.
//!
//! Without a reclaimer prefetched frames live among the rest, under the replacement policy. With
//! one they live in a queue of their own, the list `UNREAD`, until a read refers to them.

use alloc::vec::Vec;

use crate::explain;
use crate::frames::{Frames, Slot};
use crate::history::Was;
use crate::types::{HandlerId, Instant};

/// The files and streams that could share the room for blocks ahead.
#[derive(Clone, Copy, Debug)]
pub struct Sharers {
    /// Open files, each counted once for every handle.
    pub open_files: u32,
    /// Streams that go on, and those whose readers may be waiting for the processor.
    pub streams: u32,
}

/// The limits below which no page has to go.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many share the room.
    pub sharers: u32,
    /// Frames beyond the room that no other block needs.
    pub spare: u32,
}

/// Decides on prefetched frames that no read has referred to. The engine calls it on misses and
/// with fetches, never on a hit.
pub trait Reclaimer: Send {
    /// How many pages it has, those under way included.
    fn len(&self, frames: &Frames) -> u32;

    /// Pages that are under way.
    fn under_way(&self) -> u32;

    /// How many pages `sharers` sharers may have together.
    fn room(&self, sharers: u32) -> u32;

    /// How many share that: N_stream of CPEM §4.2.
    fn sharers(&self, sharers: &Sharers) -> u32;

    /// A switch is worth the transfer of `depth` blocks. Returns its worth if each block also pays
    /// for the memory that it takes.
    fn worth_a_switch(&self, depth: u32) -> u32 {
        depth
    }

    /// Whether unread blocks have an eviction history of their own, so that they do not drive out
    /// read ones.
    fn tells_histories_apart(&self) -> bool {
        false
    }

    /// A handler was seen running, or reads.
    fn ran(&mut self, handler: HandlerId, at: Instant);

    /// A handler is gone.
    fn exited(&mut self, handler: HandlerId);

    /// Appends at most `most` handlers whose running and exiting matters, in order, behind `after`.
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

    /// A page leaves; the caller puts it elsewhere.
    fn leaves(&mut self, frames: &Frames, slot: Slot);

    /// A block that was evicted a short while ago is missed; `was` is its state at the eviction.
    fn missed(&mut self, was: Was);

    /// A page of memory is wanted for another block. Returns whether [`deepest`](Self::deepest) is
    /// to be called again.
    fn wanted(&mut self, frames: &Frames, now: Instant) -> bool;

    /// Sets the worth of a switch, in blocks, on the device where it is largest, and how many
    /// requests that device serves at once.
    fn deepest(&mut self, _depth: u32, _channels: u32) {}

    /// Takes out a page that has to go to the replacement policy; `None` if none has to.
    fn gives_up(&mut self, frames: &mut Frames, limits: Limits, now: Instant) -> Option<Slot>;

    /// Takes out a page that no reader holds, though none has to go. `None` if all are held.
    fn evicts(&mut self, frames: &mut Frames, now: Instant) -> Option<Slot>;

    /// Its state, for [`explain`].
    fn explain(&self, frames: &Frames) -> explain::Cache;

    /// How many of its pages name the handler that prefetched them.
    fn marked(&self) -> u32;

    /// The bytes of bookkeeping.
    fn footprint(&self) -> usize;
}

//! The prefetch cache (CPEM §4.1), if the policy has one: prefetched frames that nobody has
//! referred to, kept apart from the rest until somebody does, or the reclaimer gives them up. And
//! the history of evictions, by which a miss is known as one on a block that went unread.

use alloc::boxed::Box;

use crate::frames::{Frames, Slot, UNREAD};
use crate::history::{EvictionHistory, Was};
use crate::inflight::Fetch;
use crate::seams::{Limits, Reclaimer, Sharers};
use crate::types::{BlockKey, HandlerId, Instant};

/// The reclaimer of prefetched frames, and the history of those that went. The policy is behind
/// [`Reclaimer`]: this only asks it. The steps reach it by `Memory::unread`.
pub(in crate::engine) struct Unread {
    reclaimer: Option<Box<dyn Reclaimer>>,
    history: EvictionHistory,
}

impl Unread {
    /// An empty one, of a cache of so many frames.
    pub(super) fn new(reclaimer: Option<Box<dyn Reclaimer>>, frames: u32) -> Unread {
        let history = match &reclaimer {
            Some(reclaimer) if reclaimer.tells_histories_apart() => EvictionHistory::apart(frames),
            _ => EvictionHistory::new(frames),
        };
        Unread { reclaimer, history }
    }

    /// The reclaimer, if prefetched frames are kept apart.
    pub(super) fn reclaimer(&self) -> Option<&dyn Reclaimer> {
        self.reclaimer.as_deref()
    }

    /// Whether prefetched frames are kept apart.
    pub(super) fn is_kept(&self) -> bool {
        self.reclaimer.is_some()
    }

    /// A handler was seen running, or reads.
    pub(in crate::engine) fn ran(&mut self, handler: HandlerId, now: Instant) {
        if let Some(reclaimer) = &mut self.reclaimer {
            reclaimer.ran(handler, now);
        }
    }

    /// A handler is gone.
    pub(in crate::engine) fn exited(&mut self, handler: HandlerId) {
        if let Some(reclaimer) = &mut self.reclaimer {
            reclaimer.exited(handler);
        }
    }

    /// A fetch of a handler is issued.
    pub(in crate::engine) fn fetches(&mut self, handler: HandlerId, at: Instant) {
        if let Some(reclaimer) = &mut self.reclaimer {
            reclaimer.fetches(handler, at);
        }
    }

    /// A fetch of a handler is over, and its pages have entered.
    pub(in crate::engine) fn fetched(&mut self, handler: HandlerId) {
        if let Some(reclaimer) = &mut self.reclaimer {
            reclaimer.fetched(handler);
        }
    }

    /// A miss on a block that went a short while ago, and what it was then: thrashing if nobody had
    /// read it. The ceiling learns of both kinds.
    pub(in crate::engine) fn missed(&mut self, key: BlockKey) -> Option<Was> {
        let was = self.history.missed(key)?;
        if let Some(reclaimer) = &mut self.reclaimer {
            reclaimer.missed(was);
        }
        Some(was)
    }

    /// A block has gone that nobody had read, or somebody. Without a reclaimer nobody asks for the
    /// latter.
    pub(in crate::engine) fn went(&mut self, key: BlockKey, was: Was) {
        if was == Was::Unread || self.reclaimer.is_some() {
            self.history.evicted(key, was);
        }
    }

    /// A frame is being filled with a page that is prefetched.
    pub(super) fn awaits(&mut self) {
        if let Some(reclaimer) = &mut self.reclaimer {
            reclaimer.awaits();
        }
    }

    /// A page that was under way was referenced meanwhile, or does not come.
    pub(super) fn awaits_no_longer(&mut self) {
        if let Some(reclaimer) = &mut self.reclaimer {
            reclaimer.awaits_no_longer();
        }
    }

    /// A page has arrived that a fetch brought ahead. `false` if it is not kept apart.
    pub(super) fn enters(&mut self, frames: &mut Frames, slot: Slot, fetch: &Fetch) -> bool {
        let Some(reclaimer) = &mut self.reclaimer else { return false };
        reclaimer.awaits_no_longer();
        reclaimer.enters(frames, slot, fetch.handler, fetch.issued);
        true
    }

    /// A page leaves, to wherever the caller puts it.
    pub(super) fn leaves(&mut self, frames: &Frames, slot: Slot) {
        if let Some(reclaimer) = &mut self.reclaimer {
            reclaimer.leaves(frames, slot);
        }
    }

    /// A frame is wanted for another block. Whether what a switch is worth is to be
    /// [said](Self::deepest) anew.
    pub(super) fn is_wanted(&mut self, frames: &Frames, now: Instant) -> bool {
        self.reclaimer.as_mut().is_some_and(|reclaimer| reclaimer.wanted(frames, now))
    }

    /// [`Reclaimer::deepest`].
    pub(super) fn deepest(&mut self, depth: u32, channels: u32) {
        if let Some(reclaimer) = &mut self.reclaimer {
            reclaimer.deepest(depth, channels);
        }
    }

    /// A page that has to go to the replacement policy, and has left; `None` if none has.
    pub(super) fn gives_up(&mut self, frames: &mut Frames, limits: Limits, now: Instant) -> Option<Slot> {
        self.reclaimer.as_mut()?.gives_up(frames, limits, now)
    }

    /// Takes out a page that nobody holds, though none has to go. `None` if all are held.
    pub(super) fn evicts(&mut self, frames: &mut Frames, now: Instant) -> Option<Slot> {
        match &mut self.reclaimer {
            Some(reclaimer) => reclaimer.evicts(frames, now),
            None => frames.unpinned_from_back(UNREAD),
        }
    }

    /// N_stream (CPEM §4.2): among how many what may be ahead is shared. Without a prefetch cache
    /// only those share it that are active.
    pub(super) fn sharers(&self, all: &Sharers, active: u32) -> u32 {
        self.reclaimer.as_ref().map_or(active, |reclaimer| reclaimer.sharers(all)).max(1)
    }

    /// Of a switch that is worth the transfer of `depth` blocks: what it is worth if each of them
    /// pays for the memory that it takes, too.
    pub(super) fn worth_a_switch(&self, depth: u32) -> u32 {
        self.reclaimer.as_ref().map_or(depth, |reclaimer| reclaimer.worth_a_switch(depth))
    }

    /// The bytes of bookkeeping.
    pub(super) fn footprint(&self) -> usize {
        self.history.footprint() + self.reclaimer.as_ref().map_or(0, |reclaimer| reclaimer.footprint())
    }
}

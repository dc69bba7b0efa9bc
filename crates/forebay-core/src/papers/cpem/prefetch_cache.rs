//! The prefetch cache (CPEM §4.1), "to manage prefetched but not-yet-referenced pages".
//!
//! "Pages in the prefetch cache are organized in a FIFO queue. Prefetched pages are initially
//! attached to the tail of the queue." "When a page is referenced, it is moved from the prefetch
//! cache to the kernel's inactive LRU list and is thereafter controlled by the kernel's default
//! page reclamation policy." "Pages are evicted from the prefetch cache when the number of pages in
//! the cache exceeds the prefetch cache size ceiling", and then by second chance.

use alloc::vec::Vec;

use super::ceiling::Ceiling;
use super::second_chance::{Fate, Marks};
use crate::explain;
use crate::frames::{Frames, Slot, UNREAD};
use crate::history::Was;
use crate::seams::{Limits, Reclaimer, Sharers};
use crate::types::{HandlerId, Instant};

/// The settings of a prefetch cache. The default is the paper's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// The ceiling at the beginning, in per cent of memory.
    pub start: u8,
    /// Milliseconds of an epoch; zero: the ceiling stays where it begins.
    pub epoch_ms: u32,
    /// A handler that has run more than this many milliseconds after its prefetch has had
    /// "significant opportunity" to reference the page. The paper gives no number; a time slice of
    /// Linux 2.6 has 100.
    pub opportunity_ms: u32,
    /// The seed of the direction of the first step.
    pub seed: u32,
}

impl Settings {
    /// The paper's.
    pub const PAPER: Settings = Settings { start: 25, epoch_ms: 4000, opportunity_ms: 100, seed: 1 };
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::PAPER
    }
}

/// The prefetch cache. Its pages are in the list [`UNREAD`], the head of the queue at the back.
#[derive(Clone, Debug)]
pub struct PrefetchCache {
    /// Which handler prefetched which page, and when.
    pub marks: Marks,
    /// The size ceiling.
    pub ceiling: Ceiling,
    /// Prefetched frames that are still being filled: pages of the cache as well.
    under_way: u32,
}

impl PrefetchCache {
    /// An empty prefetch cache.
    pub fn new(frames: u32, settings: Settings) -> PrefetchCache {
        let marks = Marks::new(frames, settings.opportunity_ms);
        PrefetchCache { marks, ceiling: Ceiling::new(frames, settings), under_way: 0 }
    }

    /// How many pages it has, those under way included.
    pub fn len(&self, frames: &Frames) -> u32 {
        frames.len(UNREAD) + self.under_way
    }

    /// Pages that are under way.
    pub fn under_way(&self) -> u32 {
        self.under_way
    }

    /// A page is prefetched: a frame is being filled with it.
    pub fn awaits(&mut self) {
        self.under_way += 1;
    }

    /// A page that was under way arrived, was referenced meanwhile, or does not come.
    pub fn awaits_no_longer(&mut self) {
        self.under_way -= 1;
    }

    /// A page enters at the tail. `place` is its handler's, enlisted.
    pub fn enter(&mut self, frames: &mut Frames, slot: Slot, place: u32, prefetched: Instant) {
        self.marks.mark(frames.frame(slot).index(), place, prefetched);
        frames.move_to_front(slot, UNREAD);
    }

    /// A page leaves; the caller puts it elsewhere.
    pub fn leave(&mut self, frames: &Frames, slot: Slot) {
        self.marks.invalidate(frames.frame(slot).index());
    }

    /// Takes out and returns the page at the head, if it has to go to the replacement policy. A
    /// page that gets a second chance goes to the tail, and the next one is looked at. `None` if no
    /// page has to go.
    ///
    /// Below `room` only abandoned pages go, so that none stays for ever, and pages passed over
    /// that were prefetched before `stale` (past the paper).
    pub fn reclaim(&mut self, frames: &mut Frames, room: u32, stale: Option<Instant>, now: Instant) -> Option<Slot> {
        while let Some(slot) = frames.back(UNREAD) {
            let over = self.len(frames) > room;
            let frame = frames.frame(slot).index();
            match self.marks.judge(frame, now) {
                Fate::Abandoned => {
                    self.leave(frames, slot);
                    return Some(slot);
                }
                Fate::PassedOver if over || stale.is_some_and(|stale| self.marks.is_older(frame, stale)) => {
                    self.leave(frames, slot);
                    return Some(slot);
                }
                Fate::SecondChance if over => {
                    self.leave(frames, slot);
                    frames.move_to_front(slot, UNREAD);
                }
                Fate::PassedOver | Fate::SecondChance => return None,
            }
        }
        None
    }

    /// Takes out a page that no reader holds, though there are not too many. Below the ceiling,
    /// too, pages of handlers that have exited go first, then those that had their second chance,
    /// in the order of the queue. `None` if all are held.
    pub fn evict(&mut self, frames: &mut Frames, now: Instant) -> Option<Slot> {
        for _ in 0..frames.len(UNREAD) {
            let slot = frames.back(UNREAD)?;
            let held = frames.pins(slot) > 0;
            if !held {
                let fate = self.marks.judge(frames.frame(slot).index(), now);
                self.leave(frames, slot);
                if fate != Fate::SecondChance {
                    return Some(slot);
                }
            }
            frames.move_to_front(slot, UNREAD);
        }
        let slot = frames.unpinned_from_back(UNREAD)?;
        self.leave(frames, slot);
        Some(slot)
    }

    /// Its state, for [`explain`].
    pub fn explain(&self, frames: &Frames) -> explain::Cache {
        let ceiling = &self.ceiling;
        explain::Cache {
            ceiling: ceiling.blocks(),
            unread: self.len(frames),
            unit: ceiling.unit(),
            walk: ceiling.walk(),
        }
    }

    /// The bytes of bookkeeping.
    pub fn footprint(&self) -> usize {
        self.marks.footprint()
    }
}

impl Reclaimer for PrefetchCache {
    fn len(&self, frames: &Frames) -> u32 {
        PrefetchCache::len(self, frames)
    }

    fn under_way(&self) -> u32 {
        PrefetchCache::under_way(self)
    }

    fn room(&self, _streams: u32) -> u32 {
        self.ceiling.blocks()
    }

    /// "We approximate N_stream with the total number of opened files in user level processes"
    /// (CPEM §4.2).
    fn sharers(&self, sharers: &Sharers) -> u32 {
        sharers.open_files
    }

    fn ran(&mut self, handler: HandlerId, at: Instant) {
        self.marks.ran(handler, at);
    }

    fn exited(&mut self, handler: HandlerId) {
        self.marks.exited(handler);
    }

    fn in_question(&self, after: HandlerId, most: usize, out: &mut Vec<HandlerId>) {
        self.marks.in_question(after, most, out);
    }

    fn fetches(&mut self, handler: HandlerId, at: Instant) {
        self.marks.awaits(handler, at);
    }

    fn fetched(&mut self, handler: HandlerId) {
        self.marks.awaits_no_longer(handler);
    }

    fn awaits(&mut self) {
        PrefetchCache::awaits(self);
    }

    fn awaits_no_longer(&mut self) {
        PrefetchCache::awaits_no_longer(self);
    }

    fn enters(&mut self, frames: &mut Frames, slot: Slot, handler: HandlerId, prefetched: Instant) {
        let place = self.marks.enlist(handler, prefetched);
        self.enter(frames, slot, place, prefetched);
    }

    fn leaves(&mut self, frames: &Frames, slot: Slot) {
        self.leave(frames, slot);
    }

    fn missed(&mut self, _was: Was) {
        self.ceiling.missed();
    }

    fn wanted(&mut self, _frames: &Frames, now: Instant) -> bool {
        self.ceiling.look(now);
        false
    }

    fn gives_up(&mut self, frames: &mut Frames, limits: Limits, now: Instant) -> Option<Slot> {
        self.reclaim(frames, self.ceiling.blocks().saturating_add(limits.spare), None, now)
    }

    fn evicts(&mut self, frames: &mut Frames, now: Instant) -> Option<Slot> {
        self.evict(frames, now)
    }

    fn explain(&self, frames: &Frames) -> explain::Cache {
        PrefetchCache::explain(self, frames)
    }

    fn marked(&self) -> u32 {
        self.marks.marked()
    }

    fn footprint(&self) -> usize {
        PrefetchCache::footprint(self)
    }
}

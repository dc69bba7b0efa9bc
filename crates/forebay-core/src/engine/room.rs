//! Step 6 of a read: room for a block, from the prefetch cache and the replacement policy (CPEM §4.1).

use super::Engine;
use crate::event::Actions;
use crate::frames::{FREE, Slot, UNREAD, flag};
use crate::index::Index;
use crate::replacement::{Class, Replacement};

impl<R: Replacement, I: Index> Engine<R, I> {
    /// Sees to it that a frame is free. `None` if every frame is held.
    pub(super) fn make_room(&mut self, class: Class, out: &mut Actions) -> Option<()> {
        if self.directory.frames.len(FREE) > 0 {
            return Some(());
        }
        self.shrink_prefetch_cache();
        let victim = match self.replacement.victim(&mut self.directory, class) {
            Some(victim) => victim,
            None => self.evict_unread()?,
        };
        self.book_release(victim, out);
        Some(())
    }

    /// Moves what the prefetch cache has to give up to the replacement policy, as if it had just been fetched: "the inactive
    /// list", whose turn it is then.
    fn shrink_prefetch_cache(&mut self) {
        let Some(cache) = &mut self.prefetch_cache else { return };
        cache.ceiling.look(self.now);
        while let Some(slot) = cache.reclaim(&mut self.directory.frames, self.now) {
            hand_over(&mut self.replacement, &mut self.directory, slot);
        }
    }

    /// The replacement policy has nothing to give, so however low the prefetch cache is, the page at its head goes.
    fn evict_unread(&mut self) -> Option<Slot> {
        let slot = self.directory.frames.unpinned_from_back(UNREAD)?;
        self.leave_prefetch_cache(slot);
        self.directory.release(slot);
        Some(slot)
    }

    /// A page leaves the prefetch cache, to wherever the caller puts it.
    pub(super) fn leave_prefetch_cache(&mut self, slot: Slot) {
        if let Some(cache) = &mut self.prefetch_cache {
            cache.leave(&self.directory.frames, slot);
        }
    }

    /// A page of the prefetch cache is referenced: "it is moved […] to the kernel's inactive LRU list".
    pub(super) fn admit_to_replacement(&mut self, slot: Slot) {
        self.leave_prefetch_cache(slot);
        hand_over(&mut self.replacement, &mut self.directory, slot);
    }

    /// A frame that is being filled is prefetched no longer: somebody wants it, it arrived, or it does not come.
    pub(super) fn no_longer_under_way(&mut self, slot: Slot) {
        if self.directory.frames.has(slot, flag::PREFETCHED)
            && let Some(cache) = &mut self.prefetch_cache
        {
            cache.awaits_no_longer();
        }
    }
}

/// The replacement policy has a frame from now on, in the class that it chose when the block was prefetched.
pub(super) fn hand_over<R: Replacement, I: Index>(
    replacement: &mut R,
    directory: &mut crate::directory::Directory<I>,
    slot: Slot,
) {
    let class = directory.frames.count(slot);
    directory.frames.set_count(slot, 0);
    replacement.insert(directory, slot, class);
}

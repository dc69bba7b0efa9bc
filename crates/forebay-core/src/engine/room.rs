//! Step 6 of a read: room for a block, from the prefetch cache and the replacement policy (CPEM
//! §4.1).

use super::{Access, Engine};
use crate::frames::{Slot, UNREAD, flag};
use crate::index::Index;
use crate::replacement::Replacement;
use crate::seams::Limits;

impl<R: Replacement, I: Index> Engine<R, I> {
    /// Moves what the prefetch cache has to give up to the replacement policy, as if it had just
    /// been fetched: "the inactive list", whose turn it is then.
    pub(super) fn shrink_prefetch_cache(&mut self) {
        let Some(reclaimer) = &mut self.reclaimer else { return };
        if reclaimer.wanted(&self.directory.frames, self.now) {
            self.tell_deepest();
        }
        let spare = self.segments.spare(&self.directory.frames).unwrap_or(0);
        let limits = Limits { sharers: self.sharers(), spare };
        while let Some(slot) = self
            .reclaimer
            .as_mut()
            .and_then(|reclaimer| reclaimer.gives_up(&mut self.directory.frames, limits, self.now))
        {
            self.give_up(slot);
        }
    }

    /// What a switch is worth on the device where it is worth most.
    fn tell_deepest(&mut self) {
        let deepest = self.devices.iter().map(|device| (self.worth_a_switch(device, 0, 1), device.cost.channels)).max();
        if let (Some(reclaimer), Some((depth, channels))) = (&mut self.reclaimer, deepest) {
            reclaimer.deepest(depth, channels);
        }
    }

    /// The replacement policy has nothing to give, so however low the prefetch cache is, a page of
    /// it goes.
    pub(super) fn evict_unread(&mut self) -> Option<Slot> {
        let slot = match &mut self.reclaimer {
            Some(reclaimer) => reclaimer.evicts(&mut self.directory.frames, self.now)?,
            None => self.directory.frames.unpinned_from_back(UNREAD)?,
        };
        self.directory.release(slot);
        Some(slot)
    }

    /// A page leaves the prefetch cache, to wherever the caller puts it.
    pub(super) fn leave_prefetch_cache(&mut self, slot: Slot) {
        if let Some(reclaimer) = &mut self.reclaimer {
            reclaimer.leaves(&self.directory.frames, slot);
        }
    }

    /// A page of the prefetch cache is referenced: "it is moved […] to the kernel's inactive LRU
    /// list".
    pub(super) fn admit_to_segment(&mut self, slot: Slot, access: Option<Access>) {
        self.leave_prefetch_cache(slot);
        let key = self.directory.frames.key(slot);
        self.is_for(slot, key, access);
        let (partition, class) = (self.partition_of(key), self.directory.frames.count(slot));
        self.segments.comes_back(&self.directory, partition, class);
        self.hand_over(slot, self.partition_of(key));
    }

    /// A frame that is being filled is prefetched no longer: somebody wants it, it arrived, or it
    /// does not come.
    pub(super) fn no_longer_under_way(&mut self, slot: Slot) {
        if self.directory.frames.has(slot, flag::PREFETCHED)
            && let Some(reclaimer) = &mut self.reclaimer
        {
            reclaimer.awaits_no_longer();
        }
    }
}

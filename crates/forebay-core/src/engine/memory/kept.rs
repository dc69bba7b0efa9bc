//! Frames that are kept for told lists, and those that lists have no more use for.
//!
//! Neither the prefetch cache nor a replacement policy has them: the order of a list says better
//! than either which one goes. All of them carry a flag, so that no short cut refers to them.

use super::Memory;
use crate::frames::{FETCHING, FREE, Frames, ListId, SPENT, Slot, TOLD, UNREAD, flag};
use crate::index::Index;
use crate::replacement::Replacement;
use crate::seams::Access;
use crate::types::{BlockKey, DeviceId, StreamId};

impl<R: Replacement, I: Index> Memory<R, I> {
    /// Frames that lists have.
    pub(in crate::engine) fn lists_have(&self) -> u32 {
        self.directory.frames.len(TOLD) + self.directory.frames.len(SPENT)
    }

    /// Whether a list has a frame, or had it last.
    pub(in crate::engine) fn is_lists(&self, slot: Slot) -> bool {
        is_lists(&self.directory.frames, slot)
    }

    /// Whether a frame was fetched ahead for a list that still needs it, and nobody has read it.
    pub(in crate::engine) fn is_told_ahead(&self, slot: Slot) -> bool {
        let frames = &self.directory.frames;
        frames.list(slot) == TOLD && frames.has(slot, flag::PREFETCHED)
    }

    /// A frame is being filled with a block that is fetched ahead for a list.
    pub(in crate::engine) fn is_ahead_for_list(&mut self, slot: Slot) {
        self.directory.frames.set(slot, flag::PREFETCHED);
    }

    /// A fetch has filled a frame that a list needs, or does not need any more.
    pub(in crate::engine) fn settles_for_list(&mut self, slot: Slot, needed: bool) {
        let frames = &mut self.directory.frames;
        if frames.pins(slot) > 0 {
            self.pinned += 1;
        }
        frames.clear(slot, flag::ABSENT);
        self.belongs(slot, needed);
    }

    /// A resident frame, whoever has it, is kept for a list from now on.
    pub(in crate::engine) fn keeps_for_list(&mut self, slot: Slot) {
        let list = self.directory.frames.list(slot);
        if list == FETCHING || list == FREE {
            return;
        }
        if list == UNREAD {
            self.unread.leaves(&self.directory.frames, slot);
        } else if !self.is_lists(slot) {
            self.segments.remove(&mut self.directory, slot);
            self.directory.frames.set_count(slot, 0);
            self.directory.frames.clear_note(slot);
        }
        self.belongs(slot, true);
    }

    /// A list needs a frame no more.
    pub(in crate::engine) fn is_spent(&mut self, slot: Slot) {
        self.belongs(slot, false);
    }

    /// A frame that a list needs, or had, is read; afterwards a list needs it, or not. Whether it
    /// is used now that it was fetched ahead.
    pub(in crate::engine) fn is_read_of_list(&mut self, slot: Slot, needed: bool) -> bool {
        let used = self.directory.frames.has(slot, flag::PREFETCHED);
        self.directory.frames.clear(slot, flag::PREFETCHED);
        self.belongs(slot, needed);
        used
    }

    /// A frame that a list had is read by others, or is handed on: it goes where others go. Whether
    /// it is used now that it was fetched ahead.
    pub(in crate::engine) fn leaves_list(&mut self, slot: Slot, device: DeviceId, access: Option<Access>) -> bool {
        let used = self.directory.frames.has(slot, flag::PREFETCHED);
        self.directory.frames.clear(slot, flag::PREFETCHED | flag::EXPECTED);
        self.directory.frames.set_owner(slot, StreamId::NONE);
        self.is_for(slot, device, access);
        self.hand_over(slot, self.partition(device));
        used
    }

    fn belongs(&mut self, slot: Slot, needed: bool) {
        let frames = &mut self.directory.frames;
        frames.set_owner(slot, StreamId::TOLD);
        if !frames.has(slot, flag::PREFETCHED) {
            frames.set(slot, flag::EXPECTED);
        }
        frames.move_to_front(slot, if needed { TOLD } else { SPENT });
    }

    /// Resident frames that no list has.
    pub(in crate::engine) fn others_have_any(&self) -> bool {
        self.size() > self.lists_have() + self.free() + self.directory.frames.len(FETCHING)
    }

    /// Whether lists give frames to readers that no list names, since these have less than half.
    pub(in crate::engine) fn lists_owe(&self) -> bool {
        self.size() - self.lists_have() < self.size() / 2
    }

    /// Frames that readers have for the asking whom no list names: free ones, and those that lists
    /// give them.
    pub(in crate::engine) fn free_for_others(&self) -> u32 {
        let others = self.size() - self.lists_have();
        self.free() + (self.size() / 2).saturating_sub(others).min(self.lists_have())
    }

    /// Prefetched frames that streams have.
    pub(in crate::engine) fn unread_pages(&self) -> u32 {
        self.unread.reclaimer().map_or(0, |reclaimer| reclaimer.len(&self.directory.frames))
    }

    /// The frame that lists had and that was spent first, of those that nobody holds.
    pub(in crate::engine) fn first_spent(&self) -> Option<Slot> {
        self.directory.frames.unpinned_from_back(SPENT)
    }

    /// A frame that a list has is free.
    pub(in crate::engine) fn frees(&mut self, slot: Slot) {
        self.directory.release(slot);
    }

    /// The frame that is kept for a list with a block, if nobody holds it.
    pub(in crate::engine) fn unheld(&self, key: BlockKey) -> Option<Slot> {
        let frames = &self.directory.frames;
        self.resident(key).filter(|&slot| frames.pins(slot) == 0 && frames.list(slot) == TOLD)
    }

    /// Panics unless lists have frames of theirs alone. For tests.
    pub(super) fn check_lists_frame(&self, list: ListId, slot: Slot) {
        let frames = &self.directory.frames;
        if list == TOLD || list == SPENT {
            assert!(frames.has(slot, flag::PREFETCHED | flag::EXPECTED), "a short cut would find a list's frame");
            assert_eq!(frames.owner(slot), StreamId::TOLD, "the owner of a list's frame");
        }
    }
}

pub(super) fn is_lists(frames: &Frames, slot: Slot) -> bool {
    let list = frames.list(slot);
    list == TOLD || list == SPENT
}

//! The invariants of memory, checked by walking over all of it. For tests.

use alloc::vec;
use alloc::vec::Vec;

use super::Memory;
use crate::engine::storage::Storage;
use crate::frames::{FETCHING, FREE, ListId, NO_GHOST, Slot, UNREAD, flag};
use crate::index::Index;
use crate::inflight::InFlight;
use crate::partition::Segments;
use crate::replacement::Replacement;
use crate::types::IoId;

/// The counts of a walk over all frames.
struct Seen {
    pinned: u32,
    told: u32,
    prefetching: u32,
    by_device: Vec<u32>,
}

impl<R: Replacement, I: Index> Memory<R, I> {
    /// Each frame in exactly one list; the index right; pins and devices counted right.
    /// Says how many frames were fetched ahead for told lists and are unread.
    pub(in crate::engine) fn check(&self, storage: &Storage, inflight: &InFlight) -> u32 {
        let frames = &self.directory.frames;
        frames.check_links();
        let partitions = self.divider().map_or(1, |divider| divider.shares().len());
        let mut seen = Seen { pinned: 0, told: 0, prefetching: 0, by_device: vec![0; storage.devices().len()] };
        for list in (0..Segments::<R>::lists(partitions, self.loops)).map(ListId) {
            let mut at = frames.front(list);
            while let Some(slot) = at {
                self.check_index(list, slot);
                self.check_owner(list, slot, inflight, &mut seen);
                if list != FREE && list != NO_GHOST && !frames.is_ghost(slot) {
                    let device = storage.device_of(frames.key(slot)).expect("a frame's file is known");
                    seen.by_device[device.index()] += 1;
                }
                at = frames.towards_back(slot);
            }
        }
        self.check_sums(&seen, storage);
        seen.told
    }

    /// The index finds a slot of this list, unless it holds nothing.
    fn check_index(&self, list: ListId, slot: Slot) {
        let frames = &self.directory.frames;
        let key = frames.key(slot);
        if list == FREE || list == NO_GHOST {
            return assert_eq!(frames.pins(slot), 0, "a free frame is held");
        }
        assert_eq!(self.directory.find(key), Some(slot), "{key:?} is not where the index says");
    }

    /// A slot of this list belongs to whom it says.
    fn check_owner(&self, list: ListId, slot: Slot, inflight: &InFlight, seen: &mut Seen) {
        if list == FREE || list == NO_GHOST {
            return;
        }
        let frames = &self.directory.frames;
        let key = frames.key(slot);
        let prefetched = frames.has(slot, flag::PREFETCHED);
        assert!(list != UNREAD || prefetched, "the prefetch cache holds what somebody has referenced");
        self.check_lists_frame(list, slot);
        seen.told += u32::from(self.is_told_ahead(slot));
        if list == FETCHING {
            let fetch = inflight.fetch(IoId(frames.owner(slot).0));
            let fetch = fetch.expect("a frame is being filled by a fetch that is under way");
            seen.prefetching += u32::from(prefetched && !fetch.is_hint());
            seen.told += u32::from(prefetched && fetch.is_hint());
            assert!(fetch.extent.keys().any(|other| other == key), "the fetch brings other blocks");
        } else if frames.pins(slot) > 0 {
            seen.pinned += 1;
            assert!(!prefetched, "a reader holds what nobody has referenced");
        } else if !frames.is_ghost(slot) && self.hands_on() {
            assert!(prefetched, "{key:?} was handed on, and is kept all the same");
        }
    }

    /// The counters agree with the walk.
    fn check_sums(&self, seen: &Seen, storage: &Storage) {
        let frames = &self.directory.frames;
        assert_eq!(seen.pinned, self.pinned, "frames held");
        match self.reclaimer() {
            None => assert_eq!(frames.len(UNREAD), 0, "frames in a prefetch cache that is not there"),
            Some(reclaimer) => {
                assert_eq!(reclaimer.under_way(), seen.prefetching, "prefetched frames being filled");
                assert!(reclaimer.marked() <= frames.len(UNREAD), "marks of pages that have left");
            }
        }
        for (number, device) in storage.devices().iter().enumerate() {
            assert_eq!(seen.by_device[number], device.frames, "frames of device {number}");
        }
        if let Some(divider) = self.divider() {
            let sizes: u32 = divider.shares().iter().map(|share| share.size).sum();
            assert_eq!(sizes, self.size(), "the sizes of all partitions are the cache");
        }
        let held: u32 = storage.files().map(|file| file.frames).sum();
        assert_eq!(held + self.free(), self.size(), "frames of files and free frames");
    }

    /// Whether a read holds a resident frame.
    pub(in crate::engine) fn is_held(&self) -> bool {
        self.pinned > 0
    }
}

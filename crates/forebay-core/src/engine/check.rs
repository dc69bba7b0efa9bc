//! The invariants, checked by walking over everything. For tests.

use alloc::vec;
use alloc::vec::Vec;

use super::{Core, Engine};
use crate::frames::{FETCHING, FREE, ListId, NO_GHOST, Slot, UNREAD, flag};
use crate::index::Index;
use crate::partition::Segments;
use crate::replacement::Replacement;
use crate::types::IoId;

impl<R: Replacement + Send, I: Index + Send> Engine<R, I> {
    /// Each frame in exactly one list; the index right; pins, files and devices counted right; no
    /// read forgotten.
    pub(super) fn check_invariants(&self) {
        let frames = &self.directory.frames;
        frames.check_links();
        let partitions = self.divider().map_or(1, |divider| divider.shares().len());
        let mut seen = Seen { pinned: 0, prefetching: 0, by_device: vec![0; self.devices.len()] };
        for list in (0..Segments::<R>::lists(partitions, self.loops)).map(ListId) {
            let mut at = frames.front(list);
            while let Some(slot) = at {
                self.check_frame(list, slot, &mut seen);
                at = frames.towards_back(slot);
            }
        }
        self.check_sums(&seen);
    }

    /// A frame is in this list.
    fn check_frame(&self, list: ListId, slot: Slot, seen: &mut Seen) {
        let frames = &self.directory.frames;
        let key = frames.key(slot);
        if list == FREE || list == NO_GHOST {
            return assert_eq!(frames.pins(slot), 0, "a free frame is held");
        }
        assert_eq!(self.directory.find(key), Some(slot), "{key:?} is not where the index says");
        if !frames.is_ghost(slot) {
            let file = self.files.get(key.file()).expect("a frame's file is known");
            seen.by_device[file.device_of(key.block()).index()] += 1;
        }
        let prefetched = frames.has(slot, flag::PREFETCHED);
        assert!(list != UNREAD || prefetched, "the prefetch cache holds what somebody has referenced");
        if list == FETCHING {
            seen.prefetching += u32::from(prefetched);
            let io = IoId(frames.owner(slot).0);
            let fetch = self.inflight.fetch(io).expect("a frame is being filled by a fetch that is under way");
            assert!(fetch.extent.keys().any(|other| other == key), "the fetch brings other blocks");
        } else if frames.pins(slot) > 0 {
            seen.pinned += 1;
            assert!(!prefetched, "a reader holds what nobody has referenced");
        } else if !frames.is_ghost(slot) && self.hands_on() {
            assert!(prefetched, "{key:?} was handed on, and is kept all the same");
        }
    }

    /// What is counted is what is there.
    fn check_sums(&self, seen: &Seen) {
        let frames = &self.directory.frames;
        assert_eq!(seen.pinned, self.pinned, "frames held");
        match &self.reclaimer {
            None => assert_eq!(frames.len(UNREAD), 0, "frames in a prefetch cache that is not there"),
            Some(reclaimer) => {
                assert_eq!(reclaimer.under_way(), seen.prefetching, "prefetched frames being filled");
                assert!(reclaimer.marked() <= frames.len(UNREAD), "marks of pages that have left");
            }
        }
        for (number, device) in self.devices.iter().enumerate() {
            assert_eq!(seen.by_device[number], device.frames, "frames of device {number}");
        }
        if let Some(divider) = self.divider() {
            let sizes: u32 = divider.shares().iter().map(|share| share.size).sum();
            assert_eq!(sizes, self.setup.frames, "the sizes of all partitions are the cache");
        }
        let under_way: u32 = self.devices.iter().map(|device| device.under_way).sum();
        assert_eq!(under_way as usize, self.inflight.under_way(), "fetches under way");
        let held: u32 = self.files.iter().map(|file| file.frames).sum();
        assert_eq!(held + frames.len(FREE), self.setup.frames, "frames of files and free frames");
        let progress = under_way > 0 || seen.pinned > 0 || self.queue.is_empty();
        assert!(progress, "reads wait for frames that nobody will free");
    }
}

/// What a walk over all frames has counted.
struct Seen {
    pinned: u32,
    prefetching: u32,
    by_device: Vec<u32>,
}

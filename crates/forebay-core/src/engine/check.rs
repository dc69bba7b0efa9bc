//! The invariants, checked by walking over everything. For tests.

use alloc::vec;

use super::{Core, Engine};
use crate::frames::{FETCHING, FREE, ListId, NO_GHOST, UNREAD, flag};
use crate::index::Index;
use crate::partition::Segments;
use crate::replacement::Replacement;

impl<R: Replacement + Send, I: Index + Send> Engine<R, I> {
    /// Each frame in exactly one list; the index right; pins, files and devices counted right; no
    /// read forgotten.
    pub(super) fn check_invariants(&self) {
        let frames = &self.directory.frames;
        frames.check_links();
        let lists = self.divider().map_or(1, |division| division.shares().len());
        let lists = Segments::<R>::lists(lists, self.detector.as_ref().map(crate::context::Detector::settings));
        let (mut pinned, mut prefetching) = (0, 0);
        let mut by_device = vec![0; self.devices.len()];
        for list in 0..lists {
            let list = ListId(list);
            let mut at = frames.front(list);
            while let Some(slot) = at {
                let key = frames.key(slot);
                let used = list != FREE && list != NO_GHOST;
                if used {
                    assert_eq!(self.directory.find(key), Some(slot), "{key:?} is not where the index says");
                } else {
                    assert_eq!(frames.pins(slot), 0, "a free frame is held");
                }
                if used && !frames.is_ghost(slot) {
                    let file = self.files.get(key.file()).expect("a frame's file is known");
                    by_device[file.device_of(key.block()).index()] += 1;
                }
                if list == UNREAD {
                    assert!(
                        frames.has(slot, flag::PREFETCHED),
                        "the prefetch cache holds what somebody has referenced"
                    );
                }
                if list == FETCHING {
                    prefetching += u32::from(frames.has(slot, flag::PREFETCHED));
                    let io = crate::IoId(frames.owner(slot).0);
                    let fetch = self.inflight.fetch(io).expect("a frame is being filled by a fetch that is under way");
                    assert!(fetch.extent.keys().any(|other| other == key), "the fetch brings other blocks");
                } else if used && frames.pins(slot) > 0 {
                    pinned += 1;
                    assert!(!frames.has(slot, flag::PREFETCHED), "a reader holds what nobody has referenced");
                } else if used && !frames.is_ghost(slot) && self.hands_on() {
                    assert!(frames.has(slot, flag::PREFETCHED), "{key:?} was handed on, and is kept all the same");
                }
                at = frames.towards_back(slot);
            }
        }
        assert_eq!(pinned, self.pinned, "frames held");
        match &self.reclaimer {
            None => assert_eq!(frames.len(UNREAD), 0, "frames in a prefetch cache that is not there"),
            Some(reclaimer) => {
                assert_eq!(reclaimer.under_way(), prefetching, "prefetched frames being filled");
                assert!(reclaimer.marked() <= frames.len(UNREAD), "marks of pages that have left");
            }
        }
        for (number, device) in self.devices.iter().enumerate() {
            assert_eq!(by_device[number], device.frames, "frames of device {number}");
        }
        if let Some(division) = self.divider() {
            let sizes: u32 = division.shares().iter().map(|share| share.size).sum();
            assert_eq!(sizes, self.setup.frames, "the sizes of all partitions are the cache");
        }
        let under_way: u32 = self.devices.iter().map(|device| device.under_way).sum();
        assert_eq!(under_way as usize, self.inflight.under_way(), "fetches under way");
        let held: u32 = self.files.iter().map(|file| file.frames).sum();
        let free = frames.len(FREE);
        assert_eq!(held + free, self.setup.frames, "frames of files and free frames");
        let progress = under_way > 0 || pinned > 0 || self.queue.is_empty();
        assert!(progress, "reads wait for frames that nobody will free");
    }
}

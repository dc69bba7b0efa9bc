//! Which partition a block belongs to, and which one gives up a frame (SAC §2.2, §2.3). Within a
//! partition, contexts: `contexts`.

use super::Engine;
use crate::event::Actions;
use crate::frames::{FREE, Slot, flag};
use crate::index::Index;
use crate::inflight::Fetch;
use crate::random::hash as sample_hash;
use crate::replacement::{Class, OUTSIDE, Replacement};
use crate::seams::{Use, Wait};
use crate::types::{BlockKey, Caller, DeviceId, FrameId};

impl<R: Replacement, I: Index> Engine<R, I> {
    /// The partition of a device.
    pub(super) fn partition(&self, device: DeviceId) -> usize {
        if self.divider.is_some() { device.index() } else { 0 }
    }

    /// The partition of a block.
    pub(super) fn partition_of(&self, key: BlockKey) -> usize {
        if self.divider.is_none() {
            return 0;
        }
        self.files.get(key.file()).map_or(0, |file| file.device_of(key.block()).index())
    }

    /// Somebody refers to a block, resident or not: partitions by worth hear of it.
    pub(super) fn hears_of(&mut self, device: usize, key: BlockKey) {
        if let Some(divider) = &mut self.divider {
            divider.referenced(device, key);
        }
    }

    /// The short cut of a hit of which nobody hears. Neither of the two is part of their caller,
    /// which so has no registers to save.
    #[inline(never)]
    pub(super) fn plain_hit(&mut self, key: BlockKey, device: DeviceId) -> Option<FrameId> {
        let slot = self.directory.find(key)?;
        if self.directory.frames.has(slot, flag::PREFETCHED | flag::EXPECTED | flag::ABSENT) {
            return None;
        }
        self.segments.hit(&mut self.directory, slot);
        if let Some(device) = self.devices.get_mut(device.index()) {
            device.counters.hits += 1;
        }
        Some(self.directory.frames.frame(slot))
    }

    /// The short cut where partitions or contexts must hear of every reference. Almost always all
    /// that they want to know is a few comparisons, and whatever takes more is done elsewhere.
    #[inline(never)]
    pub(super) fn heard_hit(&mut self, key: BlockKey, device: DeviceId, caller: Caller) -> Option<FrameId> {
        let slot = self.directory.find(key)?;
        if self.directory.frames.has(slot, flag::PREFETCHED | flag::EXPECTED | flag::ABSENT) {
            return None;
        }
        // Where a file is striped its partition is that of the block.
        let (partition, device) = match self.divider {
            None => (0, device.index()),
            Some(_) => (self.segments.partition(&self.directory, slot), self.segments.partition(&self.directory, slot)),
        };
        let hash = sample_hash(key.raw());
        let expected = match &mut self.callers {
            _ if hash < self.sampled => false,
            None => {
                self.segments.hit(&mut self.directory, slot);
                true
            }
            Some(callers) => {
                let hit = |(access, now)| self.segments.hit_by(&mut self.directory, partition, slot, access, now);
                let hit = callers.expects(caller, key, hash).is_some_and(hit);
                if hit {
                    callers.passes();
                }
                hit
            }
        };
        if !expected {
            return self.weighed_hit(slot, device, key, caller);
        }
        if let Some(device) = self.devices.get_mut(device) {
            device.counters.hits += 1;
        }
        Some(self.directory.frames.frame(slot))
    }

    /// A hit of which somebody wants to know more.
    #[inline(never)]
    fn weighed_hit(&mut self, slot: Slot, device: usize, key: BlockKey, caller: Caller) -> Option<FrameId> {
        if !self.heard_short_cut {
            return None;
        }
        self.hears_of(device, key);
        let access = self.accessed(device, key, caller, 1);
        self.referred(slot, device, access, Use::Hit);
        if let Some(device) = self.devices.get_mut(device) {
            device.counters.hits += 1;
        }
        Some(self.directory.frames.frame(slot))
    }

    /// A partition has a frame from now on, in the class that its policy chose when the block was
    /// missed or prefetched.
    pub(super) fn hand_over(&mut self, slot: Slot, partition: usize) {
        let class = self.directory.frames.count(slot);
        self.directory.frames.set_count(slot, 0);
        self.segments.insert(&mut self.directory, partition, slot, class);
        self.takes_part(partition);
    }

    /// A partition has got a frame.
    pub(super) fn takes_part(&mut self, partition: usize) {
        if let Some(divider) = &mut self.divider {
            divider.takes_part(partition);
        }
    }

    /// Whether a partition that keeps to its size must give up a frame of its own before it gets
    /// one, free ones or not.
    pub(super) fn has_its_size(&self, partition: usize) -> bool {
        let Some(divider) = self.divider.as_ref().filter(|divider| divider.keeps_to_sizes()) else { return false };
        self.devices[partition].frames >= divider.shares()[partition].size
    }

    /// A frame of the partition whose turn it is, for a block of `partition` of class `class`.
    /// `None` if all are held.
    pub(super) fn victim(&mut self, partition: usize, class: Class) -> Option<Slot> {
        let Some(divider) = &mut self.divider else { return self.segments.victim(&mut self.directory, 0, class) };
        if divider.looks(&self.devices) {
            self.segments.resize(divider.shares().iter().map(|share| share.size));
        }
        while let Some(gives) = divider.gives(partition, &self.devices) {
            let victim = self.segments.victim(&mut self.directory, gives, of(gives, partition, class));
            if victim.is_some() {
                return victim;
            }
            if !divider.has_none(gives) {
                break;
            }
        }
        // It is nobody's turn that has anything to give: what there is is held, or under way.
        let devices = self.devices.len();
        let mut others = (0..devices).map(|step| (partition + step) % devices);
        others.find_map(|other| self.segments.victim(&mut self.directory, other, of(other, partition, class)))
    }

    /// A fetch is over: its device's wait time is that of its readers, who may have begun to wait
    /// when it was under way already, or not at all.
    pub(super) fn waited_for(&mut self, fetch: &Fetch, out: &mut Actions) {
        let waited = fetch.wanted.map_or(0, |since| self.now.since(since));
        let Some(divider) = &mut self.divider else { return };
        let wait = Wait { at: self.now, device: fetch.device.index(), nanoseconds: waited };
        if divider.waited(&wait, &self.devices) {
            self.segments.resize(divider.shares().iter().map(|share| share.size));
            if divider.reallocates() {
                self.shed(out);
            }
        }
    }

    /// "The algorithm immediately reallocates pages": what partitions have beyond their sizes is
    /// free for the others.
    fn shed(&mut self, out: &mut Actions) {
        for partition in 0..self.devices.len() {
            while self
                .divider
                .as_ref()
                .is_some_and(|divider| self.devices[partition].frames > divider.shares()[partition].size)
            {
                let Some(victim) = self.segments.victim(&mut self.directory, partition, OUTSIDE) else { break };
                self.book_eviction(victim, out);
            }
        }
    }

    /// Sees to it that a frame is free for a block of `partition`, of class `class`. `None` if
    /// every frame is held.
    pub(super) fn make_room(&mut self, partition: usize, class: Class, out: &mut Actions) -> Option<()> {
        let (own, free) = (self.has_its_size(partition), self.directory.frames.len(FREE) > 0);
        if free && !own {
            return Some(());
        }
        self.shrink_prefetch_cache();
        if own && let Some(victim) = self.segments.victim(&mut self.directory, partition, class) {
            self.book_eviction(victim, out);
            return Some(());
        }
        if free {
            return Some(());
        }
        let victim = match self.victim(partition, class) {
            Some(victim) => victim,
            None => self.evict_unread()?,
        };
        self.book_eviction(victim, out);
        Some(())
    }
}

/// The class of the block that a frame of partition `other` is wanted for: another partition's
/// class is none of its own.
fn of(other: usize, partition: usize, class: Class) -> Class {
    if other == partition { class } else { OUTSIDE }
}

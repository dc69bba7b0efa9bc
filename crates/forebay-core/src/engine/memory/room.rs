//! Step 6 of a read: room for a block. Whose frame goes (SAC §2.2, §2.3), what the prefetch cache
//! has to give up (CPEM §4.1), and how much of memory there is for what is fetched ahead.

use super::Memory;
use crate::engine::storage::Storage;
use crate::frames::Slot;
use crate::index::Index;
use crate::inflight::Fetch;
use crate::replacement::{Class, OUTSIDE, Replacement};
use crate::seams::{Limits, Sharers, Wait};
use crate::types::{BlockKey, DeviceId, Instant};

/// Where a frame comes from.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) enum Room {
    /// One is free.
    Free,
    /// This one was given up.
    GivenUp(Slot),
}

/// How much of memory there is for what is fetched ahead, in blocks.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Ahead {
    /// For all streams together.
    pub(in crate::engine) room: u32,
    /// For one stream.
    pub(in crate::engine) share: u32,
    /// For one piece.
    pub(in crate::engine) longest_piece: u32,
}

impl<R: Replacement, I: Index> Memory<R, I> {
    /// The partition of a device.
    pub(super) fn partition(&self, device: DeviceId) -> usize {
        if self.divider.is_some() { device.index() } else { 0 }
    }

    /// The partition of a block.
    fn partition_of(&self, key: BlockKey, storage: &Storage) -> usize {
        if self.divider.is_none() {
            return 0;
        }
        storage.device_of(key).map_or(0, |device| self.partition(device))
    }

    /// Sees to it that a frame is free for an absent block, of class `class`. `None` if every frame
    /// is held.
    pub(in crate::engine) fn make_room(
        &mut self,
        key: BlockKey,
        class: Class,
        storage: &Storage,
        sharers: u32,
        now: Instant,
    ) -> Option<Room> {
        if let Some(ghost) = self.directory.ghost(key) {
            self.segments.remove(&mut self.directory, ghost);
            self.directory.release(ghost);
        }
        let partition = self.partition_of(key, storage);
        let (own, free) = (self.has_its_size(partition, storage), self.free() > 0);
        if free && !own {
            return Some(Room::Free);
        }
        self.shrink_prefetch_cache(storage, sharers, now);
        if own && let Some(victim) = self.segments.victim(&mut self.directory, partition, class) {
            return Some(Room::GivenUp(victim));
        }
        if free {
            return Some(Room::Free);
        }
        let victim = match self.victim(partition, class, storage) {
            Some(victim) => victim,
            None => self.evict_unread(now)?,
        };
        Some(Room::GivenUp(victim))
    }

    /// Whether a partition that keeps to its size must give up a frame of its own before it gets
    /// one, free ones or not.
    fn has_its_size(&self, partition: usize, storage: &Storage) -> bool {
        let Some(divider) = self.divider.as_ref().filter(|divider| divider.keeps_to_sizes()) else { return false };
        storage.devices()[partition].frames >= divider.shares()[partition].size
    }

    /// A frame of the partition whose turn it is, for a block of `partition` of class `class`.
    /// `None` if all are held.
    fn victim(&mut self, partition: usize, class: Class, storage: &Storage) -> Option<Slot> {
        let Some(divider) = &mut self.divider else { return self.segments.victim(&mut self.directory, 0, class) };
        if divider.looks(storage.devices()) {
            self.segments.resize(divider.shares().iter().map(|share| share.size));
        }
        while let Some(gives) = divider.gives(partition, storage.devices()) {
            let victim = self.segments.victim(&mut self.directory, gives, of(gives, partition, class));
            if victim.is_some() {
                return victim;
            }
            if !divider.has_none(gives) {
                break;
            }
        }
        // It is nobody's turn that has anything to give: what there is is held, or under way.
        let devices = storage.devices().len();
        let mut others = (0..devices).map(|step| (partition + step) % devices);
        others.find_map(|other| self.segments.victim(&mut self.directory, other, of(other, partition, class)))
    }

    /// The replacement policy has nothing to give, so however low the prefetch cache is, a page of
    /// it goes.
    fn evict_unread(&mut self, now: Instant) -> Option<Slot> {
        let slot = self.unread.evicts(&mut self.directory.frames, now)?;
        self.directory.release(slot);
        Some(slot)
    }

    /// Moves what the prefetch cache has to give up to the replacement policy, as if it had just
    /// been fetched: "the inactive list", whose turn it is then.
    fn shrink_prefetch_cache(&mut self, storage: &Storage, sharers: u32, now: Instant) {
        if !self.unread.is_kept() {
            return;
        }
        if self.unread.is_wanted(&self.directory.frames, now)
            && let Some((depth, channels)) = storage.deepest()
        {
            self.unread.deepest(depth, channels);
        }
        let spare = self.segments.spare(&self.directory.frames).unwrap_or(0);
        let limits = Limits { sharers, spare };
        while let Some(slot) = self.unread.gives_up(&mut self.directory.frames, limits, now) {
            self.give_up(slot, storage);
        }
    }

    /// A frame that nobody has read goes to the replacement policy.
    fn give_up(&mut self, slot: Slot, storage: &Storage) {
        let partition = self.partition_of(self.directory.frames.key(slot), storage);
        let class = self.directory.frames.count(slot);
        self.directory.frames.set_count(slot, 0);
        self.segments.give_up(&mut self.directory, partition, slot, class);
        self.takes_part(partition);
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
    fn takes_part(&mut self, partition: usize) {
        if let Some(divider) = &mut self.divider {
            divider.takes_part(partition);
        }
    }

    /// A fetch is over: its device's wait time is that of its readers, who may have begun to wait
    /// when it was under way already, or not at all. Whether partitions have new sizes that hold at
    /// once, so that each [sheds](Self::sheds) what it has beyond them.
    pub(in crate::engine) fn waited_for(&mut self, fetch: &Fetch, storage: &Storage, now: Instant) -> bool {
        let waited = fetch.wanted.map_or(0, |since| now.since(since));
        let Some(divider) = &mut self.divider else { return false };
        let wait = Wait { at: now, device: fetch.device.index(), nanoseconds: waited };
        if !divider.waited(&wait, storage.devices()) {
            return false;
        }
        self.segments.resize(divider.shares().iter().map(|share| share.size));
        divider.reallocates()
    }

    /// "The algorithm immediately reallocates pages": a frame that a partition has beyond its size
    /// is free for the others. `None` if it has none, or holds all that it has.
    pub(in crate::engine) fn sheds(&mut self, partition: usize, storage: &Storage) -> Option<Slot> {
        let size = self.divider.as_ref()?.shares()[partition].size;
        if storage.devices()[partition].frames <= size {
            return None;
        }
        self.segments.victim(&mut self.directory, partition, OUTSIDE)
    }

    /// How much there is for what is fetched ahead. One stream may have its part of that prefetched
    /// and unread. With a prefetch cache that is Ŝp = P_mem / N_stream (CPEM §4.2), and the piece
    /// being read is not counted, as in the kernel's two windows: what is beyond the ceiling has
    /// room beside it. Without, or if there is nothing beside it, two pieces must have room.
    pub(in crate::engine) fn ahead(&self, sharers: u32) -> Ahead {
        let room = self.room_ahead(sharers);
        let share = (room / sharers).max(1);
        let beside = self.unread.is_kept() && !self.hands_on();
        Ahead { room, share, longest_piece: if beside { share } else { (share / 2).max(1) } }
    }

    /// How many blocks all streams may have ahead: the prefetch cache's room, or, if that is more,
    /// half of what nobody else would miss. The other half is for the pieces that are being read.
    fn room_ahead(&self, sharers: u32) -> u32 {
        match self.unread.reclaimer() {
            Some(reclaimer) if !self.hands_on() => {
                let frames = &self.directory.frames;
                let nobodys = self.segments.spare(frames).map_or(0, |spare| reclaimer.len(frames) + spare);
                reclaimer.room(sharers).max(nobodys / 2)
            }
            _ => self.referenced.room(self.size()),
        }
    }

    /// N_stream (CPEM §4.2): among how many that is shared, of which so many are active.
    pub(in crate::engine) fn sharers(&self, all: &Sharers, active: u32) -> u32 {
        self.unread.sharers(all, active)
    }

    /// Of a switch that is worth the transfer of `depth` blocks: what it is worth if each of them
    /// pays for the memory that it takes, too.
    pub(in crate::engine) fn worth_a_switch(&self, depth: u32) -> u32 {
        self.unread.worth_a_switch(depth)
    }
}

/// The class of the block that a frame of partition `other` is wanted for: another partition's
/// class is none of its own.
fn of(other: usize, partition: usize, class: Class) -> Class {
    if other == partition { class } else { OUTSIDE }
}

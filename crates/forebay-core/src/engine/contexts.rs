//! Whose block is whose, where program contexts have partitions (AMP §3.2). Where they have none,
//! the replacement policy's all the same.

use super::Engine;
use crate::frames::Slot;
use crate::index::Index;
use crate::replacement::{Class, Replacement};
use crate::seams::{Access, Use};
use crate::types::{BlockKey, Caller, DeviceId};

impl<R: Replacement, I: Index> Engine<R, I> {
    /// A block of a device is accessed, resident or not, by a read of so many: where it goes, if
    /// contexts have partitions.
    #[inline]
    pub(super) fn accessed(&mut self, device: usize, key: BlockKey, caller: Caller, len: u32) -> Option<Access> {
        let access = self.callers.as_mut()?.access(caller, key);
        let partition = self.partition(DeviceId(device as u16));
        if self.segments.accessed(&mut self.directory, partition, key, &access) {
            self.segments.charge(partition, self.part_of_a_switch(key, caller, len));
        }
        Some(access)
    }

    /// A block's part of a switch, were it missed, in the time of a block: those of a piece that is
    /// fetched for a stream, or of a read, share one. Where nothing is fetched ahead all misses are
    /// alike.
    #[inline(never)]
    fn part_of_a_switch(&self, key: BlockKey, caller: Caller, len: u32) -> u32 {
        let Some(file) = self.files.get(key.file()).filter(|_| self.needs.looks_ahead) else { return 0 };
        let stream = self.streams.locate(caller.handler, key.file(), key.block(), self.now);
        let piece = stream.and_then(|id| self.streams.get(id)).map_or(0, |stream| stream.piece);
        self.competitive_depth(file, key.block()) / piece.max(len).max(1)
    }

    /// A resident frame is referenced.
    #[inline]
    pub(super) fn referred(&mut self, slot: Slot, device: usize, access: Option<Access>, how: Use) {
        match access {
            None => self.segments.referred(&mut self.directory, slot, how),
            Some(access) => {
                let partition = self.partition(DeviceId(device as u16));
                self.segments.referred_by(&mut self.directory, partition, slot, access.place, how);
            }
        }
    }

    /// A frame that is under way, or in the prefetch cache, goes where the context's blocks go that
    /// wants it first.
    pub(super) fn is_for(&mut self, slot: Slot, key: BlockKey, access: Option<Access>) {
        if let Some(access) = access {
            let old = self.directory.frames.count(slot);
            let class = self.segments.class_for(self.partition_of(key), old, access.place);
            self.directory.frames.set_count(slot, class);
        }
    }

    /// Where a block goes that is missed.
    pub(super) fn class_of_missed(&mut self, key: BlockKey, access: Option<Access>) -> Class {
        let ghost = self.directory.find(key);
        let partition = self.partition_of(key);
        match access {
            None => self.segments.miss(&mut self.directory, partition, ghost),
            Some(access) => self.segments.missed_by(&mut self.directory, partition, key, ghost, access.place, false),
        }
    }

    /// Where a block goes that is prefetched: to its reader's others. With a prefetch cache the
    /// replacement policy gets it at its first reference, and then learns from its ghost.
    pub(super) fn class_of_prefetched(&mut self, key: BlockKey, access: Option<Access>) -> Class {
        let (ghost, partition) = (self.directory.find(key), self.partition_of(key));
        let place = access.map(|access| access.place);
        match place {
            _ if self.reclaimer.is_some() => self.segments.recalls(&mut self.directory, partition, key, ghost, place),
            Some(place) => self.segments.missed_by(&mut self.directory, partition, key, ghost, place, true),
            None => 0,
        }
    }

    /// The prefetch cache has given up a frame that nobody has read.
    pub(super) fn give_up(&mut self, slot: Slot) {
        let partition = self.partition_of(self.directory.frames.key(slot));
        let class = self.directory.frames.count(slot);
        self.directory.frames.set_count(slot, 0);
        self.segments.give_up(&mut self.directory, partition, slot, class);
        self.takes_part(partition);
    }
}

//! A reference to a block, as those hear of it that keep it or will: the divider, program contexts
//! with partitions (AMP §3.2), the prefetch cache, and the replacement policy of its partition.

use super::Memory;
use crate::frames::{FETCHING, Slot, UNREAD, flag};
use crate::index::Index;
use crate::random::hash as sample_hash;
use crate::replacement::{Class, Replacement};
use crate::seams::{Access, Tally, Use};
use crate::types::{BlockKey, Caller, DeviceId, Extent, StreamId};

/// The first reference since a frame was prefetched, or expected to be referred to.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct First {
    /// The stream that had brought or expected it.
    pub(in crate::engine) stream: StreamId,
    /// Whether it was prefetched, and so is used now.
    pub(in crate::engine) used: bool,
}

impl<R: Replacement, I: Index> Memory<R, I> {
    /// The frame of a block of which a reference tells nobody anything new.
    #[inline(always)]
    pub(in crate::engine) fn plain(&self, key: BlockKey) -> Option<Slot> {
        let slot = self.directory.find(key)?;
        if self.directory.frames.has(slot, flag::PREFETCHED | flag::EXPECTED | flag::ABSENT) {
            return None;
        }
        Some(slot)
    }

    /// Such a frame is referenced, and nobody but its replacement policy hears of it.
    #[inline(always)]
    pub(in crate::engine) fn hit(&mut self, slot: Slot) {
        self.segments.hit(&mut self.directory, slot);
    }

    /// The partition of such a frame, which where devices have partitions is the number of its
    /// device. `None` where they have none.
    #[inline(always)]
    pub(in crate::engine) fn divided(&self, slot: Slot) -> Option<usize> {
        self.divider.as_ref().map(|_| self.segments.partition(&self.directory, slot))
    }

    /// [`hit`](Self::hit) where partitions or contexts must hear of references. `false`, and
    /// nothing is done, if this one tells them more than that somebody refers to the block: its
    /// hash is below `sampled`, or its context may say something else than it did last.
    #[inline(always)]
    pub(in crate::engine) fn hit_as_expected(
        &mut self,
        slot: Slot,
        partition: usize,
        key: BlockKey,
        caller: Caller,
        sampled: u64,
    ) -> bool {
        let hash = sample_hash(key.raw());
        match &mut self.callers {
            None if hash < sampled => false,
            None => {
                self.segments.hit(&mut self.directory, slot);
                true
            }
            // They know the sample ([`tells_sample`](Self::tells_sample)).
            Some(callers) => {
                let hit = |(access, now)| self.segments.hit_by(&mut self.directory, partition, slot, access, now);
                let hit = callers.expects(caller, hash).is_some_and(hit);
                if hit {
                    callers.passes();
                }
                hit
            }
        }
    }

    /// Whether somebody must hear of every reference.
    pub(in crate::engine) fn hears_references(&self) -> bool {
        self.loops.is_some() || self.divider.as_ref().is_some_and(|divider| divider.hears_references())
    }

    /// Blocks whose hash is below this are in somebody's sample.
    pub(in crate::engine) fn sample(&self) -> u64 {
        self.divider.as_ref().map_or(0, |divider| divider.sample()).max(self.segments.bound())
    }

    /// References to blocks whose hash is below `sampled` are never as expected from now on.
    pub(in crate::engine) fn tells_sample(&mut self, sampled: u64) {
        if let Some(callers) = &mut self.callers {
            callers.set_sampled(sampled);
        }
    }

    /// A block is referenced, resident or not: partitions by worth hear of it.
    pub(in crate::engine) fn hears_of(&mut self, device: DeviceId, key: BlockKey) {
        if let Some(divider) = &mut self.divider {
            divider.referenced(device.index(), key);
        }
    }

    /// A block of a device is accessed, resident or not: where it goes, if contexts have
    /// partitions. `switch` is a block's part of a switch, were it missed, in the time of a block.
    #[inline]
    pub(in crate::engine) fn accessed(
        &mut self,
        device: DeviceId,
        key: BlockKey,
        caller: Caller,
        switch: impl FnOnce() -> u32,
    ) -> Option<Access> {
        let access = self.callers.as_mut()?.access(caller, key);
        let partition = self.partition(device);
        if self.segments.accessed(&mut self.directory, partition, key, &access) {
            self.segments.charge(&mut self.directory, partition, switch());
        }
        Some(access)
    }

    /// [`Placement::tally`](crate::seams::Placement::tally) of a device's partition.
    pub(in crate::engine) fn tally(&self, device: DeviceId) -> Tally {
        self.segments.tally(self.partition(device))
    }

    /// A resident frame is referenced.
    #[inline]
    pub(in crate::engine) fn referred(&mut self, slot: Slot, device: DeviceId, access: Option<Access>, how: Use) {
        match access {
            None => self.segments.referred(&mut self.directory, slot, how),
            Some(access) => {
                let partition = self.partition(device);
                self.segments.referred_by(&mut self.directory, partition, slot, access.place, how);
            }
        }
    }

    /// A read refers to a resident frame, of which readers want the block or not. Says what this
    /// tells, if it is the first reference since somebody waits for one.
    pub(in crate::engine) fn refer(
        &mut self,
        slot: Slot,
        device: DeviceId,
        wanted: bool,
        access: Option<Access>,
    ) -> Option<First> {
        let frames = &mut self.directory.frames;
        let stream = frames.has(slot, flag::PREFETCHED | flag::EXPECTED).then(|| frames.owner(slot));
        let used = frames.has(slot, flag::PREFETCHED);
        frames.clear(slot, flag::PREFETCHED | flag::EXPECTED);
        if used && frames.list(slot) == UNREAD {
            self.leaves_prefetch_cache(slot, device, access);
        } else {
            let how = if used { Use::First } else { Use::Hit };
            self.referred(slot, device, access, if R::SORTS && !wanted { Use::Passed } else { how });
        }
        stream.map(|stream| First { stream, used })
    }

    /// A page of the prefetch cache is referenced: "it is moved […] to the kernel's inactive LRU
    /// list".
    fn leaves_prefetch_cache(&mut self, slot: Slot, device: DeviceId, access: Option<Access>) {
        self.unread.leaves(&self.directory.frames, slot);
        self.is_for(slot, device, access);
        let (partition, class) = (self.partition(device), self.directory.frames.count(slot));
        self.segments.comes_back(&self.directory, partition, class);
        self.hand_over(slot, partition);
    }

    /// A read refers to a frame that is under way, and will wait for it. Whether that had been
    /// prefetched for nobody; `told` says whether for a told list.
    pub(in crate::engine) fn joins(
        &mut self,
        slot: Slot,
        device: DeviceId,
        access: Option<Access>,
        told: bool,
    ) -> bool {
        self.is_for(slot, device, access);
        let late = self.directory.frames.has(slot, flag::PREFETCHED);
        match late && !told {
            true => self.is_ahead_no_longer(slot),
            false => self.directory.frames.clear(slot, flag::PREFETCHED),
        }
        late
    }

    /// A frame that is under way, or in the prefetch cache, goes where the context's blocks go that
    /// wants it first.
    pub(super) fn is_for(&mut self, slot: Slot, device: DeviceId, access: Option<Access>) {
        if let Some(access) = access {
            let old = self.directory.frames.count(slot);
            let class = self.segments.class_for(self.partition(device), old, access.place);
            self.directory.frames.set_count(slot, class);
        }
    }

    /// Where a block goes that is missed.
    pub(in crate::engine) fn class_of_missed(
        &mut self,
        key: BlockKey,
        device: DeviceId,
        access: Option<Access>,
    ) -> Class {
        let (ghost, partition) = (self.directory.ghost(key), self.partition(device));
        match access {
            None => self.segments.miss(&mut self.directory, partition, ghost),
            Some(access) => self.segments.missed_by(&mut self.directory, partition, key, ghost, access.place, false),
        }
    }

    /// Where a block goes that is prefetched: to its reader's others. With a prefetch cache the
    /// replacement policy gets it at its first reference, and then learns from its ghost.
    pub(in crate::engine) fn class_of_prefetched(
        &mut self,
        key: BlockKey,
        device: DeviceId,
        access: Option<Access>,
    ) -> Class {
        let place = access.map(|access| access.place);
        if place.is_none() && !self.unread.is_kept() {
            return 0;
        }
        let (ghost, partition) = (self.directory.ghost(key), self.partition(device));
        match place {
            _ if self.unread.is_kept() => self.segments.recalls(&mut self.directory, partition, key, ghost, place),
            Some(place) => self.segments.missed_by(&mut self.directory, partition, key, ghost, place, true),
            None => 0,
        }
    }

    /// Of `runs`, which a read has missed, flags the blocks from `first` on as sequential, for a
    /// replacement policy that keeps such apart ([`Replacement::SORTS`]). Says which of those that
    /// readers `demand` is the first: one miss, since it would have brought the others.
    pub(in crate::engine) fn sort(&mut self, runs: &[Extent], first: u32, demand: Extent) -> Option<BlockKey> {
        let mut missed = None;
        for run in runs {
            for key in Extent::between(run.file, run.start.max(first), run.end()).keys() {
                if let Some(slot) = self.directory.find(key) {
                    self.directory.frames.set(slot, flag::SEQUENTIAL);
                }
                if demand.has(key.block()) {
                    missed.get_or_insert(key);
                }
            }
        }
        missed
    }

    /// [`Replacement::sequential_miss`], on a block of a device.
    pub(in crate::engine) fn sequential_miss(&mut self, device: DeviceId) {
        self.segments.sequential_miss(self.partition(device));
    }

    /// More is prefetched behind `unread`: what of it nobody has read yet goes before that.
    pub(in crate::engine) fn renew(&mut self, unread: Extent) {
        for key in unread.keys() {
            let Some(slot) = self.resident(key) else { continue };
            let frames = &self.directory.frames;
            if frames.list(slot) != FETCHING && frames.has(slot, flag::PREFETCHED) {
                self.segments.renew(&mut self.directory, slot);
            }
        }
    }
}

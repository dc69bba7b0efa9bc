//! The short cut of a hit: a reference that tells nobody anything new, without the ceremony.

use super::{Engine, Referenced};
use crate::frames::Slot;
use crate::index::Index;
use crate::replacement::Replacement;
use crate::seams::{Needs, Use};
use crate::types::{BlockKey, Caller, DeviceId, FrameId};

/// The hits that may take it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortCut {
    /// Whether all may, and nobody hears of them.
    plain: bool,
    /// Whether they may, but partitions or contexts must hear of them.
    heard: bool,
    /// Blocks whose hash is below this are in somebody's sample.
    sampled: u64,
}

impl ShortCut {
    /// None.
    pub(super) const NONE: ShortCut = ShortCut { plain: false, heard: false, sampled: u64::MAX };

    /// Under a policy that needs this, and where blocks are kept or not. `hears` says whether
    /// partitions or contexts hear of references, and blocks whose hash is below `sample` are in
    /// somebody's sample.
    pub(super) fn new(needs: &Needs, referenced: Referenced, hears: bool, sample: u64) -> ShortCut {
        match !needs.every_reference && referenced == Referenced::Kept {
            true => ShortCut { plain: !hears, heard: hears, sampled: sample },
            false => ShortCut::NONE,
        }
    }

    /// Blocks whose hash is below this are in somebody's sample.
    pub(super) fn sampled(self) -> u64 {
        self.sampled
    }

    /// Whether nobody hears of those that take it.
    #[inline(always)]
    pub(super) fn is_plain(self) -> bool {
        self.plain
    }
}

impl<R: Replacement, I: Index> Engine<R, I> {
    /// The short cut of a hit of which nobody hears. Neither of the two is part of their caller,
    /// which so has no registers to save.
    #[inline(never)]
    pub(super) fn plain_hit(&mut self, key: BlockKey, device: DeviceId) -> Option<FrameId> {
        let slot = self.memory.plain(key)?;
        self.memory.hit(slot);
        self.storage.counts_hit(device.index());
        Some(self.memory.frame(slot))
    }

    /// The short cut where partitions or contexts must hear of every reference. Almost always all
    /// that they want to know is a few comparisons, and whatever takes more is done elsewhere.
    #[inline(never)]
    pub(super) fn heard_hit(&mut self, key: BlockKey, device: DeviceId, caller: Caller) -> Option<FrameId> {
        let slot = self.memory.plain(key)?;
        // Where a file is striped its partition is that of the block.
        let (partition, device) = match self.memory.divided(slot) {
            None => (0, device.index()),
            Some(partition) => (partition, partition),
        };
        if !self.memory.hit_as_expected(slot, partition, key, caller, self.short_cut.sampled) {
            return self.weighed_hit(slot, device, key, caller);
        }
        self.storage.counts_hit(device);
        Some(self.memory.frame(slot))
    }

    /// A hit of which somebody wants to know more.
    #[inline(never)]
    fn weighed_hit(&mut self, slot: Slot, device: usize, key: BlockKey, caller: Caller) -> Option<FrameId> {
        if !self.short_cut.heard {
            return None;
        }
        let its = DeviceId(device as u16);
        self.memory.hears_of(its, key);
        let access = self.accessed(its, key, caller, 1);
        self.memory.referred(slot, its, access, Use::Hit);
        self.storage.counts_hit(device);
        Some(self.memory.frame(slot))
    }
}

//! Misses near each other in a file for which there is room: what lies around is loaded (past the papers, by the argument of CP §2).
//!
//! Who reads a file at random has no stream, and nothing is fetched ahead for him: of what he does not want the cache would be full before he
//! came back. That is no reason while frames are free, and more of them than blocks of his file are absent. What is left is the time of the
//! device, and against that the wager of CP §2 can be made again. The file is taken for regions that the device transfers in the time of one
//! switch, S_p. The first miss in a region fetches what was asked for, the second one the rest of the region. If no other follows that
//! has cost the transfer, a switch, and another one for what lies before the miss, after two that were needed; each one that does follow
//! would have cost as much. So a region takes at most twice what it takes without, and where all of it is read, three switches instead of
//! one for each read.

use super::prefetch::Turn;
use super::{Access, Engine};
use crate::event::Actions;
use crate::index::Index;
use crate::inflight::Read;
use crate::prefetch::Plan;
use crate::replacement::Replacement;
use crate::types::{BlockKey, Extent, StreamId};

impl<R: Replacement, I: Index> Engine<R, I> {
    /// Fetches the rest of the region in which a read has missed, if its stream's plan would bring less. Whether it did.
    pub(super) fn load_near(
        &mut self,
        id: StreamId,
        read: &Read,
        (missed, turn, plan): (u32, Turn, Option<Plan>),
        (access, out): (Option<Access>, &mut Actions),
    ) -> bool {
        if turn != Turn::Begins || !self.setup.prefetch.loads_near() || !self.queue.is_empty() {
            return false;
        }
        let Some(region) = self.region(read.extent, missed) else { return false };
        let planned = plan.map_or(0, |plan| plan.piece.saturating_mul(plan.pieces));
        if region.end().saturating_sub(missed) <= planned || !self.is_known_in(region, read.extent) {
            return false;
        }
        // What lies behind comes with the demand.
        self.fetch_ahead(id, region.file, missed, Plan::one(region.end() - missed), (access, &mut *out));
        let before = read.extent.start.saturating_sub(region.start);
        self.fetch_ahead(id, region.file, region.start, Plan::one(before), (access, out));
        true
    }

    /// The region of a missed block; `None` if not all of its file has room in free frames.
    fn region(&self, read: Extent, missed: u32) -> Option<Extent> {
        let file = self.files.get(read.file)?;
        let absent = file.blocks.saturating_sub(file.frames);
        if absent > self.free_frames() {
            return None;
        }
        let size = self.competitive_depth(file, missed);
        let start = missed - missed % size;
        Some(Extent::between(read.file, start, start.saturating_add(size).min(file.blocks)))
    }

    /// Whether a block of a region was fetched before this read.
    fn is_known_in(&self, region: Extent, read: Extent) -> bool {
        let before = Extent::between(region.file, region.start, read.start.max(region.start));
        let behind = Extent::between(region.file, read.end().min(region.end()), region.end());
        let is_there = |key: BlockKey| self.resident(key).is_some();
        before.keys().chain(behind.keys()).any(is_there)
    }
}

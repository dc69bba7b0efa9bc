//! What is sequential, for a replacement policy that keeps it apart ([`Replacement::SORTS`]).

use super::Engine;
use crate::frames::{FETCHING, flag};
use crate::index::Index;
use crate::inflight::Read;
use crate::replacement::Replacement;
use crate::types::{BlockKey, Extent, StreamId};

impl<R: Replacement, I: Index> Engine<R, I> {
    /// Of what a read has missed, which lies in `runs`, flags those blocks that end a run of at
    /// least the threshold.
    pub(super) fn sort(&mut self, id: StreamId, read: &Read) {
        if !R::SORTS {
            return;
        }
        let Some(first) = self.first_sequential(id) else { return };
        let demand = read.label().demand;
        let mut missed = None;
        for run in &self.runs {
            for key in Extent::between(run.file, run.start.max(first), run.end()).keys() {
                if let Some(slot) = self.directory.find(key) {
                    self.directory.frames.set(slot, flag::SEQUENTIAL);
                }
                if demand.has(key.block()) {
                    missed.get_or_insert(key);
                }
            }
        }
        // One miss: the first such block would have brought the others.
        if let Some(key) = missed {
            let partition = self.partition_of(key);
            self.segments.sequential_miss(partition);
        }
    }

    /// The first block of a stream's present run that has enough before it.
    fn first_sequential(&self, id: StreamId) -> Option<u32> {
        let wanted = self.streams.get(id)?.wanted;
        let before = self.needs.sequential.saturating_sub(1);
        (wanted.run > before).then(|| wanted.end - wanted.run + before)
    }

    /// More is prefetched for a stream: what it has not read yet goes before that.
    pub(super) fn renew(&mut self, id: StreamId) {
        if !R::SORTS {
            return;
        }
        let Some(&stream) = self.streams.get(id) else { return };
        for block in stream.next..stream.ahead {
            let Some(slot) = self.resident(BlockKey::new(stream.file, block)) else { continue };
            let frames = &self.directory.frames;
            if frames.list(slot) != FETCHING && frames.has(slot, flag::PREFETCHED) {
                self.segments.renew(&mut self.directory, slot);
            }
        }
    }
}

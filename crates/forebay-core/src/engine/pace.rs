//! The feedback by which streams learn their degree and trigger distance ([`Pace`](crate::prefetch::Pace)).

use super::{Engine, MAX_PIECE_BYTES};
use crate::event::Actions;
use crate::frames::Slot;
use crate::index::Index;
use crate::inflight::{Fetch, Read};
use crate::replacement::Replacement;
use crate::stream::Stream;
use crate::types::{BlockKey, StreamId};

impl<R: Replacement, I: Index> Engine<R, I> {
    /// The stream, and its largest degree, if streams learn.
    fn learner(&mut self, id: StreamId) -> Option<(&mut Stream, u32)> {
        let most = self.setup.prefetch.learns()?.min(MAX_PIECE_BYTES / self.setup.block_bytes).max(1);
        Some((self.streams.get_mut(id)?, most))
    }

    /// A read has gone on with a stream; `missed` is the first block that it has missed.
    pub(super) fn pace_by_read(&mut self, id: StreamId, read: &Read, missed: Option<u32>) {
        let label = read.label();
        let Some((stream, most)) = self.learner(id) else { return };
        let size = label.demand.len.max(1);
        for last in stream.pace.lasts() {
            if read.extent.has(last) && (label.demand.has(last) || label.hits.has(last)) {
                stream.pace.hit(last, size, most);
            }
        }
        if missed.is_some() && !label.demand.is_empty() {
            stream.pace.missed(label.demand.len, most);
        }
    }

    /// For a stream `first .. end` was asked for at a time.
    pub(super) fn pace_by_set(&mut self, id: StreamId, first: u32, end: u32) {
        if let Some((stream, _)) = self.learner(id).filter(|(stream, _)| end > stream.next) {
            stream.pace.fetched(first, end);
        }
    }

    /// A fetch has arrived: perhaps a reader waited for it already.
    pub(super) fn pace_by_arrival(&mut self, fetch: &Fetch) {
        let learner =
            self.learner(fetch.stream).filter(|(stream, _)| fetch.awaited > 0 && stream.file == fetch.extent.file);
        if let Some((stream, most)) = learner {
            stream.pace.waited(fetch.extent.start, fetch.awaited, most);
        }
    }

    /// Books a frame that was given up for want of room, and the second chances that were given on the way.
    pub(super) fn book_eviction(&mut self, slot: Slot, out: &mut Actions) {
        while let Some(spared) = self.directory.take_spared() {
            self.came_unread(spared.key, spared.owner);
        }
        let gone = self.directory.released();
        if gone.unused && !R::SPARES {
            self.came_unread(gone.key, gone.owner);
        }
        self.book_release(slot, out);
    }

    fn came_unread(&mut self, key: BlockKey, owner: StreamId) {
        if let Some((stream, _)) = self.learner(owner).filter(|(stream, _)| stream.file == key.file()) {
            stream.pace.unread(key.block());
        }
    }
}

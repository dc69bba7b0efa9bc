//! What a prefetcher hears of what became of its pieces.

use super::Engine;
use crate::event::Actions;
use crate::frames::Slot;
use crate::index::Index;
use crate::inflight::{Fetch, Read};
use crate::replacement::Replacement;
use crate::seams::Heard;
use crate::types::{BlockKey, StreamId};

impl<R: Replacement, I: Index> Engine<R, I> {
    /// A read has gone on with a stream; `missed` if it missed, as the furthest.
    pub(super) fn hears_read(&mut self, id: StreamId, read: &Read, missed: bool) {
        let label = read.label();
        if self.streams.get(id).is_some() {
            let heard = Heard { extent: read.extent, demand: label.demand, hits: label.hits, missed };
            self.prefetcher.heard(id, &heard);
        }
    }

    /// Blocks `first..end` were asked for at a time, ahead of a stream.
    pub(super) fn hears_asked(&mut self, id: StreamId, first: u32, end: u32) {
        if self.streams.get(id).is_some_and(|stream| end > stream.next) {
            self.prefetcher.asked(id, first, end);
        }
    }

    /// A fetch has arrived: perhaps a reader waited for it already.
    pub(super) fn hears_arrival(&mut self, fetch: &Fetch) {
        let its = self.streams.get(fetch.stream).is_some_and(|stream| stream.file == fetch.extent.file);
        if fetch.awaited > 0 && its {
            self.prefetcher.waited(fetch.stream, fetch.extent.start, fetch.awaited);
        }
    }

    /// Books a frame that was given up for want of room, and the second chances that were given on
    /// the way.
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
        if self.streams.get(owner).is_some_and(|stream| stream.file == key.file()) {
            self.prefetcher.came_unread(owner, key.block());
        }
    }
}

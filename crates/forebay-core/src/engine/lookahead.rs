//! Looking ahead: the streams, and the prefetcher, which is told of them.
//!
//! The room answers which stream a read belongs to (step 4), what the policy wants fetched for that
//! (step 5, in `plan`). It hears what became of the pieces.

mod plan;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use super::MAX_READ_BYTES;
use super::memory::Memory;
use super::setup::Setup;
use super::storage::Storage;
use crate::demand::Demands;
use crate::index::Index;
use crate::inflight::{Fetch, Read};
use crate::level;
use crate::replacement::Replacement;
use crate::seams::{Heard, MAX_PIECE_BYTES, Needs, Plan, Prefetcher, Sharers, Tally};
use crate::stream::{Feedback, Streams};
use crate::types::{BlockKey, Caller, ContextId, Extent, FileId, HandlerId, Instant, StreamId};

/// Streams, and the policy that looks ahead for them.
pub(super) struct Lookahead {
    streams: Streams,
    prefetcher: Box<dyn Prefetcher>,
    /// Its needs, asked once.
    needs: Needs,
}

/// The role of a read in its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// Its first access.
    Begins,
    /// It brings the stream further; `lost` if it missed what had been fetched for it.
    GoesOn { lost: bool },
    /// It is behind where the stream is already: a late part of a large read, or a look back. It
    /// fetches nothing ahead of the stream.
    Lags,
}

impl Turn {
    /// Whether a policy may be asked what lies near a miss. Of many random readers most are behind
    /// where some stream is already.
    pub(super) fn may_miss_near(self) -> bool {
        matches!(self, Turn::Begins | Turn::Lags)
    }
}

/// The stream of a read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Followed {
    /// Its place.
    pub(super) id: StreamId,
    /// The turn that the read is.
    pub(super) turn: Turn,
}

impl Lookahead {
    /// No stream, and a prefetcher.
    pub(super) fn new(setup: &Setup, prefetcher: Box<dyn Prefetcher>) -> Lookahead {
        let needs = prefetcher.needs();
        let lag = if needs.late_parts { (MAX_READ_BYTES / setup.block_bytes).max(1) } else { 1 };
        let mut streams = Streams::new(setup.streams, MAX_PIECE_BYTES / setup.block_bytes, lag);
        if let Some(slot) = needs.demand {
            streams.measure(Demands::new(slot, setup.streams.max(1), setup.devices.len()));
        }
        Lookahead { streams, prefetcher, needs }
    }

    /// The needs of the prefetcher.
    pub(super) fn needs(&self) -> &Needs {
        &self.needs
    }

    /// The streams.
    pub(super) fn streams(&self) -> &Streams {
        &self.streams
    }

    /// The prefetcher.
    pub(super) fn prefetcher(&self) -> &dyn Prefetcher {
        self.prefetcher.as_ref()
    }

    /// N_stream (CPEM §4.2): among how many streams what memory allows is shared, at least one.
    pub(super) fn sharers<R: Replacement, I: Index>(&self, memory: &Memory<R, I>, storage: &Storage) -> u32 {
        let active = self.streams.active();
        let all = Sharers { open_files: storage.open_files(), streams: active + self.streams.holding() };
        memory.sharers(&all, active)
    }

    /// Step 4: the stream of a read, begun or moved on. A stream had `brought` or expected a block
    /// of it, and it has `missed` another.
    pub(super) fn follow(
        &mut self,
        read: &Read,
        brought: Option<StreamId>,
        missed: Option<u32>,
        storage: &mut Storage,
        at: Instant,
    ) -> Followed {
        let Extent { file, start, .. } = read.extent;
        let who = Caller { handler: read.handler, context: read.context };
        let label = read.label();
        let known = brought.filter(|&id| self.streams.is_at(id, who.handler, read.extent, at));
        let known = known.or_else(|| self.streams.locate(who.handler, file, start, at)).or_else(|| {
            // The blocks that readers found above begin where the stream ended.
            let told = (!label.hits.is_empty()).then_some(label.hits.start)?;
            self.streams.locate(who.handler, file, told, at).filter(|_| told < start)
        });
        let Some(id) = known else {
            let device = storage.file(file).map(|file| file.device).unwrap_or_default();
            self.give_up_streams(at, storage);
            self.leave_behind(who.handler, file, storage);
            let id = self.streams.begin(at, read.extent, &label, device, who);
            self.prefetcher.takes_place(id);
            return Followed { id, turn: Turn::Begins };
        };
        let ahead = self.ahead_of(id);
        if !self.streams.advance(id, at, read.extent, &label, who) {
            if !self.streams.restart(id, at, read.extent, &label, who) {
                return Followed { id, turn: Turn::Lags };
            }
            self.prefetcher.takes_place(id);
            return Followed { id, turn: Turn::Begins };
        }
        self.went_on(id, read.extent, storage);
        let lost = missed.is_some_and(|missed| missed < ahead);
        Followed { id, turn: Turn::GoesOn { lost } }
    }

    /// A stream has gone on, perhaps to the end of its file.
    fn went_on(&mut self, id: StreamId, read: Extent, storage: &mut Storage) {
        let Some(blocks) = storage.goes_on(read.file) else { return };
        let at_end = read.end() >= blocks;
        if at_end {
            self.streams.retire(id);
        }
        if let Some(stream) = self.streams.get(id) {
            self.prefetcher.goes_on(stream, at_end);
        }
    }

    /// Streams that were silent for long, or have to make room, are over.
    fn give_up_streams(&mut self, at: Instant, storage: &Storage) {
        if !self.needs.endings {
            return;
        }
        while let Some(stream) = self.streams.gives_up(at) {
            self.prefetcher.is_over(stream, storage.blocks(stream.file));
        }
    }

    /// A handler begins to read elsewhere in a file. That the stream that it was at is over is
    /// known only when that has been silent for long; that reads of its context are followed by
    /// others elsewhere is known now.
    fn leave_behind(&mut self, handler: HandlerId, file: FileId, storage: &Storage) {
        if !self.needs.endings {
            return;
        }
        let blocks = storage.blocks(file);
        if let Some(stream) = self.streams.leaves_behind(handler, file).filter(|stream| stream.next < blocks) {
            self.prefetcher.is_left(stream);
        }
    }

    /// Up to which block a stream has everything there or under way.
    pub(super) fn ahead_of(&self, id: StreamId) -> u32 {
        self.streams.get(id).map_or(0, |stream| stream.ahead)
    }

    /// The blocks that were fetched ahead for a stream and that it has not read.
    pub(super) fn unread(&self, id: StreamId) -> Extent {
        let stream = self.streams.get(id);
        stream.map_or_else(Extent::default, |stream| Extent::between(stream.file, stream.next, stream.ahead))
    }

    /// The first block of a stream's present run that has enough before it to be sequential.
    pub(super) fn first_sequential(&self, id: StreamId) -> Option<u32> {
        let wanted = self.streams.get(id)?.wanted;
        let before = self.needs.sequential.saturating_sub(1);
        (wanted.run > before).then(|| wanted.end - wanted.run + before)
    }

    /// Up to `end` everything of a plan is there or under way, for a stream that a read has begun
    /// or moved on.
    pub(super) fn is_fetched(&mut self, followed: &Followed, end: u32, plan: &Plan, read: &Read) {
        let Some(stream) = self.streams.get_mut(followed.id) else { return };
        stream.ahead = stream.ahead.max(end);
        if followed.turn == Turn::Begins {
            stream.piece = stream.ahead.saturating_sub(read.extent.start);
        } else if plan.pieces > 0 && (read.label().adapts() || stream.piece == 0) {
            stream.piece = plan.piece;
            stream.distance = plan.distance;
            stream.why = plan.why;
        }
    }

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

    /// A fetch is over.
    pub(super) fn hears_served(&mut self, fetch: &Fetch, storage: &Storage, tally: Tally) {
        self.prefetcher.served(fetch.device, &storage.device(fetch.device).counters, tally);
    }

    /// A fetch does not bring its blocks from `block` on: its stream is in slow start again. But a
    /// stream whose fetch was called off, should it go on after all, misses there, and has lost
    /// nothing.
    pub(super) fn hears_loss(&mut self, fetch: &Fetch, block: u32, called_off: bool) {
        let its = self.streams.get_mut(fetch.stream).filter(|stream| stream.file == fetch.extent.file);
        let Some(stream) = its else { return };
        self.prefetcher.lost(fetch.stream, block);
        if called_off {
            stream.ahead = stream.ahead.min(block).max(stream.next);
        } else {
            stream.piece = 0;
        }
    }

    /// A block that a stream had fetched ahead came to its turn to go unread.
    pub(super) fn came_unread(&mut self, key: BlockKey, owner: StreamId) {
        if self.streams.get(owner).is_some_and(|stream| stream.file == key.file()) {
            self.prefetcher.came_unread(owner, key.block());
        }
    }

    /// A block that a stream had fetched ahead has gone unread.
    pub(super) fn went_unread(&mut self, key: BlockKey, owner: StreamId) {
        if let Some(stream) = self.streams.get_mut(owner).filter(|stream| stream.file == key.file()) {
            stream.feedback.wasted += 1;
            self.streams.holds_no_more(owner);
        }
    }

    /// Counts what became of blocks that were prefetched for a stream.
    pub(super) fn feed_back(&mut self, stream: Option<StreamId>, how: impl FnOnce(&mut Feedback)) {
        if let Some(stream) = stream.and_then(|id| self.streams.get_mut(id)) {
            how(&mut stream.feedback);
        }
    }

    /// A fetch of a file is issued for a stream, if that still is one of the file: who reads that,
    /// and what the level below is told that it has read since the fetch before.
    pub(super) fn asks_below(&mut self, id: StreamId, file: FileId, demand: Extent) -> (HandlerId, Extent) {
        let stream = self.streams.get_mut(id).filter(|stream| stream.file == file);
        stream.map(|stream| (stream.handler, level::note(stream, demand))).unwrap_or_default()
    }

    /// A read of a stream waits.
    pub(super) fn waits(&mut self, id: StreamId) {
        self.streams.waits(id);
    }

    /// A read of a stream waits no longer.
    pub(super) fn waits_no_longer(&mut self, id: StreamId, now: Instant) {
        self.streams.waits_no_longer(id, now);
    }

    /// A handler is gone.
    pub(super) fn exited(&mut self, handler: HandlerId) {
        self.streams.exited(handler);
    }

    /// A file of this many blocks is closed: its streams rest.
    pub(super) fn rest(&mut self, file: FileId, blocks: u32) {
        let prefetcher = &mut self.prefetcher;
        self.streams.rest(file, |stream| prefetcher.is_closed(stream, blocks));
    }

    /// A file is no more, nor are its streams.
    pub(super) fn forget(&mut self, file: FileId) {
        self.streams.forget(file);
    }

    /// [`Prefetcher::hinted`].
    pub(super) fn hinted(&mut self, context: ContextId, usual: crate::hint::Usual) {
        self.prefetcher.hinted(context, usual);
    }

    /// [`Prefetcher::learnt`].
    pub(super) fn learnt(&self) -> BTreeMap<ContextId, crate::hint::Usual> {
        let mut learnt = BTreeMap::new();
        self.prefetcher.learnt(&mut learnt);
        learnt
    }

    /// The bytes of bookkeeping.
    pub(super) fn footprint(&self) -> usize {
        self.streams.footprint() + self.prefetcher.footprint()
    }
}

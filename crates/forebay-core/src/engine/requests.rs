//! Requests: the reads that are not done, the fetches under way, and who waits for which.
//!
//! The room answers which reads wait for frames, in order of arrival, what a level above said of
//! each, and which reads a fetch that is over has served.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;

use crate::inflight::{Fetch, InFlight, Read};
use crate::level::Label;
use crate::types::{Caller, Extent, FileId, Instant, IoId, ReadId, StreamId};

/// Reads and fetches.
#[derive(Default)]
pub(super) struct Requests {
    inflight: InFlight,
    /// Reads that wait for frames.
    queue: VecDeque<ReadId>,
    /// The label that the level above gave the next read.
    label: Option<(ReadId, Label)>,
}

/// A fetch that was issued again, after another one had failed.
#[derive(Clone, Copy)]
pub(super) struct Anew {
    pub(super) io: IoId,
    pub(super) extent: Extent,
}

impl Requests {
    /// The level above says this of a read that comes next.
    pub(super) fn labels(&mut self, read: ReadId, label: Label) {
        self.label = Some((read, label));
    }

    /// A read of `extent`, of a file of so many blocks, begins.
    #[inline]
    pub(super) fn begins(&mut self, read: ReadId, caller: Caller, extent: Extent, blocks: u32) {
        let Caller { handler, context } = caller;
        let label = self.label.take().filter(|&(labelled, _)| labelled == read);
        let label = label.map(|(_, label)| label.of(extent, blocks));
        let stream = StreamId::NONE;
        let begun = Read { extent, handler, context, stream, label, pending: 0, admitted: false, error: None };
        self.inflight.begin(read, begun);
    }

    /// A read that is not done.
    pub(super) fn read(&self, read: ReadId) -> Option<Read> {
        self.inflight.read(read)
    }

    /// Whether reads wait for frames.
    pub(super) fn are_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The first read that waits for frames.
    pub(super) fn first_queued(&self) -> Option<ReadId> {
        self.queue.front().copied()
    }

    /// A read waits for frames.
    pub(super) fn queues(&mut self, read: ReadId) {
        self.queue.push_back(read);
    }

    /// The first read that waited for frames does so no longer.
    pub(super) fn leaves_queue(&mut self) {
        self.queue.pop_front();
    }

    /// The frames of a read are held.
    pub(super) fn admits(&mut self, read: ReadId) {
        if let Some(read) = self.inflight.read_mut(read) {
            read.admitted = true;
        }
    }

    /// A read that was admitted belongs to a stream. Whether it waits for a fetch.
    pub(super) fn waits(&mut self, read: ReadId, stream: StreamId) -> bool {
        let waiting = self.inflight.read_mut(read).filter(|read| read.pending > 0);
        waiting.map(|read| read.stream = stream).is_some()
    }

    /// [`InFlight::wait`].
    pub(super) fn waits_for(&mut self, read: ReadId, io: IoId, at: Instant) {
        self.inflight.wait(at, read, io);
    }

    /// [`InFlight::awaits`]. Says for which stream the block was prefetched.
    pub(super) fn awaits(&mut self, io: IoId, block: u32, wanted: Extent) -> Option<StreamId> {
        self.inflight.awaits(io, block, wanted);
        self.inflight.fetch(io).map(|fetch| fetch.stream)
    }

    /// Whether a fetch brings what a told list names before anybody reads it.
    pub(super) fn is_told_ahead(&self, io: IoId) -> bool {
        self.inflight.fetch(io).is_some_and(Fetch::is_hint)
    }

    /// A read is done.
    pub(super) fn ends(&mut self, read: ReadId) -> Option<Read> {
        self.inflight.end(read)
    }

    /// A fetch is issued.
    pub(super) fn issues(&mut self, fetch: Fetch) -> IoId {
        self.inflight.issue(fetch)
    }

    /// [`InFlight::is_near`].
    pub(super) fn is_near(&mut self, io: IoId) {
        self.inflight.is_near(io);
    }

    /// [`InFlight::over`].
    pub(super) fn over(&mut self, io: IoId, waiters: &mut Vec<ReadId>) -> Option<Fetch> {
        self.inflight.over(io, waiters)
    }

    /// [`InFlight::call_off`].
    pub(super) fn call_off(&mut self, file: FileId, each: impl FnMut(IoId)) {
        self.inflight.call_off(file, each);
    }

    /// If a read wants a block of `bad`, it has failed. Says what it holds and has to let go of.
    pub(super) fn fails(&mut self, read: ReadId, bad: Extent, error: i32) -> Option<Extent> {
        let read = self.inflight.read_mut(read).filter(|read| overlap(read.extent, bad))?;
        read.error = Some(error);
        mem::take(&mut read.admitted).then_some(read.extent)
    }

    /// A read that holds frames waits for those of the fetches `anew` that bring a block of it.
    pub(super) fn waits_anew(&mut self, read: ReadId, anew: &[Anew], at: Instant) {
        let Some(extent) = self.read(read).filter(|read| read.admitted).map(|read| read.extent) else { return };
        for fetch in anew.iter().filter(|fetch| overlap(fetch.extent, extent)) {
            self.waits_for(read, fetch.io, at);
        }
    }

    /// A read waits for one fetch fewer. Says which it was if it waits for none any more.
    pub(super) fn waits_no_longer(&mut self, read: ReadId) -> Option<Read> {
        let read = self.inflight.read_mut(read)?;
        read.pending -= 1;
        (read.pending == 0).then_some(*read)
    }

    /// The fetches and the reads, as they are.
    pub(super) fn inflight(&self) -> &InFlight {
        &self.inflight
    }

    /// The bytes of bookkeeping.
    pub(super) fn footprint(&self) -> usize {
        self.inflight.footprint()
    }
}

fn overlap(a: Extent, b: Extent) -> bool {
    a.file == b.file && a.start < b.end() && b.start < a.end()
}

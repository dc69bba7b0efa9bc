//! Steps 2, 3 and 6 of a read: take what is there, wait for what is under way, find room for the
//! rest.

use super::Engine;
use crate::event::{Action, Actions};
use crate::frames::{FETCHING, Slot, UNREAD, flag};
use crate::history::Was;
use crate::index::Index;
use crate::inflight::Read;
use crate::replacement::{Class, Replacement};
use crate::seams::{Access, Use};
use crate::types::{BlockKey, Caller, Extent, Instant, IoId, ReadId, StreamId};

/// What a read met on its way through its blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Met {
    /// The stream that had brought, or expected, the last such block.
    pub(super) stream: Option<StreamId>,
    /// The first block that nobody had asked for.
    pub(super) missed: Option<u32>,
    /// Where blocks of the read's context go, if contexts have partitions.
    pub(super) access: Option<Access>,
}

impl<R: Replacement, I: Index> Engine<R, I> {
    /// Admits a read if all its frames can be had, and does all that follows from it. `false`
    /// changes nothing.
    pub(super) fn admit(&mut self, at: Instant, id: ReadId, out: &mut Actions) -> bool {
        let Some(mut read) = self.inflight.read(id) else { return true };
        if !self.hold(read.extent) {
            return false;
        }
        read.admitted = true;
        self.inflight.begin(id, read);
        self.runs.clear();
        let met = self.refer(id, &read, out);
        let stream = self.prefetch(at, &read, met, out);
        self.issue(at, id, stream, out);
        match self.inflight.read_mut(id) {
            Some(read) if read.pending > 0 => {
                read.stream = stream;
                self.streams.waits(stream);
            }
            _ => out.push(Action::Ready { read: id }),
        }
        true
    }

    /// Admits the reads that wait for frames, as far as they can be.
    pub(super) fn admit_queued(&mut self, at: Instant, out: &mut Actions) {
        while let Some(&next) = self.queue.front() {
            if !self.admit(at, next, out) {
                return;
            }
            self.queue.pop_front();
        }
    }

    /// Pins every block of `extent` that is resident or under way, provided that frames for the
    /// others can be had.
    fn hold(&mut self, extent: Extent) -> bool {
        let mut missing = 0;
        let mut held = 0;
        for key in extent.keys() {
            match self.resident(key) {
                Some(slot) if self.directory.frames.pins(slot) == u16::MAX => break,
                Some(slot) => self.pin(slot),
                None => missing += 1,
            }
            held += 1;
        }
        if held == extent.len && missing <= self.available() {
            return true;
        }
        for key in extent.keys().take(held as usize) {
            if let Some(slot) = self.resident(key) {
                self.unpin_slot(slot);
            }
        }
        false
    }

    /// Refers to every block of a read that is held. Absent ones get a frame and are collected in
    /// `runs`.
    fn refer(&mut self, id: ReadId, read: &Read, out: &mut Actions) -> Met {
        let mut met = Met::default();
        let Some(home) = self.files.get(read.extent.file).map(|file| file.home()) else { return met };
        let wanted = read.label().demand;
        let caller = Caller { handler: read.handler, context: read.context };
        for key in read.extent.keys() {
            let device = home.device_of(key.block()).index();
            self.hears_of(device, key);
            met.access = self.accessed(device, key, caller, read.extent.len);
            match self.resident(key) {
                Some(slot) if self.directory.frames.list(slot) == FETCHING => {
                    let io = IoId(self.directory.frames.owner(slot).0);
                    self.is_for(slot, key, met.access);
                    if self.directory.frames.has(slot, flag::PREFETCHED) {
                        self.no_longer_under_way(slot);
                        self.directory.frames.clear(slot, flag::PREFETCHED);
                        self.devices[device].counters.late += 1;
                        met.stream = self.inflight.fetch(io).map(|fetch| fetch.stream);
                        self.inflight.awaits(io, key.block(), wanted);
                        self.feed_back(met.stream, |feedback| feedback.late += 1);
                    } else {
                        self.devices[device].counters.joined += 1;
                    }
                    self.inflight.wait(self.now, id, io);
                }
                Some(slot) => {
                    self.devices[device].counters.hits += 1;
                    if let Some(stream) = self.refer_resident(slot, device, wanted.has(key.block()), met.access) {
                        met.stream = Some(stream);
                    }
                }
                None => {
                    self.devices[device].counters.misses += 1;
                    self.learn_from_miss(key, device, met.stream);
                    self.demand(key, met.access, out);
                    met.missed = met.missed.or(Some(key.block()));
                }
            }
        }
        met
    }

    /// Refers to a resident frame. Says which stream had brought or expected it, if this is the
    /// first reference since.
    fn refer_resident(&mut self, slot: Slot, device: usize, wanted: bool, access: Option<Access>) -> Option<StreamId> {
        let frames = &mut self.directory.frames;
        let stream = frames.has(slot, flag::PREFETCHED | flag::EXPECTED).then(|| frames.owner(slot));
        if frames.has(slot, flag::PREFETCHED) {
            frames.clear(slot, flag::PREFETCHED | flag::EXPECTED);
            let unread = frames.list(slot) == UNREAD;
            self.devices[device].counters.used += 1;
            self.feed_back(stream, |feedback| feedback.used += 1);
            self.learn_of_gap(self.directory.frames.key(slot), self.directory.frames.owner(slot), true);
            if unread {
                self.admit_to_segment(slot, access);
            } else {
                self.referred(slot, device, access, if R::SORTS && !wanted { Use::Passed } else { Use::First });
            }
        } else {
            frames.clear(slot, flag::EXPECTED);
            self.referred(slot, device, access, if R::SORTS && !wanted { Use::Passed } else { Use::Hit });
        }
        stream
    }

    /// A miss on a block that went a short while ago: thrashing if nobody had read it then. The
    /// ceiling learns of both kinds.
    fn learn_from_miss(&mut self, key: BlockKey, device: usize, stream: Option<StreamId>) {
        let Some(was) = self.history.missed(key) else { return };
        if was == Was::Unread {
            self.devices[device].counters.thrashed += 1;
            self.feed_back(stream, |feedback| feedback.thrashed += 1);
        }
        if let Some(reclaimer) = &mut self.reclaimer {
            reclaimer.missed(was);
        }
    }

    /// Gives an absent block that a read wants a frame, pinned for it.
    fn demand(&mut self, key: BlockKey, access: Option<Access>, out: &mut Actions) {
        let class = self.class_of_missed(key, access);
        if let Some(slot) = self.assign(key, class, out) {
            self.pin(slot);
            let apart = self.begins_unit(key);
            Self::append(&mut self.runs, key, apart);
        }
    }

    /// Whether a block lies on another device than the one before it.
    pub(super) fn begins_unit(&self, key: BlockKey) -> bool {
        self.files.get(key.file()).is_some_and(|file| file.home().begins_unit(key.block()))
    }

    /// Gives an absent block a frame in the list of those being fetched. `None` if every frame is
    /// held.
    pub(super) fn assign(&mut self, key: BlockKey, class: Class, out: &mut Actions) -> Option<Slot> {
        if let Some(ghost) = self.directory.find(key) {
            self.segments.remove(&mut self.directory, ghost);
            self.directory.release(ghost);
        }
        self.make_room(self.partition_of(key), class, out)?;
        let slot = self.directory.assign(key, FETCHING)?;
        self.directory.frames.set_count(slot, class & 0x0f);
        if let Some(file) = self.files.get_mut(key.file()) {
            file.frames += 1;
            let device = file.device_of(key.block());
            self.devices[device.index()].frames += 1;
        }
        Some(slot)
    }

    /// The frame of a block that is resident or under way.
    pub(super) fn resident(&self, key: BlockKey) -> Option<Slot> {
        self.directory.find(key).filter(|&slot| !self.directory.frames.is_ghost(slot))
    }

    /// Appends a block to the last of `runs`, or begins a new one: always, if it must be `apart`
    /// from what lies before.
    pub(super) fn append(runs: &mut alloc::vec::Vec<Extent>, key: BlockKey, apart: bool) {
        match runs.last_mut() {
            Some(run) if run.is_empty() && run.start == key.block() && run.file == key.file() => run.len = 1,
            Some(run) if !apart && run.end() == key.block() && run.file == key.file() => run.len += 1,
            _ => runs.push(Extent { file: key.file(), start: key.block(), len: 1 }),
        }
    }

    fn feed_back(&mut self, stream: Option<StreamId>, how: impl FnOnce(&mut crate::stream::Feedback)) {
        if let Some(stream) = stream.and_then(|id| self.streams.get_mut(id)) {
            how(&mut stream.feedback);
        }
    }
}

//! A read, step by step: its blocks are held, or it waits. Then steps 2, 3 and 6: it refers to
//! resident blocks and waits for those under way; absent ones get frames, for which others may have
//! to go.

use super::memory::{Found, Room, Row};
use super::tell::For;
use super::{Engine, MAX_READ_BYTES};
use crate::event::{Action, Actions};
use crate::frames::Slot;
use crate::history::Was;
use crate::index::Index;
use crate::inflight::Read;
use crate::replacement::{Class, Replacement};
use crate::seams::Access;
use crate::types::{BlockKey, Caller, DeviceId, Extent, IoId, ReadId, StreamId};

/// The findings of a read on its way through its blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Met {
    /// The stream that had brought, or expected, the last such block.
    pub(super) stream: Option<StreamId>,
    /// The first block that nobody had asked for.
    pub(super) missed: Option<u32>,
    /// Where blocks of the read's context go, if contexts have partitions.
    pub(super) access: Option<Access>,
    /// Whether a told list names the read.
    pub(super) told: bool,
}

impl<R: Replacement, I: Index> Engine<R, I> {
    /// The longest read that is handled whole, in blocks.
    pub(super) fn longest_read(&self) -> u32 {
        (MAX_READ_BYTES / self.storage.block_bytes() + 1).min(self.memory.size() / 4).max(1)
    }

    /// A read begins: it is admitted, or waits for frames behind those that wait already.
    pub(super) fn read(&mut self, read: ReadId, caller: Caller, extent: Extent, out: &mut Actions) {
        self.memory.unread().ran(caller.handler, self.now);
        self.requests.begins(read, caller, extent, self.storage.blocks(extent.file));
        if self.requests.are_queued() || !self.admit(read, out) {
            self.requests.queues(read);
        }
    }

    /// Admits the reads that wait for frames, as far as they can be.
    pub(super) fn admit_queued(&mut self, out: &mut Actions) {
        while let Some(next) = self.requests.first_queued() {
            if !self.admit(next, out) {
                return;
            }
            self.requests.leaves_queue();
        }
    }

    /// Admits a read if all its frames can be had, and does all that follows from it. `false`
    /// changes nothing.
    fn admit(&mut self, id: ReadId, out: &mut Actions) -> bool {
        let Some(read) = self.requests.read(id) else { return true };
        if !self.memory.hold(read.extent) {
            return false;
        }
        self.requests.admits(id);
        self.runs.clear();
        let told = self.told.is_any() && self.is_told(read.extent, read.handler);
        let met = self.refer(id, &read, told, out);
        // A list knows better than any stream.
        let stream = if told { StreamId::NONE } else { self.look_ahead(&read, met, out) };
        self.issue(id, &read, stream, told, out);
        if self.requests.waits(id, stream) {
            self.lookahead.waits(stream);
        } else {
            out.push(Action::Ready { read: id });
        }
        true
    }

    /// Refers to every block of a read that is held. Absent ones get a frame and are collected in
    /// `runs`.
    fn refer(&mut self, id: ReadId, read: &Read, told: bool, out: &mut Actions) -> Met {
        let mut met = Met { told, ..Met::default() };
        let Some(home) = self.storage.file(read.extent.file).map(|file| file.home()) else { return met };
        let wanted = read.label().demand;
        let caller = Caller { handler: read.handler, context: read.context };
        let mut row = Row::default();
        for key in read.extent.keys() {
            let device = home.device_of(key.block());
            self.memory.hears_of(device, key);
            met.access = self.accessed(device, key, caller, read.extent.len);
            match self.memory.look_up_next(key, &mut row) {
                Found::Resident(slot) => {
                    self.storage.counters(device).hits += 1;
                    let stream = self.refer_resident(slot, device, wanted.has(key.block()), &met);
                    met.stream = stream.or(met.stream);
                }
                Found::UnderWay(slot, io) => {
                    self.join(slot, io, device, wanted, &mut met);
                    self.requests.waits_for(id, io, self.now);
                }
                Found::Absent => {
                    self.storage.counters(device).misses += 1;
                    let again = self.learn_from_miss(key, device, met.stream) == Some(Was::Referenced);
                    let whose = if told { For::List } else { For::Others { again } };
                    let class = self.memory.class_of_missed(key, device, met.access);
                    if let Some(slot) = self.assign(key, class, whose, out) {
                        self.memory.pin(slot);
                        self.runs.append(key, home.begins_unit(key.block()));
                    }
                    met.missed = met.missed.or(Some(key.block()));
                }
            }
        }
        met
    }

    /// A block of a device is accessed, resident or not, by a read of so many: where it goes, if
    /// contexts have partitions.
    #[inline]
    pub(super) fn accessed(&mut self, device: DeviceId, key: BlockKey, caller: Caller, len: u32) -> Option<Access> {
        let switch = || self.lookahead.part_of_a_switch(key, caller, len, &self.storage, self.now);
        self.memory.accessed(device, key, caller, switch)
    }

    /// Refers to a resident frame. Says which stream had brought or expected it, if this is the
    /// first reference since.
    fn refer_resident(&mut self, slot: Slot, device: DeviceId, wanted: bool, met: &Met) -> Option<StreamId> {
        if self.memory.is_lists(slot) {
            self.refer_lists(slot, device, met);
            return None;
        }
        let first = self.memory.refer(slot, device, wanted, met.access)?;
        if first.used {
            self.storage.counters(device).used += 1;
            self.lookahead.feed_back(Some(first.stream), |feedback| feedback.used += 1);
        }
        Some(first.stream)
    }

    /// A read refers to a frame that is under way, and will wait for it.
    fn join(&mut self, slot: Slot, io: IoId, device: DeviceId, wanted: Extent, met: &mut Met) {
        let key = self.memory.frames().key(slot);
        let told = self.requests.is_told_ahead(io);
        if !self.memory.joins(slot, device, met.access, told) {
            self.storage.counters(device).joined += 1;
            return;
        }
        self.storage.counters(device).late += 1;
        if told {
            self.storage.counters(device).hints_used += 1;
            self.is_told_no_longer(key, false);
            return;
        }
        met.stream = self.requests.awaits(io, key.block(), wanted);
        self.lookahead.feed_back(met.stream, |feedback| feedback.late += 1);
    }

    /// A miss on a block that went a short while ago is thrashing if nobody had read it then. Says
    /// what it was then.
    fn learn_from_miss(&mut self, key: BlockKey, device: DeviceId, stream: Option<StreamId>) -> Option<Was> {
        let was = self.memory.unread().missed(key);
        if was == Some(Was::Unread) {
            self.storage.counters(device).thrashed += 1;
            self.lookahead.feed_back(stream, |feedback| feedback.thrashed += 1);
        }
        was
    }

    /// Gives an absent block a frame in the list of those being fetched. `None` if every frame is
    /// held. Frames of told lists may have to make room.
    pub(super) fn assign(&mut self, key: BlockKey, class: Class, whose: For, out: &mut Actions) -> Option<Slot> {
        if self.memory.lists_have() > 0 {
            self.lists_make_room(whose, out);
        }
        self.assign_room(key, class, out)
    }

    /// The same, where told lists have given what they have to give.
    pub(super) fn assign_room(&mut self, key: BlockKey, class: Class, out: &mut Actions) -> Option<Slot> {
        let sharers = self.lookahead.sharers(&self.memory, &self.storage);
        match self.memory.make_room(key, class, &self.storage, sharers, self.now) {
            Some(Room::GivenUp(slot)) => self.gives_up(slot, out),
            Some(Room::Free) => {}
            None if self.lists_give(0, out) => {}
            None => return None,
        }
        let slot = self.memory.assign(key, class)?;
        self.storage.takes_frame(key);
        Some(slot)
    }

    /// Books a frame that was given up for want of room, and the second chances that were given on
    /// the way.
    pub(super) fn gives_up(&mut self, slot: Slot, out: &mut Actions) {
        while let Some(spared) = self.memory.take_spared() {
            self.lookahead.came_unread(spared.key, spared.owner);
        }
        let gone = self.memory.released();
        if gone.unused && !R::SPARES {
            self.lookahead.came_unread(gone.key, gone.owner);
        }
        self.book_release(slot, out);
    }

    /// Books what the frame released last held.
    pub(super) fn book_release(&mut self, slot: Slot, out: &mut Actions) {
        let gone = self.memory.released();
        let unread = gone.unused.then_some(gone.key);
        out.push(Action::Evict { frame: self.memory.frame(slot), unread });
        let Some(device) = self.leaves(gone.key, out) else { return };
        // A list knows itself what it gives up, and must not drive out what others miss.
        if gone.owner != StreamId::TOLD {
            self.memory.unread().went(gone.key, if gone.unused { Was::Unread } else { Was::Referenced });
        }
        if gone.unused {
            self.storage.counters(device).wasted += 1;
            self.storage.counters(device).hints_wasted += u64::from(gone.owner == StreamId::TOLD);
            self.lookahead.went_unread(gone.key, gone.owner);
        }
    }

    /// A frame no longer holds a block. Says on which device that lies.
    pub(super) fn leaves(&mut self, key: BlockKey, out: &mut Actions) -> Option<DeviceId> {
        let left = self.storage.leaves_frame(key)?;
        if left.emptied {
            out.push(Action::Emptied { file: key.file() });
        }
        Some(left.device)
    }
}

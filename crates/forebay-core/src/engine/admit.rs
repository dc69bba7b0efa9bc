//! A read, step by step: its blocks are held, or it waits. Then steps 2, 3 and 6: it refers to
//! resident blocks and waits for those under way; absent ones get frames, for which others may have
//! to go.

use super::memory::{Found, Room};
use super::{Engine, MAX_READ_BYTES};
use crate::event::{Action, Actions};
use crate::frames::Slot;
use crate::history::Was;
use crate::index::Index;
use crate::inflight::Read;
use crate::replacement::{Class, Replacement};
use crate::seams::Access;
use crate::types::{BlockKey, Caller, DeviceId, Extent, ReadId, StreamId};

/// The findings of a read on its way through its blocks.
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
        let met = self.refer(id, &read, out);
        let stream = self.look_ahead(&read, met, out);
        self.issue(id, &read, stream, out);
        if self.requests.waits(id, stream) {
            self.lookahead.waits(stream);
        } else {
            out.push(Action::Ready { read: id });
        }
        true
    }

    /// Refers to every block of a read that is held. Absent ones get a frame and are collected in
    /// `runs`.
    fn refer(&mut self, id: ReadId, read: &Read, out: &mut Actions) -> Met {
        let mut met = Met::default();
        let Some(home) = self.storage.file(read.extent.file).map(|file| file.home()) else { return met };
        let wanted = read.label().demand;
        let caller = Caller { handler: read.handler, context: read.context };
        for key in read.extent.keys() {
            let device = home.device_of(key.block());
            self.memory.hears_of(device, key);
            met.access = self.accessed(device, key, caller, read.extent.len);
            match self.memory.look_up(key) {
                Found::Resident(slot) => {
                    self.storage.counters(device).hits += 1;
                    let stream = self.refer_resident(slot, device, wanted.has(key.block()), met.access);
                    met.stream = stream.or(met.stream);
                }
                Found::UnderWay(slot, io) => {
                    if self.memory.joins(slot, device, met.access) {
                        self.storage.counters(device).late += 1;
                        met.stream = self.requests.awaits(io, key.block(), wanted);
                        self.lookahead.feed_back(met.stream, |feedback| feedback.late += 1);
                    } else {
                        self.storage.counters(device).joined += 1;
                    }
                    self.requests.waits_for(id, io, self.now);
                }
                Found::Absent => {
                    self.storage.counters(device).misses += 1;
                    self.learn_from_miss(key, device, met.stream);
                    let class = self.memory.class_of_missed(key, device, met.access);
                    if let Some(slot) = self.assign(key, class, out) {
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
    fn refer_resident(
        &mut self,
        slot: Slot,
        device: DeviceId,
        wanted: bool,
        access: Option<Access>,
    ) -> Option<StreamId> {
        let first = self.memory.refer(slot, device, wanted, access)?;
        if first.used {
            self.storage.counters(device).used += 1;
            self.lookahead.feed_back(Some(first.stream), |feedback| feedback.used += 1);
            self.learn_of_gap(self.memory.frames().key(slot), first.stream, true);
        }
        Some(first.stream)
    }

    /// A miss on a block that went a short while ago is thrashing if nobody had read it then.
    fn learn_from_miss(&mut self, key: BlockKey, device: DeviceId, stream: Option<StreamId>) {
        if self.memory.unread().missed(key) == Some(Was::Unread) {
            self.storage.counters(device).thrashed += 1;
            self.lookahead.feed_back(stream, |feedback| feedback.thrashed += 1);
        }
    }

    /// Gives an absent block a frame in the list of those being fetched. `None` if every frame is
    /// held.
    pub(super) fn assign(&mut self, key: BlockKey, class: Class, out: &mut Actions) -> Option<Slot> {
        let sharers = self.lookahead.sharers(&self.memory, &self.storage);
        if let Room::GivenUp(slot) = self.memory.make_room(key, class, &self.storage, sharers, self.now)? {
            self.gives_up(slot, out);
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
        out.push(Action::Evict { frame: self.memory.frame(slot) });
        let Some(device) = self.leaves(gone.key, out) else { return };
        self.memory.unread().went(gone.key, if gone.unused { Was::Unread } else { Was::Referenced });
        if gone.unused {
            self.storage.counters(device).wasted += 1;
            self.learn_of_gap(gone.key, gone.owner, false);
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

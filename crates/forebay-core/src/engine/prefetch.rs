//! Steps 4 and 5 of a read: the stream that it belongs to, and what is fetched for that stream now.

use core::mem;

use super::admit::Met;
use super::{Access, Engine};
use crate::demand::{Supply, cycle};
use crate::devices::{ALWAYS, Device};
use crate::event::Actions;
use crate::files::File;
use crate::frames::{FETCHING, flag};
use crate::index::Index;
use crate::inflight::Read;
use crate::reason::Reason;
use crate::replacement::Replacement;
use crate::seams::{Begun, MAX_PIECE_BYTES, Miss, Near, Plan, Sharers, Sight};
use crate::stream::Stream;
use crate::types::{BlockKey, Caller, DeviceId, Extent, FileId, HandlerId, Instant, StreamId};

/// What a read is to its stream.
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

impl<R: Replacement, I: Index> Engine<R, I> {
    /// Moves the read's stream on, gives frames to what its policy wants fetched and appends that
    /// to `runs`. Returns the stream, or `NONE` if the read tells nothing about any.
    pub(super) fn prefetch(&mut self, at: Instant, read: &Read, met: Met, out: &mut Actions) -> StreamId {
        let tells = met.stream.is_some() || met.missed.is_some() || self.needs.every_reference;
        if !tells || read.extent.is_empty() {
            return StreamId::NONE;
        }
        let (id, turn) = self.follow(at, read, met);
        self.sort(id, read);
        let plan = self.plan(id, read, met.missed, turn);
        self.hears_read(id, read, met.missed.is_some() && turn != Turn::Lags);
        if self.load_near(id, read, met, turn, plan, out) {
            return id;
        }
        let Some(plan) = plan else { return id };
        let from = match met.missed {
            Some(missed) => missed,
            None => self.streams.get(id).map_or(0, |stream| stream.ahead),
        };
        if met.missed.is_none() {
            self.renew(id);
        }
        if turn != Turn::Begins
            && let Some(device) = self.files.get(read.extent.file).map(|file| file.device_of(from))
        {
            self.devices[device.index()].company.goes_on(id);
        }
        let end = self.fetch_ahead(id, read.extent.file, from, plan, met.access, out);
        self.hears_asked(id, from, end);
        if let Some(stream) = self.streams.get_mut(id) {
            stream.ahead = stream.ahead.max(end);
            if turn == Turn::Begins {
                stream.piece = stream.ahead.saturating_sub(read.extent.start);
            } else if plan.pieces > 0 && (read.label().adapts() || stream.piece == 0) {
                stream.piece = plan.piece;
                stream.distance = plan.distance;
                stream.why = plan.why;
            }
        }
        id
    }

    /// Step 4: the stream of a read, begun or moved on.
    fn follow(&mut self, at: Instant, read: &Read, met: Met) -> (StreamId, Turn) {
        let Extent { file, start, .. } = read.extent;
        let who = Caller { handler: read.handler, context: read.context };
        let label = read.label();
        let known = met.stream.filter(|&id| self.streams.is_at(id, who.handler, read.extent, at));
        let known = known.or_else(|| self.streams.locate(who.handler, file, start, at)).or_else(|| {
            // What readers found above begins where the stream ended.
            let told = (!label.hits.is_empty()).then_some(label.hits.start)?;
            self.streams.locate(who.handler, file, told, at).filter(|_| told < start)
        });
        let Some(id) = known else {
            let device = self.files.get(file).map(|file| file.device).unwrap_or_default();
            self.give_up_streams(at);
            self.leave_behind(who.handler, file);
            let id = self.streams.begin(at, read.extent, &label, device, who);
            self.prefetcher.takes_place(id);
            return (id, Turn::Begins);
        };
        let (next, ahead) = self.streams.get(id).map_or((start, 0), |stream| (stream.next, stream.ahead));
        if !self.streams.advance(id, at, read.extent, &label, who) {
            if !self.streams.restart(id, at, read.extent, &label, who) {
                return (id, Turn::Lags);
            }
            self.prefetcher.takes_place(id);
            return (id, Turn::Begins);
        }
        self.leaves_out(id, Extent::between(file, next.min(start), start));
        self.went_on(id, read.extent);
        (id, Turn::GoesOn { lost: met.missed.is_some_and(|missed| missed < ahead) })
    }

    /// A stream has gone on, perhaps to the end of its file.
    fn went_on(&mut self, id: StreamId, read: Extent) {
        let Some(entry) = self.files.get_mut(read.file) else { return };
        entry.went_on();
        let at_end = read.end() >= entry.blocks;
        if at_end {
            self.streams.retire(id);
        }
        if let Some(stream) = self.streams.get(id) {
            self.prefetcher.goes_on(stream, at_end);
        }
    }

    /// A stream begins: how far it goes is for the policy to expect, and how much its reader may
    /// skip.
    fn expect(&mut self, id: StreamId, read: Extent) {
        let Some(file) = self.files.get(read.file) else { return };
        let (blocks, competitive_depth) = (file.blocks, self.competitive_depth(file, read.start));
        let Some(stream) = self.streams.get_mut(id) else { return };
        stream.stride = self.prefetcher.begins(&Begun { id, stream, blocks, request: read.len, competitive_depth });
    }

    /// Nobody has a file open: its streams rest.
    pub(super) fn rest(&mut self, file: FileId) {
        let blocks = self.files.get(file).map_or(0, |file| file.blocks);
        let prefetcher = &mut self.prefetcher;
        self.streams.rest(file, |stream| prefetcher.is_closed(stream, blocks));
    }

    /// Streams that were silent for long, or have to make room, are over.
    fn give_up_streams(&mut self, at: Instant) {
        if !self.needs.endings {
            return;
        }
        while let Some(stream) = self.streams.gives_up(at) {
            self.prefetcher.is_over(&stream, self.files.get(stream.file).map_or(0, |file| file.blocks));
        }
    }

    /// A handler begins to read elsewhere in a file. That the stream that it was at is over is
    /// known only when that has been silent for long; that reads of its context are followed by
    /// others elsewhere is known now.
    fn leave_behind(&mut self, handler: HandlerId, file: FileId) {
        if !self.needs.endings {
            return;
        }
        let blocks = self.files.get(file).map_or(0, |file| file.blocks);
        if let Some(stream) = self.streams.leaves_behind(handler, file).filter(|stream| stream.next < blocks) {
            self.prefetcher.is_left(&stream);
        }
    }

    /// Step 5: asks the policy. `None` if nothing is to be fetched ahead.
    fn plan(&mut self, id: StreamId, read: &Read, missed: Option<u32>, turn: Turn) -> Option<Plan> {
        // Readers that wait for frames come first.
        if !self.queue.is_empty() || turn == Turn::Lags {
            return None;
        }
        let fresh = turn == Turn::Begins;
        if fresh {
            self.files.get(read.extent.file)?;
            self.expect(id, read.extent);
        }
        let entry = self.files.get_mut(read.extent.file)?;
        let initial_window = if fresh { entry.initial_window() } else { 0 };
        let stream = *self.streams.get(id)?;
        let sight = Sight {
            request: read.extent.len,
            adapts: read.label().adapts(),
            fresh,
            lost: turn == (Turn::GoesOn { lost: true }),
            initial_window,
            ..self.sight(id, &stream, missed)?
        };
        let plan = self.prefetcher.plan(&sight);
        let told = fresh || plan.why.piece == Reason::Sparse;
        if told && let Some(stream) = self.streams.get_mut(id) {
            stream.why = plan.why;
        }
        (plan.pieces > 0).then_some(plan)
    }

    /// C_switch · R_tr where a block of a file lies, in blocks, at least one.
    pub(super) fn competitive_depth(&self, file: &File, block: u32) -> u32 {
        let device = &self.devices[file.device_of(block).index()];
        let place = file.place(block, self.setup.block_bytes).unwrap_or(0);
        // A piece of a striped file is a part of it for each of its devices.
        self.worth_a_switch(device, place, file.stripe.map_or(1, |stripe| stripe.devices))
    }

    /// The same at a place of a device, of a file that lies on so many.
    pub(super) fn worth_a_switch(&self, device: &Device, place: u64, parts: u16) -> u32 {
        let depth = device.cost.competitive_depth(device.seek_distance, place).saturating_mul(parts.into());
        ((depth.min(u64::from(MAX_PIECE_BYTES)) / u64::from(self.setup.block_bytes)) as u32).max(1)
    }

    /// A stream and what surrounds it, at a read of one block that brings it further.
    pub(super) fn sight<'s>(&self, id: StreamId, stream: &'s Stream, missed: Option<u32>) -> Option<Sight<'s>> {
        let block_bytes = self.setup.block_bytes;
        let (share, longest_piece) = self.memory_for_a_stream();
        let entry = self.files.get(stream.file)?;
        let next = missed.unwrap_or(stream.ahead);
        let device = &self.devices[entry.device_of(next).index()];
        let place = entry.place(next, block_bytes).unwrap_or(0);
        let competitive_depth = self.competitive_depth(entry, next);
        let reclaimer = self.reclaimer.as_ref();
        Some(Sight {
            id,
            stream,
            request: 1,
            adapts: true,
            missed,
            fresh: false,
            lost: false,
            initial_window: 0,
            competitive_depth,
            worth_a_switch: reclaimer
                .map_or(competitive_depth, |reclaimer| reclaimer.worth_a_switch(competitive_depth)),
            interrupted: if device.seeks() { device.company.interrupted() } else { ALWAYS },
            share,
            longest_piece,
            gaps_are_left_out: entry.gaps.are_left_out(),
            is_random: entry.is_random(),
            blocks: entry.blocks,
            idle: device.cost.channels.max(1).saturating_sub(device.under_way),
            own_time: device.blocks_in(stream.own_time, place, block_bytes),
            respite: device.respite.map(|time| device.blocks_in(time, place, block_bytes)),
            most: MAX_PIECE_BYTES / block_bytes,
            channels: device.cost.channels.max(1),
            active: self.streams.active().max(1),
            room: self.room_ahead(),
            supply: self.supply(id, stream.device),
        })
    }

    /// How many blocks all streams may have ahead: the prefetch cache's room, or, if that is more,
    /// half of what nobody else would miss. The other half is for the pieces that are being read.
    pub(super) fn room_ahead(&self) -> u32 {
        match &self.reclaimer {
            Some(reclaimer) if !self.hands_on() => {
                let frames = &self.directory.frames;
                let nobodys = self.segments.spare(frames).map_or(0, |spare| reclaimer.len(frames) + spare);
                reclaimer.room(self.sharers()).max(nobodys / 2)
            }
            _ => self.setup.referenced.room(self.setup.frames),
        }
    }

    /// A stream's demand among that of all (SCM §4.1), if the policy goes by it.
    fn supply(&self, id: StreamId, device: DeviceId) -> Supply {
        let streams = self.streams.active().max(1);
        let Some(demands) = self.streams.demands() else { return Supply { streams, ..Supply::default() } };
        let own = demands.of(id);
        let lead_time = self.devices[device.index()].lead_time;
        let all = demands.sums().iter().zip(&self.devices);
        let (rate, deviation, roots) = (own.rate, own.deviation, demands.roots());
        let begun = Supply { rate, deviation, lead_time, roots, streams, ..Supply::default() };
        all.fold(begun, |supply, (sum, device)| Supply {
            rates: supply.rates + sum.rate,
            deviations: supply.deviations + sum.deviation,
            cycles: supply.cycles + cycle(sum.rate, device.lead_time),
            ..supply
        })
    }

    /// Gives frames to the absent blocks of a plan and appends them to `runs`, one run or more a
    /// piece. Returns the block up to which everything is there or under way.
    pub(super) fn fetch_ahead(
        &mut self,
        id: StreamId,
        file: FileId,
        from: u32,
        plan: Plan,
        access: Option<Access>,
        out: &mut Actions,
    ) -> u32 {
        let Some(entry) = self.files.get(file) else { return from };
        let (blocks, home) = (entry.blocks, entry.home());
        let mut at = from;
        for piece in 0..plan.pieces {
            let piece_end = from.saturating_add(plan.piece.saturating_mul(piece + 1)).min(blocks);
            // The first piece goes on with the demand; a later one is a fetch of its own.
            let mut apart = piece > 0;
            while at < piece_end {
                if let Some(end) = self.gap_at(id, at) {
                    let gap = Extent::between(file, at, end.min(blocks));
                    // Behind the last block that is wanted of a piece nothing is.
                    let through = gap.end() < piece_end && self.is_read_through(gap);
                    if through && !self.fetch_gap(gap, &mut apart, access, out) {
                        return at;
                    }
                    apart |= !through;
                    at = gap.end();
                    continue;
                }
                let key = BlockKey::new(file, at);
                if let Some(slot) = self.resident(key) {
                    let frames = &mut self.directory.frames;
                    // Somebody read it before: let its next reference tell this stream all the
                    // same.
                    if frames.list(slot) != FETCHING && !frames.has(slot, flag::PREFETCHED) {
                        frames.set(slot, flag::EXPECTED);
                        frames.set_owner(slot, id);
                    }
                } else {
                    let class = self.class_of_prefetched(key, access);
                    let Some(slot) = self.assign(key, class, out) else { return at };
                    let flags = if R::SORTS { flag::PREFETCHED | flag::SEQUENTIAL } else { flag::PREFETCHED };
                    self.directory.frames.set(slot, flags);
                    if let Some(reclaimer) = &mut self.reclaimer {
                        reclaimer.awaits();
                    }
                    self.devices[home.device_of(at).index()].counters.prefetched += 1;
                    self.append_to_piece(key, home.begins_unit(at), &mut apart);
                }
                at += 1;
            }
        }
        at.max(from)
    }

    /// Appends a block to the run that its piece has, or begins one, if it is to be apart from what
    /// lies before.
    pub(super) fn append_to_piece(&mut self, key: BlockKey, begins_unit: bool, apart: &mut bool) {
        if mem::take(apart) {
            self.runs.push(Extent { file: key.file(), start: key.block(), len: 0 });
        }
        Self::append(&mut self.runs, key, begins_unit);
    }

    /// How many blocks one stream may have prefetched and unread, its part of what memory allows
    /// for all; and how many one piece may have. With a prefetch cache that is Ŝp = P_mem /
    /// N_stream (CPEM §4.2), and the piece being read is not counted, as in the kernel's two
    /// windows: what is beyond the ceiling has room beside it. Without, or if there is nothing
    /// beside it, two pieces must have room.
    pub(super) fn memory_for_a_stream(&self) -> (u32, u32) {
        let share = (self.room_ahead() / self.sharers()).max(1);
        let beside = self.reclaimer.is_some() && !self.hands_on();
        (share, if beside { share } else { (share / 2).max(1) })
    }

    /// N_stream (CPEM §4.2), at least one.
    pub(super) fn sharers(&self) -> u32 {
        let active = self.streams.active();
        let streams = self.reclaimer.as_ref().map_or(active, |reclaimer| {
            let streams = active + self.streams.holding();
            reclaimer.sharers(&Sharers { open_files: self.files.handles(), streams })
        });
        streams.max(1)
    }

    /// Fetches the neighbourhood in which a read has missed, if its stream's plan would bring less.
    /// Whether it did.
    fn load_near(
        &mut self,
        id: StreamId,
        read: &Read,
        met: Met,
        turn: Turn,
        plan: Option<Plan>,
        out: &mut Actions,
    ) -> bool {
        // Of many random readers most are behind where some stream is already.
        let Some(missed) = met.missed.filter(|_| self.needs.near && self.queue.is_empty()) else { return false };
        if !matches!(turn, Turn::Begins | Turn::Lags) {
            return false;
        }
        let Some(Near { region, piece }) = self.neighbourhood(read.extent, missed) else { return false };
        let planned = plan.map_or(0, |plan| plan.piece.saturating_mul(plan.pieces));
        if region.end().saturating_sub(missed) <= planned {
            return false;
        }
        // In pieces, since whoever wants a block waits for all of its piece.
        let pieces = |rest: u32| Plan { piece: piece.min(rest), pieces: rest.div_ceil(piece), ..Plan::NOTHING };
        // What lies behind comes with the demand.
        self.fetch_ahead(id, region.file, missed, pieces(region.end() - missed), met.access, out);
        let before = read.extent.start.saturating_sub(region.start);
        self.fetch_ahead(id, region.file, region.start, pieces(before), met.access, out);
        true
    }

    fn neighbourhood(&self, read: Extent, block: u32) -> Option<Near> {
        let file = self.files.get(read.file)?;
        let device = &self.devices[file.device_of(block).index()];
        self.prefetcher.near(&Miss {
            read,
            block,
            file,
            device: &device.cost,
            under_way: device.under_way,
            competitive_depth: self.competitive_depth(file, block),
            free: self.free_frames(),
            block_bytes: self.setup.block_bytes,
            is_there: &|key| self.resident(key).is_some(),
        })
    }
}

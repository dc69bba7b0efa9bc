//! Steps 4 and 5 of a read: the stream that it belongs to, and what is fetched for that stream now.

use core::mem;

use super::admit::Met;
use super::{Access, Device, Engine};
use crate::event::Actions;
use crate::files::{File, INITIAL_WINDOW};
use crate::frames::{FETCHING, flag};
use crate::index::Index;
use crate::inflight::Read;
use crate::knowledge::{Knowledge, Whose};
use crate::prefetch::{ALWAYS, Plan, Reason, Sight};
use crate::reclaim::StreamCount;
use crate::replacement::Replacement;
use crate::stream::Stream;
use crate::trigger::{Supply, cycle};
use crate::types::{BlockKey, DeviceId, Extent, FileId, HandlerId, Instant, StreamId};

/// What a read is to its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// Its first access.
    Begins,
    /// It brings the stream further; `lost` if it missed what had been fetched for it.
    GoesOn { lost: bool },
    /// It is behind where the stream is already: a late part of a large read, or a look back. It fetches nothing ahead of the stream.
    Lags,
}

impl<R: Replacement, I: Index> Engine<R, I> {
    /// Moves the read's stream on, gives frames to what its policy wants fetched and appends that to `runs`. Returns the
    /// stream, or `NONE` if the read tells nothing about any.
    pub(super) fn prefetch(&mut self, at: Instant, read: &Read, met: Met, out: &mut Actions) -> StreamId {
        let tells = met.stream.is_some() || met.missed.is_some() || self.every_reference;
        if !tells || read.extent.is_empty() {
            return StreamId::NONE;
        }
        let (id, turn) = self.follow(at, read, met);
        self.sort(id, read);
        let plan = self.plan(id, read, met.missed, turn);
        self.pace_by_read(id, read, met.missed.filter(|_| turn != Turn::Lags));
        if let Some(missed) = met.missed
            && self.load_near(id, read, (missed, turn, plan), (met.access, &mut *out))
        {
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
        let end = self.fetch_ahead(id, read.extent.file, from, plan, (met.access, out));
        self.pace_by_set(id, from, end);
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
        let who = (read.handler, read.context);
        let label = read.label();
        let known = met.stream.filter(|&id| self.streams.is_at(id, who.0, read.extent, at));
        let known = known.or_else(|| self.streams.locate(who.0, file, start, at)).or_else(|| {
            // What readers found above begins where the stream ended.
            let told = (!label.hits.is_empty()).then_some(label.hits.start)?;
            self.streams.locate(who.0, file, told, at).filter(|_| told < start)
        });
        let Some(id) = known else {
            let device = self.files.get(file).map(|file| file.device).unwrap_or_default();
            self.give_up_streams(at);
            self.leave_behind(who.0, file);
            return (self.streams.begin(at, read.extent, &label, device, who), Turn::Begins);
        };
        let (next, ahead) = self.streams.get(id).map_or((start, 0), |stream| (stream.next, stream.ahead));
        if !self.streams.advance(id, at, read.extent, &label, who) {
            let again = self.streams.restart(id, at, read.extent, &label, who);
            return (id, if again { Turn::Begins } else { Turn::Lags });
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
        if let (Some(knowledge), Some(stream)) = (&mut self.knowledge, self.streams.get(id)) {
            knowledge.goes_on(BlockKey::new(read.file, stream.first), stream.next);
            if stream.steps == 1 && stream.left {
                knowledge.went_on_after_all(whose(stream));
            }
            if at_end {
                was_long(knowledge, stream);
                if stream.first == 0 {
                    knowledge.is_over(whose(stream), true);
                }
            }
        }
    }

    /// A stream begins: how far it is expected to go.
    fn expect(&mut self, id: StreamId, blocks: u32) {
        if let (Some(knowledge), Some(stream)) = (&mut self.knowledge, self.streams.get_mut(id)) {
            let first = BlockKey::new(stream.file, stream.first);
            let end = knowledge.begins(whose(stream), first, blocks);
            stream.wanted_end = end.filter(|_| self.setup.prefetch.goes_by_ends());
            knowledge.goes_on(first, stream.next);
        }
    }

    /// A stream begins: how much its reader may skip.
    fn set_stride(&mut self, id: StreamId, read: Extent) {
        let depth = self.files.get(read.file).map_or(0, |file| self.competitive_depth(file, read.start));
        if let Some(stream) = self.streams.get_mut(id) {
            stream.stride = self.setup.prefetch.longest_stride(read.len, depth);
        }
    }

    /// Nobody has a file open: its streams rest.
    pub(super) fn rest(&mut self, file: FileId) {
        let blocks = self.files.get(file).map_or(0, |file| file.blocks);
        let knowledge = &mut self.knowledge;
        self.streams.rest(file, |stream| {
            let Some(knowledge) = knowledge.as_mut() else { return };
            learn(knowledge, stream, blocks);
            // What the first window holds tells nothing.
            if stream.first == 0 && blocks > INITIAL_WINDOW {
                knowledge.is_over(whose(stream), stream.next >= blocks);
            }
        });
    }

    /// Streams that were silent for long, or have to make room, are over.
    fn give_up_streams(&mut self, at: Instant) {
        let Some(knowledge) = self.knowledge.as_mut().filter(|_| self.setup.prefetch.goes_by_habits()) else { return };
        while let Some(stream) = self.streams.gives_up(at) {
            learn(knowledge, &stream, self.files.get(stream.file).map_or(0, |file| file.blocks));
        }
    }

    /// A handler begins to read elsewhere in a file. That the stream that it was at is over is known only when that has been silent for long;
    /// that reads of its context are followed by others elsewhere is known now.
    fn leave_behind(&mut self, handler: HandlerId, file: FileId) {
        let Some(knowledge) = self.knowledge.as_mut().filter(|_| self.setup.prefetch.goes_by_habits()) else { return };
        let blocks = self.files.get(file).map_or(0, |file| file.blocks);
        if let Some(stream) = self.streams.leaves_behind(handler, file).filter(|stream| stream.next < blocks) {
            knowledge.went_nowhere(whose(&stream));
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
            self.expect(id, self.files.get(read.extent.file)?.blocks);
            self.set_stride(id, read.extent);
        }
        self.weigh(id, missed);
        let entry = self.files.get_mut(read.extent.file)?;
        let initial_window = if fresh { entry.initial_window() } else { 0 };
        let sight = Sight {
            request: read.extent.len,
            adapts: read.label().adapts(),
            fresh,
            lost: turn == (Turn::GoesOn { lost: true }),
            initial_window,
            ..self.sight(id, missed)?
        };
        let plan = self.setup.prefetch.plan(&sight);
        let told = fresh || plan.why.piece == Reason::Sparse;
        if told && let Some(stream) = self.streams.get_mut(id) {
            stream.why = plan.why;
        }
        (plan.pieces > 0).then_some(plan)
    }

    /// The odds of how far a stream goes, weighed by what a switch costs where it is.
    fn weigh(&mut self, id: StreamId, missed: Option<u32>) {
        let Some(stream) = self.streams.get(id).filter(|_| self.setup.prefetch.goes_by_habits()) else { return };
        let Some(entry) = self.files.get(stream.file) else { return };
        let (whose, depth) = (whose(stream), self.competitive_depth(entry, missed.unwrap_or(stream.ahead)));
        let depth = self.prefetch_cache.as_ref().map_or(depth, |cache| cache.less_rent(depth));
        if let Some(knowledge) = &mut self.knowledge {
            knowledge.weigh(whose, depth);
        }
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
        ((depth.min(u64::from(super::MAX_PIECE_BYTES)) / u64::from(self.setup.block_bytes)) as u32).max(1)
    }

    /// A stream and what surrounds it, at a read of one block that brings it further.
    pub(super) fn sight(&self, id: StreamId, missed: Option<u32>) -> Option<Sight<'_>> {
        let block_bytes = self.setup.block_bytes;
        let stream = self.streams.get(id)?;
        let (share, longest_piece) = self.memory_for_a_stream();
        let entry = self.files.get(stream.file)?;
        let next = missed.unwrap_or(stream.ahead);
        let device = &self.devices[entry.device_of(next).index()];
        let place = entry.place(next, block_bytes).unwrap_or(0);
        let competitive_depth = self.competitive_depth(entry, next);
        let known = self.knowledge.as_ref().filter(|_| self.setup.prefetch.goes_by_lengths());
        let mean_length = known.and_then(|knowledge| knowledge.mean_length(whose(stream)));
        let known = self.knowledge.as_ref().filter(|_| self.setup.prefetch.goes_by_habits());
        Some(Sight {
            stream,
            request: 1,
            adapts: true,
            missed,
            fresh: false,
            lost: false,
            initial_window: 0,
            competitive_depth,
            interrupted: self.interrupted(device),
            share: self.spans(stream, share),
            longest_piece: self.spans(stream, longest_piece),
            wanted_end: stream.wanted_end,
            mean_length,
            habits: known.and_then(|knowledge| knowledge.habits(whose(stream))),
            of_context: known.is_some_and(|knowledge| knowledge.of_context(whose(stream)).is_some()),
            is_random: entry.is_random(),
            blocks: entry.blocks,
            idle: device.cost.channels.max(1).saturating_sub(device.under_way),
            own_time: device.blocks_in(stream.own_time, place, block_bytes),
            respite: device.respite.map(|time| device.blocks_in(time, place, block_bytes)),
            most: super::MAX_PIECE_BYTES / block_bytes,
            channels: device.cost.channels.max(1),
            active: self.streams.active().max(1),
            room: self.room_ahead(),
            supply: self.supply(id, stream.device),
        })
    }

    /// How often a stream that goes on pays for a switch. A store that does not seek makes it pay for every request.
    fn interrupted(&self, device: &Device) -> u32 {
        if device.seeks() && self.setup.prefetch.minds_company() { device.company.interrupted() } else { ALWAYS }
    }

    /// How many blocks all streams may have ahead: the prefetch cache's room, or, if that is more, half of what nobody else would miss.
    /// The other half is for the pieces that are being read.
    pub(super) fn room_ahead(&self) -> u32 {
        match &self.prefetch_cache {
            Some(cache) if !self.hands_on() => {
                let frames = &self.directory.frames;
                let nobodys = self.segments.spare(frames).map_or(0, |spare| cache.len(frames) + spare);
                cache.room(self.sharers()).max(nobodys / 2)
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

    /// Gives frames to the absent blocks of a plan and appends them to `runs`, one run or more a piece. Returns the block up
    /// to which everything is there or under way.
    pub(super) fn fetch_ahead(
        &mut self,
        id: StreamId,
        file: FileId,
        from: u32,
        plan: Plan,
        (access, out): (Option<Access>, &mut Actions),
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
                    if through && !self.fetch_gap(gap, &mut apart, (access, &mut *out)) {
                        return at;
                    }
                    apart |= !through;
                    at = gap.end();
                    continue;
                }
                let key = BlockKey::new(file, at);
                if let Some(slot) = self.resident(key) {
                    let frames = &mut self.directory.frames;
                    // Somebody read it before: let its next reference tell this stream all the same.
                    if frames.list(slot) != FETCHING && !frames.has(slot, flag::PREFETCHED) {
                        frames.set(slot, flag::EXPECTED);
                        frames.set_owner(slot, id);
                    }
                } else {
                    let class = self.class_of_prefetched(key, access);
                    let Some(slot) = self.assign(key, class, out) else { return at };
                    let flags = if R::SORTS { flag::PREFETCHED | flag::SEQUENTIAL } else { flag::PREFETCHED };
                    self.directory.frames.set(slot, flags);
                    if let Some(cache) = &mut self.prefetch_cache {
                        cache.awaits();
                    }
                    self.devices[home.device_of(at).index()].counters.prefetched += 1;
                    self.append_to_piece(key, home.begins_unit(at), &mut apart);
                }
                at += 1;
            }
        }
        at.max(from)
    }

    /// Appends a block to the run that its piece has, or begins one, if it is to be apart from what lies before.
    pub(super) fn append_to_piece(&mut self, key: BlockKey, begins_unit: bool, apart: &mut bool) {
        if mem::take(apart) {
            self.runs.push(Extent { file: key.file(), start: key.block(), len: 0 });
        }
        Self::append(&mut self.runs, key, begins_unit);
    }

    /// How many blocks one stream may have prefetched and unread, its part of what memory allows for all; and how many one piece
    /// may have. With a prefetch cache that is Ŝp = P_mem / N_stream (CPEM §4.2), and the piece being read is not counted, as in
    /// the kernel's two windows: what is beyond the ceiling has room beside it. Without, or if there is nothing beside it, two
    /// pieces must have room.
    pub(super) fn memory_for_a_stream(&self) -> (u32, u32) {
        let share = (self.room_ahead() / self.sharers()).max(1);
        let beside = self.prefetch_cache.is_some() && !self.hands_on();
        (share, if beside { share } else { (share / 2).max(1) })
    }

    /// N_stream (CPEM §4.2), at least one.
    pub(super) fn sharers(&self) -> u32 {
        let streams = match self.prefetch_cache.as_ref().map(|cache| cache.settings.streams) {
            Some(StreamCount::OpenFiles) => self.files.handles(),
            Some(StreamCount::Active) => self.streams.active() + self.streams.holding(),
            None => self.streams.active(),
        };
        streams.max(1)
    }
}

/// Whose habits a stream's end tells.
fn whose(stream: &Stream) -> Whose {
    Whose { device: stream.device, context: stream.context }
}

/// A stream is over that had not come to the end of its file.
fn learn(knowledge: &mut Knowledge, stream: &Stream, blocks: u32) {
    if stream.steps > 0 {
        was_long(knowledge, stream);
    } else if stream.next < blocks && !stream.left {
        knowledge.went_nowhere(whose(stream));
    }
}

/// A stream is over that went beyond its first read.
fn was_long(knowledge: &mut Knowledge, stream: &Stream) {
    let (whose, blocks) = (whose(stream), stream.next - stream.first.min(stream.next));
    if stream.left { knowledge.was_long_after_all(whose, blocks) } else { knowledge.was_long(whose, blocks) }
}

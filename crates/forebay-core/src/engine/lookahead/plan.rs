//! The plan: the policy is shown a stream, its device and its part of memory, and says how much is
//! to be fetched now.

use alloc::vec::Vec;

use super::{Followed, Lookahead, Turn};
use crate::demand::{Supply, cycle};
use crate::devices::ALWAYS;
use crate::engine::memory::Memory;
use crate::engine::storage::Storage;
use crate::index::Index;
use crate::inflight::Read;
use crate::reason::Reason;
use crate::replacement::Replacement;
use crate::seams::{Begun, MAX_PIECE_BYTES, Miss, Near, Plan, Sight, Visit};
use crate::stream::Stream;
use crate::types::{BlockKey, Caller, DeviceId, Extent, Instant, StreamId};

impl Lookahead {
    /// Step 5: asks the policy. `None` if nothing is to be fetched ahead.
    pub(in crate::engine) fn plan<R: Replacement, I: Index>(
        &mut self,
        followed: &Followed,
        read: &Read,
        missed: Option<u32>,
        memory: &Memory<R, I>,
        storage: &mut Storage,
    ) -> Option<Plan> {
        storage.file(read.extent.file)?;
        let (id, turn) = (followed.id, followed.turn);
        let fresh = turn == Turn::Begins;
        let initial_window = if fresh {
            self.expect(id, read.extent, storage);
            storage.initial_window(read.extent.file)
        } else {
            0
        };
        let stream = *self.streams.get(id)?;
        let sight = Sight {
            request: read.extent.len,
            adapts: read.label().adapts(),
            fresh,
            lost: turn == (Turn::GoesOn { lost: true }),
            initial_window,
            ..self.sight(id, &stream, missed, memory, storage)?
        };
        let plan = self.prefetcher.plan(&sight);
        let told = fresh || matches!(plan.why.piece, Reason::Sparse | Reason::NoGain);
        if told && let Some(stream) = self.streams.get_mut(id) {
            stream.why = plan.why;
        }
        (plan.pieces > 0).then_some(plan)
    }

    /// A stream begins: how far it goes is for the policy to expect, and how much its reader may
    /// skip.
    fn expect(&mut self, id: StreamId, read: Extent, storage: &Storage) {
        let Some(file) = storage.file(read.file) else { return };
        let (blocks, competitive_depth) = (file.blocks, storage.competitive_depth(file, read.start));
        let Some(stream) = self.streams.get_mut(id) else { return };
        stream.stride = self.prefetcher.begins(&Begun { id, stream, blocks, request: read.len, competitive_depth });
    }

    /// A stream and what surrounds it, at a read of one block that brings it further.
    pub(in crate::engine) fn sight<'s, R: Replacement, I: Index>(
        &self,
        id: StreamId,
        stream: &'s Stream,
        missed: Option<u32>,
        memory: &Memory<R, I>,
        storage: &Storage,
    ) -> Option<Sight<'s>> {
        let block_bytes = storage.block_bytes();
        let ahead = memory.ahead(self.sharers(memory, storage));
        let entry = storage.file(stream.file)?;
        let next = missed.unwrap_or(stream.ahead);
        let device = storage.device(entry.device_of(next));
        let place = entry.place(next, block_bytes).unwrap_or(0);
        let competitive_depth = storage.competitive_depth(entry, next);
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
            worth_a_switch: memory.worth_a_switch(competitive_depth),
            over_gap: match stream.mean_gap() {
                0 => competitive_depth,
                gap => storage.over_gap(entry, next, gap),
            },
            interrupted: if self.needs.company && device.seeks() { device.company.interrupted() } else { ALWAYS },
            share: ahead.share,
            longest_piece: ahead.longest_piece,
            is_random: entry.is_random(),
            blocks: entry.blocks,
            idle: device.cost.channels.max(1).saturating_sub(device.under_way),
            own_time: device.blocks_in(stream.own_time, place, block_bytes),
            respite: device.respite.map(|time| device.blocks_in(time, place, block_bytes)),
            most: MAX_PIECE_BYTES / block_bytes,
            channels: device.cost.channels.max(1),
            active: self.streams.active().max(1),
            room: ahead.room,
            supply: self.supply(id, stream.device, storage),
        })
    }

    /// A stream's demand among that of all (SCM §4.1), if the policy goes by it.
    fn supply(&self, id: StreamId, device: DeviceId, storage: &Storage) -> Supply {
        let streams = self.streams.active().max(1);
        let Some(demands) = self.streams.demands() else { return Supply { streams, ..Supply::default() } };
        let own = demands.of(id);
        let lead_time = storage.device(device).lead_time;
        let all = demands.sums().iter().zip(storage.devices());
        let (rate, deviation) = (own.rate, own.deviation);
        let begun = Supply { rate, deviation, lead_time, streams, ..Supply::default() };
        all.fold(begun, |supply, (sum, device)| Supply {
            rates: supply.rates + sum.rate,
            deviations: supply.deviations + sum.deviation,
            cycles: supply.cycles + cycle(sum.rate, device.lead_time),
            ..supply
        })
    }

    /// The neighbourhood to be loaded of a block that a read has missed, if there is one.
    pub(in crate::engine) fn near<R: Replacement, I: Index>(
        &self,
        read: Extent,
        block: u32,
        memory: &Memory<R, I>,
        storage: &Storage,
    ) -> Option<Near> {
        let free = memory.free_for_others();
        if free == 0 {
            return None;
        }
        let file = storage.file(read.file)?;
        let device = storage.device(file.device_of(block));
        self.prefetcher.near(&Miss {
            read,
            block,
            file,
            device: &device.cost,
            under_way: device.under_way,
            competitive_depth: storage.competitive_depth(file, block),
            free,
            block_bytes: storage.block_bytes(),
            is_there: &|key| memory.resident(key).is_some(),
        })
    }

    /// Appends what a read's reader will read next elsewhere, if the policy knows.
    pub(in crate::engine) fn elsewhere<R: Replacement, I: Index>(
        &mut self,
        read: &Read,
        missed: bool,
        followed: &Followed,
        memory: &Memory<R, I>,
        storage: &Storage,
        next: &mut Vec<Extent>,
    ) {
        let Extent { file, start, .. } = read.extent;
        let Some(entry) = storage.file(file) else { return };
        let device = entry.device_of(start);
        let channels = storage.device(device).cost.channels;
        if self.needs.elsewhere.is_none_or(|least| channels < least) {
            return;
        }
        let piece = storage.competitive_depth(entry, start);
        let length = |file| storage.file(file).filter(|file| !file.is_closed()).map(|file| file.blocks);
        let visit = Visit {
            handler: read.handler,
            read: read.extent,
            missed,
            blocks: entry.blocks,
            device,
            channels,
            room: memory.ahead(self.sharers(memory, storage)).room,
            piece,
            in_stream: matches!(followed.turn, Turn::GoesOn { .. })
                && self.streams.get(followed.id).is_some_and(|stream| !stream.is_sparse(piece)),
            length: &length,
        };
        self.prefetcher.elsewhere(&visit, next);
    }

    /// A block's part of a switch, were it missed by a read of so many, in the time of a block:
    /// those of a piece that is fetched for a stream, or of a read, share one. Where nothing is
    /// fetched ahead all misses are alike.
    #[inline(never)]
    pub(in crate::engine) fn part_of_a_switch(
        &self,
        key: BlockKey,
        caller: Caller,
        len: u32,
        storage: &Storage,
        now: Instant,
    ) -> u32 {
        let Some(file) = storage.file(key.file()).filter(|_| self.needs.looks_ahead) else { return 0 };
        let stream = self.streams.locate(caller.handler, key.file(), key.block(), now);
        let piece = stream.and_then(|id| self.streams.get(id)).map_or(0, |stream| stream.piece);
        storage.competitive_depth(file, key.block()) / piece.max(len).max(1)
    }
}

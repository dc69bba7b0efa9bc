//! The figures that the engine would go by now, as an explanation ([`explain`](crate::explain)).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::{Core, Engine};
use crate::explain::{Ahead, Device, Explanation, Partition, Share, Stream};
use crate::hint::Pattern;
use crate::index::Index;
use crate::partition::Callers;
use crate::replacement::Replacement;
use crate::seams::By;
use crate::types::{ContextId, DeviceId, Instant};

impl<R: Replacement + Send, I: Index + Send> Engine<R, I> {
    pub(super) fn explanation(&self, now: Instant, most: usize) -> Explanation {
        let sharers = self.lookahead.sharers(&self.memory, &self.storage);
        let ahead = self.memory.ahead(sharers);
        let room = ahead.room;
        let by_ceiling = self.memory.reclaimer().filter(|_| !self.memory.hands_on());
        let beyond =
            by_ceiling.map_or(0, |reclaimer| room.saturating_sub(reclaimer.explain(self.memory.frames()).ceiling));
        let ordered = by_ceiling.is_some_and(|reclaimer| reclaimer.room(sharers) == room);
        Explanation {
            block_bytes: self.storage.block_bytes(),
            frames: self.memory.size(),
            free: self.memory.free(),
            ahead: Ahead {
                off: !self.lookahead.needs().looks_ahead,
                room,
                by_ceiling: by_ceiling.is_some(),
                spare: if ordered { 0 } else { beyond },
                ordered: if ordered { beyond } else { 0 },
                streams: sharers,
                share: ahead.share,
                longest_piece: ahead.longest_piece,
            },
            stream_count: self.lookahead.streams().iter().count() as u32,
            streams: self.explained_streams(now, most),
            devices: self.explained_devices(),
            partitions: (0..self.memory.divider().map_or(1, |divider| divider.shares().len()))
                .map(|number| self.explained_partition(number))
                .collect(),
            epochs: self.memory.divider().map(|divider| divider.epochs()),
            prefetch_cache: self.prefetch_cache(),
            contexts: self
                .memory
                .callers()
                .map_or_else(Vec::new, |callers| callers.learnt().into_iter().map(Into::into).collect()),
        }
    }

    fn explained_streams(&self, now: Instant, most: usize) -> Vec<Stream> {
        let patterns: BTreeMap<u32, Pattern> = match self.memory.callers() {
            Some(callers) => callers.learnt().into_iter().map(|learnt| (learnt.id, learnt.pattern)).collect(),
            None => BTreeMap::new(),
        };
        let by = self.memory.callers().map(Callers::by);
        let block_bytes = u64::from(self.storage.block_bytes());
        let mut streams: Vec<_> = self.lookahead.streams().iter().collect();
        streams.sort_by_key(|&(id, stream)| (!self.lookahead.streams().is_active(id), Reverse(stream.last), id));
        let explained = streams.into_iter().take(most).map(|(id, stream)| {
            let sight = self.lookahead.sight(id, stream, None, &self.memory, &self.storage);
            Stream {
                pattern: by.and_then(|by| {
                    let told_apart = match by {
                        By::Context => stream.context.0,
                        By::File => stream.file.0,
                        By::Handler => stream.handler.0,
                    };
                    patterns.get(&told_apart).copied()
                }),
                idle: now.since(stream.last),
                rate: self.lookahead.streams().latest_rate(id, now, block_bytes),
                competitive_depth: sight.map_or(0, |sight| sight.competitive_depth),
                mean_length: self.lookahead.prefetcher().mean_length(stream.device, stream.context),
                wanted_end: self.lookahead.prefetcher().expected_end(id),
                elsewhere: self.lookahead.prefetcher().explain_elsewhere(stream.handler, stream.file),
                ..Stream::of(stream, self.lookahead.streams().is_active(id))
            }
        });
        explained.collect()
    }

    fn explained_devices(&self) -> Vec<Device> {
        let devices = (0..).map(DeviceId).zip(self.storage.devices());
        let explained = devices.map(|(number, device)| {
            let mean_length = self.lookahead.prefetcher().mean_length(number, ContextId(0));
            Device::of(device, self.storage.block_bytes(), mean_length)
        });
        explained.collect()
    }

    fn explained_partition(&self, number: usize) -> Partition {
        let mut parts = Vec::new();
        self.part_sizes(number, &mut parts);
        let duel = self.memory.segments().duel(number);
        let Some(divider) = self.memory.divider() else {
            let size = self.memory.size();
            return Partition { size, held: size - self.memory.free(), parts, duel, share: None };
        };
        let share = &divider.shares()[number];
        Partition {
            size: share.size,
            held: self.storage.devices()[number].frames,
            parts,
            duel,
            share: Some(Share {
                wait: share.wait,
                relative: share.relative,
                state: share.state,
                prospect: divider.prospect(number),
                change: share.change,
            }),
        }
    }
}

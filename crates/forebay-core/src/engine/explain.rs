//! What the engine would go by now, for whoever asks why ([`explain`](crate::explain)).

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
        let (share, longest_piece) = self.memory_for_a_stream();
        let reclaimer = self.reclaimer.as_ref();
        let by_ceiling = reclaimer.filter(|_| !self.hands_on());
        let room = self.room_ahead();
        let beyond =
            by_ceiling.map_or(0, |reclaimer| room.saturating_sub(reclaimer.explain(&self.directory.frames).ceiling));
        let ordered = by_ceiling.is_some_and(|reclaimer| reclaimer.room(self.sharers()) == room);
        Explanation {
            block_bytes: self.setup.block_bytes,
            frames: self.setup.frames,
            free: self.free_frames(),
            ahead: Ahead {
                room,
                by_ceiling: by_ceiling.is_some(),
                spare: if ordered { 0 } else { beyond },
                ordered: if ordered { beyond } else { 0 },
                streams: self.sharers(),
                share,
                longest_piece,
            },
            stream_count: self.streams.iter().count() as u32,
            streams: self.explained_streams(now, most),
            devices: self.explained_devices(),
            partitions: (0..self.divider.as_ref().map_or(1, |divider| divider.shares().len()))
                .map(|number| self.explained_partition(number))
                .collect(),
            epochs: self.divider.as_ref().map(|divider| divider.epochs()),
            prefetch_cache: self.prefetch_cache(),
            contexts: self
                .callers
                .as_ref()
                .map_or_else(Vec::new, |callers| callers.learnt().into_iter().map(Into::into).collect()),
        }
    }

    fn explained_streams(&self, now: Instant, most: usize) -> Vec<Stream> {
        let patterns: BTreeMap<u32, Pattern> = match &self.callers {
            Some(callers) => callers.learnt().into_iter().map(|learnt| (learnt.id, learnt.pattern)).collect(),
            None => BTreeMap::new(),
        };
        let by = self.callers.as_ref().map(Callers::by);
        let block_bytes = u64::from(self.setup.block_bytes);
        let mut streams: Vec<_> = self.streams.iter().collect();
        streams.sort_by_key(|&(id, stream)| (!self.streams.is_active(id), Reverse(stream.last), id));
        let explained = streams.into_iter().take(most).map(|(id, stream)| {
            let sight = self.sight(id, stream, None);
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
                rate: self.streams.bytes_a_second(id, now, block_bytes),
                competitive_depth: sight.map_or(0, |sight| sight.competitive_depth),
                mean_length: self.prefetcher.mean_length(stream.device, stream.context),
                wanted_end: self.prefetcher.expected_end(id),
                ..Stream::of(stream, self.streams.is_active(id))
            }
        });
        explained.collect()
    }

    fn explained_devices(&self) -> Vec<Device> {
        let devices = (0..).map(DeviceId).zip(&self.devices);
        let explained = devices.map(|(number, device)| {
            let mean_length = self.prefetcher.mean_length(number, ContextId(0));
            Device::of(device, self.setup.block_bytes, mean_length)
        });
        explained.collect()
    }

    fn explained_partition(&self, number: usize) -> Partition {
        let mut parts = Vec::new();
        self.program(number, &mut parts);
        let duel = self.segments.duel(number);
        let Some(divider) = &self.divider else {
            let size = self.setup.frames;
            return Partition { size, held: size - self.free_frames(), parts, duel, share: None };
        };
        let share = &divider.shares()[number];
        Partition {
            size: share.size,
            held: self.devices[number].frames,
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

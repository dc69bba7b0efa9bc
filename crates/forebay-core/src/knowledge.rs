//! What is known of how far a stream's readers will go: the length of its file, and what its readers wanted last time.
//!
//! Neither is worth anything by itself: a file may be read in random portions, and differently each time. So both are believed of
//! a device only while they keep coming true there. This goes past the papers, which know neither ("kernel-level prefetching does
//! not have this knowledge", CP §2).

use alloc::vec;
use alloc::vec::Vec;

use crate::types::{BlockKey, DeviceId};

/// How often something came true: an exponentially weighted share (weight 1/16).
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    /// In parts of [`ONE`].
    share: u32,
    seen: u32,
}

const ONE: u32 = 1 << 16;
/// Before that many times nothing is believed.
const FEW: u32 = 8;

impl Share {
    fn saw(&mut self, came_true: bool) {
        let new = if came_true { ONE } else { 0 };
        self.seen = self.seen.saturating_add(1);
        // The first ones count alike.
        let weight = self.seen.min(16);
        self.share = self.share - self.share / weight + new / weight;
    }

    /// Seven times of eight: then what is fetched in vain is at most a seventh of what is wanted.
    fn is_reliable(self) -> bool {
        self.seen >= FEW && self.share >= ONE / 8 * 7
    }
}

/// What is known of a device's streams.
#[derive(Clone, Copy, Debug, Default)]
struct Habits {
    /// Streams from the beginning of a file came to its end.
    whole: Share,
    /// Streams from the same block came to the same end.
    again: Share,
    /// Blocks of a stream, an exponentially weighted mean (weight 1/16), in sixteenths; and how many streams.
    length: u64,
    streams: u32,
}

/// How far the last stream from a block came.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The block; [`EMPTY`] if none.
    first: u64,
    /// The block after the last that was read.
    end: u32,
    /// The same of the stream before; zero if there was none.
    before: u32,
}

const EMPTY: u64 = u64::MAX;

/// What is known. The table of streams is direct-mapped: a newer one overwrites another that maps to the same place.
#[derive(Clone, Debug)]
pub struct Knowledge {
    table: Vec<Entry>,
    devices: Vec<Habits>,
}

impl Knowledge {
    /// Nothing is known yet. `streams` says how many streams are remembered, about.
    pub fn new(streams: u32, devices: usize) -> Knowledge {
        let entries = (streams as usize * 2).next_power_of_two();
        Knowledge {
            table: vec![Entry { first: EMPTY, end: 0, before: 0 }; entries],
            devices: vec![Habits::default(); devices],
        }
    }

    /// A stream begins with block `first` of a file of `blocks` blocks. Returns up to where it is expected to go, if anything is.
    pub fn begins(&mut self, device: DeviceId, first: BlockKey, blocks: u32) -> Option<u32> {
        let habits = self.devices.get_mut(device.index())?;
        let place = place(&self.table, first);
        let entry = &mut self.table[place];
        let known = entry.first == first.raw();
        if known && entry.before > 0 {
            habits.again.saw(entry.end == entry.before);
        }
        let last = known.then_some(entry.end);
        *entry = Entry { first: first.raw(), end: 0, before: last.unwrap_or(0) };
        match last {
            Some(end) if habits.again.is_reliable() => Some(end.min(blocks)),
            _ if first.block() == 0 && habits.whole.is_reliable() => Some(blocks),
            _ => None,
        }
    }

    /// The stream that began with `first` was read up to `end`.
    pub fn goes_on(&mut self, first: BlockKey, end: u32) {
        let place = place(&self.table, first);
        let entry = &mut self.table[place];
        if entry.first == first.raw() {
            entry.end = entry.end.max(end);
        }
    }

    /// A stream from the beginning of a file is over: it came to the end, or its file was closed before.
    pub fn is_over(&mut self, device: DeviceId, whole: bool) {
        if let Some(habits) = self.devices.get_mut(device.index()) {
            habits.whole.saw(whole);
        }
    }

    /// A stream is over that had `blocks`.
    pub fn was_long(&mut self, device: DeviceId, blocks: u32) {
        let Some(habits) = self.devices.get_mut(device.index()) else { return };
        habits.streams = habits.streams.saturating_add(1);
        // The first ones count alike.
        let weight = u64::from(habits.streams.min(16));
        habits.length = habits.length - habits.length / weight + u64::from(blocks) * 16 / weight;
    }

    /// How many blocks streams of a device had in the mean; `None` before there were a few.
    pub fn mean_length(&self, device: DeviceId) -> Option<u32> {
        let habits = self.devices.get(device.index()).filter(|habits| habits.streams >= FEW)?;
        u32::try_from(habits.length / 16).ok()
    }

    /// The bytes that it takes.
    pub fn footprint(&self) -> usize {
        self.table.len() * size_of::<Entry>() + self.devices.len() * size_of::<Habits>()
    }
}

fn place(table: &[Entry], first: BlockKey) -> usize {
    let mixed = (first.raw() ^ first.raw().rotate_left(31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize & (table.len() - 1)
}

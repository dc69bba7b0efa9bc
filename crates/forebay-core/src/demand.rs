//! Demand rates: how fast each stream is read, and how unevenly (SCM §4.1, "level and deviation of
//! per-stream access rates").
//!
//! Time is cut into slots; the blocks asked for in each are counted. The rate of a stream is the
//! mean over the last slots, its deviation the root of their variance:
//!
//! ```text
//!    blocks │      ▉        ▉
//!    a slot │ ▉  ▉ ▉ ▉   ▉  ▉ ▉        sliding window: the last 16 slots, each as much as any other
//!           │ ▉▉ ▉ ▉ ▉ ▉ ▉▉ ▉ ▉
//!           └───────────────────▶ t
//! ```
//!
//! The paper names neither the length of its window nor that of its samples. Silent streams leave
//! the sums when they no longer count as active ([`stream`](crate::stream)), so the others have
//! their part within seconds.

use alloc::vec;
use alloc::vec::Vec;

use crate::types::{DeviceId, Instant, StreamId};

/// Rates and deviations are in blocks per this many seconds.
pub const SCALE: u64 = 1024;

/// Slots of the sliding window.
const WINDOW: usize = 16;
const SECOND: u64 = 1_000_000_000;

/// A rate and its deviation, blocks per [`SCALE`] seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Level {
    /// R.
    pub rate: u64,
    /// σ.
    pub deviation: u64,
}

/// A stream among the others, as a trigger distance needs it (SCM §4.1). Rates and deviations are
/// in blocks per [`SCALE`] seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Supply {
    /// R_i.
    pub rate: u64,
    /// σ_i.
    pub deviation: u64,
    /// Σ R.
    pub rates: u64,
    /// Σ σ.
    pub deviations: u64,
    /// How long fetching a piece takes on its device, nanoseconds: t_prefetch.
    pub lead_time: u64,
    /// Σ T_C: the cycle inventories of all streams, each by the lead time of its device.
    pub cycles: u64,
    /// T_total.
    pub total: u32,
    /// n, at least 1.
    pub streams: u32,
}

/// R_i · t_prefetch, in blocks, rounded.
pub fn cycle(rate: u64, lead_time: u64) -> u64 {
    let scale = u128::from(SCALE) * 1_000_000_000;
    ((u128::from(rate) * u128::from(lead_time) + scale / 2) / scale).min(u128::from(u32::MAX)) as u64
}

/// The counts of one stream.
#[derive(Clone, Copy, Debug, Default)]
struct Meter {
    /// The slot that is being counted, and the blocks asked for in it.
    slot: u64,
    count: u32,
    /// When counting began.
    began: Instant,
    /// Slots that are over, up to [`WINDOW`].
    over: u8,
    /// The sliding window, a ring; its place is the slot's number.
    ring: [u32; WINDOW],
    /// Its part of the sums; zero while it is not active.
    booked: Level,
    device: DeviceId,
}

/// The demand rates of all streams, and their sums.
#[derive(Clone, Debug)]
pub struct Demands {
    /// Nanoseconds.
    slot: u64,
    meters: Vec<Meter>,
    /// Sums over active streams, by device.
    sums: Vec<Level>,
}

impl Demands {
    /// The demands of `streams` streams on `devices` devices, counted in slots of this many
    /// nanoseconds.
    pub fn new(slot: u64, streams: u32, devices: usize) -> Demands {
        let meters = vec![Meter::default(); streams as usize];
        Demands { slot: slot.max(1), meters, sums: vec![Level::default(); devices.max(1)] }
    }

    /// The level of an active stream.
    pub fn of(&self, stream: StreamId) -> Level {
        self.meters.get(stream.index()).map_or(Level::default(), |meter| meter.booked)
    }

    /// The level of a stream when it was read last, at `last`, whether it still is active or not.
    /// Nothing if that is not measured yet: no time has passed between its reads.
    pub fn latest(&self, stream: StreamId, last: Instant) -> Level {
        let Some(meter) = self.meters.get(stream.index()) else { return Level::default() };
        if meter.booked == Level::default() { meter.level(self.slot, last) } else { meter.booked }
    }

    /// The sums over the active streams of each device.
    pub fn sums(&self) -> &[Level] {
        &self.sums
    }

    /// A stream begins.
    pub fn begins(&mut self, stream: StreamId, at: Instant, blocks: u32, device: DeviceId) {
        self.rests(stream);
        let slot = at.0 / self.slot;
        if let Some(meter) = self.meters.get_mut(stream.index()) {
            *meter = Meter { slot, count: blocks, began: at, device, ..Meter::default() };
        }
    }

    /// An active stream is asked for `blocks` blocks more. O(1): the sums change once a slot, when
    /// it is over.
    pub fn asked(&mut self, stream: StreamId, at: Instant, blocks: u32) {
        let Some(meter) = self.meters.get_mut(stream.index()) else { return };
        let slot = at.0 / self.slot;
        let changes = slot > meter.slot || meter.over == 0;
        if slot > meter.slot {
            meter.close(slot);
        }
        meter.count = meter.count.saturating_add(blocks);
        if changes || meter.booked == Level::default() {
            let level = meter.level(self.slot, at);
            self.book(stream, level);
        }
    }

    /// A stream is no longer active: its part leaves the sums.
    pub fn rests(&mut self, stream: StreamId) {
        self.book(stream, Level::default());
    }

    fn book(&mut self, stream: StreamId, level: Level) {
        let Some(meter) = self.meters.get_mut(stream.index()) else { return };
        let before = core::mem::replace(&mut meter.booked, level);
        if before == level {
            return;
        }
        let at = meter.device.index().min(self.sums.len() - 1);
        let sum = &mut self.sums[at];
        sum.rate = sum.rate - before.rate + level.rate;
        sum.deviation = sum.deviation - before.deviation + level.deviation;
    }

    /// The bytes that it takes.
    pub fn footprint(&self) -> usize {
        self.meters.len() * size_of::<Meter>() + self.sums.len() * size_of::<Level>()
    }
}

impl Meter {
    /// The slot is over, and so are those up to `now`, in which nothing was asked for.
    fn close(&mut self, now: u64) {
        self.take(self.count);
        // More empty slots than the window has say nothing new.
        let empty = (now - self.slot - 1).min(4 * WINDOW as u64);
        self.slot = now - empty - 1;
        for _ in 0..empty {
            self.slot += 1;
            self.take(0);
        }
        self.slot = now;
        self.count = 0;
    }

    fn take(&mut self, count: u32) {
        self.ring[(self.slot % WINDOW as u64) as usize] = count;
        self.over = (self.over + 1).min(WINDOW as u8);
    }

    fn level(&self, slot: u64, at: Instant) -> Level {
        if self.over == 0 {
            // The first slot is not over yet: the rate so far.
            let nanos = at.since(self.began);
            return Level {
                rate: (u64::from(self.count) * SCALE * SECOND).checked_div(nanos).unwrap_or(0),
                deviation: 0,
            };
        }
        let (mean, deviation) = self.window();
        let per_second = |in_256ths: u64| {
            let level = u128::from(in_256ths) * u128::from(SCALE * SECOND) / (u128::from(slot) << 8);
            u64::try_from(level).unwrap_or(u64::MAX >> 16)
        };
        Level { rate: per_second(mean), deviation: per_second(deviation) }
    }

    /// Mean and deviation of the slots that are over, in 256ths.
    fn window(&self) -> (u64, u64) {
        let slots = u64::from(self.over);
        let last =
            (1..=slots).map(|back| u64::from(self.ring[((self.slot - back.min(self.slot)) % WINDOW as u64) as usize]));
        let (sum, squares) = last.fold((0u64, 0u128), |(sum, squares), count| {
            (sum + count, squares + u128::from(count) * u128::from(count))
        });
        // n² · variance = n · Σx² − (Σx)².
        let spread = u128::from(slots) * squares - u128::from(sum) * u128::from(sum);
        let deviation = ((spread << 16).isqrt() / u128::from(slots)).min(u128::from(u64::MAX >> 24)) as u64;
        ((sum << 8) / slots, deviation)
    }
}

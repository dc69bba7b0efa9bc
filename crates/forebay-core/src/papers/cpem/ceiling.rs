//! The prefetch cache size ceiling (CPEM §4.1): a walk downhill on f_tot(x) = f_pre(x) + f_lru(x).
//!
//! "In the first epoch, we randomly increase or decrease x by an adjustment unit. We calculate the
//! change of overall miss rate in each subsequent epoch. If the overall miss rate increases
//! obviously, we change x with an increase or decrease operation which is different from the
//! operation in the previous epoch. Otherwise, we make the same adjustment to x as in the previous
//! epoch."
//!
//! ```text
//!   f_tot │ ╲                          ╱
//!         │   ╲    turns          ╱        obvious: a sixteenth, one miss a second at least,
//!         │ ─ ─ ◀────────────────▶ ─ ─      and more than chance
//!         │        ·  ▁▁▁▁▁▁  ·            the lowest since the last turn
//!         └──────────────────────────▶ x
//! ```
//!
//! Where readers keep the blocks that they are given (`Referenced::HandedOn`, as under a mount with
//! the kernel's cache), there is no LRU cache beside it: the ceiling is x_max and does not move.
//!
//! The paper leaves these points open:
//!
//! - One unit changes the rate by little, so an increase counts from the lowest rate since the last
//!   turn, not from the last epoch: up a gentle slope, too, the walk turns after an obvious rise.
//!   So it stays where f_tot is at most that above its minimum.
//! - The exponentially weighted average lags. After a sudden rise it would rise for several epochs,
//!   and turn the walk as often. So it begins anew at every turn, and a rise turns the walk once.
//! - An operation that the bounds of x forbid gives way to the other one, and the walk cannot sit
//!   at a bound while the curve moves.
//! - If next to nothing is missed, f_tot has its minimum already, and x stays.

use super::prefetch_cache::Settings;
use crate::types::Instant;
use crate::walk::{Course, Walk};

/// "The low free memory threshold used by the paging daemon": Linux 2.6.3 has 2 MB of the papers'
/// 512 MB. The unit is one part of memory in this many.
const UNIT: u32 = 256;

/// An increase is obvious if it is more than one part in this many of the rate, …
const OBVIOUS_SHARE: u64 = 16;
/// … and more than one miss a second.
const OBVIOUS_RATE: u64 = SCALE;

/// Rates are in misses per 256 seconds.
const SCALE: u64 = 256;

const SECOND: u64 = 1_000_000_000;

/// The ceiling.
#[derive(Clone, Debug)]
pub struct Ceiling {
    frames: u32,
    blocks: u32,
    least: u32,
    unit: u32,
    epoch: u64,
    /// When the epoch began.
    began: Instant,
    /// Misses of this epoch, LRU misses and prefetch misses.
    misses: u64,
    /// Their rate; none before the first epoch, and after one with next to no misses.
    rate: Option<Rate>,
    /// Whether the last operation was an increase.
    grows: bool,
}

/// Misses per 256 seconds.
#[derive(Clone, Copy, Debug)]
struct Rate {
    /// Exponentially weighted (weight 1/2) since the last turn, as of the end of the last epoch.
    mean: u64,
    /// The lowest that the mean was since then.
    lowest: u64,
}

impl Rate {
    /// The average begins with `rate`.
    fn new(rate: u64) -> Rate {
        Rate { mean: rate, lowest: rate }
    }
}

impl Ceiling {
    /// The ceiling of a cache of `frames`, which begins at `settings.start` per cent of them.
    pub fn new(frames: u32, settings: Settings) -> Ceiling {
        let unit = (frames / UNIT).max(1);
        Ceiling {
            frames,
            blocks: ((u64::from(frames) * u64::from(settings.start)) / 100).min(u64::from(frames)) as u32,
            least: unit.min(frames),
            unit,
            epoch: u64::from(settings.epoch_ms).saturating_mul(1_000_000),
            began: Instant(0),
            misses: 0,
            rate: None,
            // "randomly": one bit of the seed, well mixed.
            grows: (settings.seed.wrapping_mul(0x9e37_79b9) >> 31) & 1 == 1,
        }
    }

    /// x, in blocks.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The adjustment unit, in blocks.
    pub fn unit(&self) -> u32 {
        self.unit
    }

    /// Where it goes.
    pub fn walk(&self) -> Walk {
        let thousandths = |rate: u64| rate.saturating_mul(1000) / SCALE;
        match self.rate {
            _ if self.epoch == 0 || self.began == Instant(0) => Walk::default(),
            None => Walk { course: Course::Rests, ..Walk::default() },
            Some(rate) => Walk {
                course: if self.grows { Course::Up } else { Course::Down },
                misses: thousandths(rate.mean),
                lowest: thousandths(rate.lowest),
            },
        }
    }

    /// A miss on a block that the eviction history knows, of either kind.
    pub fn missed(&mut self) {
        self.misses += 1;
    }

    /// Ends the epoch if it is over. To be called whenever a frame is wanted and none is free. If
    /// it was over long ago, the cache was idle: the epoch's count says nothing, and another
    /// begins. Epochs of no length never end, and the ceiling stays.
    #[inline]
    pub fn look(&mut self, at: Instant) {
        let took = at.since(self.began);
        if took >= self.epoch && self.epoch > 0 {
            self.end_epoch(at, took);
        }
    }

    #[inline(never)]
    fn end_epoch(&mut self, at: Instant, took: u64) {
        let misses = core::mem::take(&mut self.misses);
        self.began = at;
        if took >= self.epoch.saturating_add(self.epoch.max(SECOND)) {
            return;
        }
        let rate = misses.saturating_mul(SCALE * SECOND) / took;
        if rate <= OBVIOUS_RATE {
            self.rate = None;
            return;
        }
        match self.rate {
            // The first epoch: in the direction that was drawn.
            None => self.rate = Some(Rate::new(rate)),
            Some(before) => self.rate = Some(self.compare(before, rate, took)),
        }
        self.step();
    }

    /// "An increase or decrease operation which is different from the operation in the previous
    /// epoch", if the rate has risen obviously. Returns the rate as it is now.
    fn compare(&mut self, before: Rate, rate: u64, took: u64) -> Rate {
        let mean = before.mean.midpoint(rate);
        let obvious = |than: u64| {
            // By chance, a number of misses deviates by its root. This is the variance of the
            // rate, in thousands.
            let variance = than.saturating_mul(SCALE) / (took / 1_000_000).max(1);
            let chance = variance.saturating_mul(1_000).isqrt();
            OBVIOUS_RATE.max(than / OBVIOUS_SHARE + chance)
        };
        if mean > before.lowest + obvious(before.lowest) {
            self.grows = !self.grows;
            return Rate::new(rate);
        }
        Rate { mean, lowest: before.lowest.min(mean) }
    }

    /// 0 ≤ x ≤ x_max, less a unit on either side: without any room no block could be prefetched, or
    /// none kept. At either end the walk turns round.
    fn step(&mut self) {
        let unit = self.unit;
        let moved = if self.grows { self.blocks.saturating_add(unit) } else { self.blocks.saturating_sub(unit) };
        let most = (self.frames - self.least).max(self.least);
        self.blocks = moved.clamp(self.least, most);
        let at_end = if self.grows { self.blocks == most } else { self.blocks == self.least };
        if at_end {
            self.grows = !self.grows;
            if let Some(rate) = &mut self.rate {
                rate.lowest = rate.mean;
            }
        }
    }
}

//! The prefetch cache size ceiling (CPEM §4.1): a walk downhill on f_tot(x) = f_pre(x) + f_lru(x).
//!
//! "In the first epoch, we randomly increase or decrease x by an adjustment unit. We calculate the change of overall miss
//! rate in each subsequent epoch. If the overall miss rate increases obviously, we change x with an increase or decrease
//! operation which is different from the operation in the previous epoch. Otherwise, we make the same adjustment to x as in
//! the previous epoch."

use super::prefetch_cache::Settings;
use crate::types::Instant;

/// How large a step of the ceiling is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Unit {
    /// "The low free memory threshold used by the paging daemon": Linux 2.6.3 has 2 MB of the papers' 512 MB.
    #[default]
    Fixed,
    /// Twice as large as long as the miss rate falls obviously, half as large when the walk turns round, from a quarter of the
    /// fixed unit up to a sixteenth of memory.
    Adaptive,
}

/// Of memory, the fixed unit is one part in so many.
const UNIT: u32 = 256;

/// An increase is obvious if it is more than one part in so many of the rate, …
const OBVIOUS_SHARE: u64 = 16;
/// … and more than one miss a second.
const OBVIOUS_RATE: u64 = SCALE;

/// Rates are in misses per 256 seconds.
const SCALE: u64 = 256;

/// The ceiling.
#[derive(Clone, Debug)]
pub struct Ceiling {
    frames: u32,
    blocks: u32,
    least: u32,
    unit: u32,
    adapts: bool,
    epoch: u64,
    /// When the epoch began.
    began: Instant,
    /// Misses of this epoch: LRU misses and prefetch misses.
    misses: u64,
    /// Their rate, exponentially weighted (weight 1/2), as of the end of the last epoch; none before the first.
    rate: Option<u64>,
    /// Whether the last operation was an increase.
    grows: bool,
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
            adapts: settings.unit == Unit::Adaptive,
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

    /// A miss on a block that the eviction history knows, of either kind.
    pub fn missed(&mut self) {
        self.misses += 1;
    }

    /// Ends the epoch if it is over. An epoch in which nothing happened ends when something does: what is idle needs no other
    /// ceiling. Epochs of no length never end, and the ceiling stays.
    pub fn look(&mut self, at: Instant) {
        let took = at.since(self.began);
        if took < self.epoch || self.epoch == 0 {
            return;
        }
        let rate = self.misses.saturating_mul(SCALE * 1_000_000_000) / took;
        (self.began, self.misses) = (at, 0);
        match self.rate {
            // The first epoch: in the direction that was drawn.
            None => self.rate = Some(rate),
            Some(before) => {
                let after = (before + rate) / 2;
                let obvious = OBVIOUS_RATE.max(before / OBVIOUS_SHARE);
                self.turn(after > before + obvious, after + obvious < before);
                self.rate = Some(after);
            }
        }
        self.step();
    }

    /// "An increase or decrease operation which is different from the operation in the previous epoch", if the rate rose.
    fn turn(&mut self, rose: bool, fell: bool) {
        if rose {
            self.grows = !self.grows;
        }
        if self.adapts {
            let fixed = (self.frames / UNIT).max(1);
            let unit = if rose { self.unit / 2 } else { self.unit * (1 + u32::from(fell)) };
            self.unit = unit.clamp((fixed / 4).max(1), (self.frames / 16).max(1));
        }
    }

    /// 0 ≤ x ≤ x_max, less a unit on either side: without any room nothing could be fetched ahead, or nothing kept.
    fn step(&mut self) {
        let moved =
            if self.grows { self.blocks.saturating_add(self.unit) } else { self.blocks.saturating_sub(self.unit) };
        self.blocks = moved.clamp(self.least, (self.frames - self.least).max(self.least));
    }
}

//! A unit by which the ceiling moves that grows and shrinks (past CPEM, whose unit is fixed).
//!
//! Near the minimum it is the paper's. It is twice as large for every sixteen epochs in which the walk has
//! not turned and the miss rate has fallen by more than a turn explains, up to eight times; half as large
//! at every turn.

use crate::papers::cpem::{Fixed, Unit};

/// It is at most so many fixed ones, …
const LARGEST: u32 = 8;
/// … and was the right one for so many epochs before it grows: by then it has crossed the valley, if there
/// is one.
const PATIENCE: u32 = 16;

/// The unit.
#[derive(Clone, Copy, Debug)]
pub struct Growing {
    fixed: u32,
    largest: u32,
    blocks: u32,
    /// The rate of misses when it changed last, and how many epochs ago.
    rate: u64,
    epochs: u32,
}

impl Growing {
    /// That of a cache of so many frames; one that does not grow is the paper's.
    pub fn of(frames: u32, grows: bool) -> Growing {
        let fixed = Fixed::of(frames).blocks();
        let largest = if grows { fixed.saturating_mul(LARGEST) } else { fixed };
        Growing { fixed, largest, blocks: fixed, rate: 0, epochs: 0 }
    }

    fn resize(&mut self, blocks: u32) {
        self.blocks = blocks.clamp(self.fixed, self.largest);
    }
}

impl Unit for Growing {
    fn blocks(&self) -> u32 {
        self.blocks
    }

    fn begins(&mut self, rate: u64) {
        (self.rate, self.epochs) = (rate, 0);
    }

    fn turns(&mut self, rate: u64) {
        self.resize(self.blocks / 2);
        self.begins(rate);
    }

    fn goes_on(&mut self, mean: u64, obvious: u64) {
        self.epochs += 1;
        // To and fro about the minimum it falls by what it rose.
        if self.epochs >= PATIENCE && mean + 2 * obvious < self.rate {
            self.resize(self.blocks.saturating_mul(2));
            self.begins(mean);
        }
    }
}

//! UBM's detection (Kim et al., OSDI 2000), as AMP §2.2 has it: "UBM watches for consecutive
//! accesses to the file. If found, depending on whether repeated accesses are observed, the stream
//! is classified as either looping or sequential, or 'other' if not found."
//!
//! A run of consecutive blocks is sequential once it is long enough, and looping once it begins
//! anew at its first block. An access anywhere else ends it. AMP objects: "Only loops that access
//! consecutive blocks will be detected".

use crate::hint::Pattern;

/// The run that a stream is in.
#[derive(Clone, Debug)]
pub struct Run {
    /// A run of this many blocks is sequential.
    threshold: u32,
    start: u64,
    /// The block after the last one.
    next: u64,
    /// How often it began anew.
    rounds: u32,
}

impl Run {
    /// A run of `threshold` blocks, at least 2, is sequential.
    pub fn new(threshold: u32) -> Run {
        Run { threshold: threshold.max(2), start: 0, next: 0, rounds: 0 }
    }

    /// A block is accessed, by its number in the file.
    pub fn access(&mut self, block: u64) {
        if block == self.next {
            self.next = block.wrapping_add(1);
        } else if block.wrapping_add(1) == self.next {
            // A read of one block in several pieces.
        } else if block == self.start && self.is_long() {
            self.rounds = self.rounds.saturating_add(1);
            self.next = block.wrapping_add(1);
        } else {
            (self.start, self.next, self.rounds) = (block, block.wrapping_add(1), 0);
        }
    }

    /// The stream's pattern; UBM's sequential is a one-shot here.
    pub fn pattern(&self) -> Pattern {
        if self.rounds > 0 {
            Pattern::Looping
        } else if self.is_long() {
            Pattern::OneShot
        } else {
            Pattern::Other
        }
    }

    fn is_long(&self) -> bool {
        self.next.wrapping_sub(self.start) >= u64::from(self.threshold)
    }
}

//! PCC's counters (Gniady, Butt and Hu, OSDI 2004), as AMP §2.2 has them: "a stream is classified
//! as looping if there are fewer non-repeating (Seq) blocks than repeating (Loop) blocks.
//! Otherwise, it is classified as sequential if Seq is larger than or equal to a threshold, or
//! other otherwise."
//!
//! A block counts in Seq from its first access on and in Loop from its second. AMP objects that
//! clustered streams repeat blocks as well. To bound memory, blocks are sampled like AMP's from
//! [`MOST`] on, and each counted block stands for several.

use alloc::collections::BTreeMap;

use crate::hint::Pattern;
use crate::random::hash;

/// The most blocks that a stream remembers.
pub const MOST: usize = 4096;

/// The counters of one stream.
#[derive(Clone, Debug)]
pub struct Counters {
    threshold: u32,
    /// Whether each block was repeated.
    blocks: BTreeMap<u64, bool>,
    seq: u32,
    repeating: u32,
    /// A block counts if its hash has this many leading zeros, of 32.
    zeros: u32,
}

impl Counters {
    /// With `threshold` blocks a stream without repetition is sequential.
    pub fn new(threshold: u32) -> Counters {
        Counters { threshold, blocks: BTreeMap::new(), seq: 0, repeating: 0, zeros: 0 }
    }

    /// A block is accessed.
    pub fn access(&mut self, block: u64) {
        if !counts(block, self.zeros) {
            return;
        }
        match self.blocks.get_mut(&block) {
            None => {
                self.blocks.insert(block, false);
                self.seq += 1;
                if self.blocks.len() > MOST {
                    self.thin();
                }
            }
            Some(repeated) if !*repeated => {
                *repeated = true;
                self.seq -= 1;
                self.repeating += 1;
            }
            Some(_) => {}
        }
    }

    /// Halves the sample.
    fn thin(&mut self) {
        self.zeros += 1;
        let zeros = self.zeros;
        self.blocks.retain(|&block, _| counts(block, zeros));
        self.repeating = self.blocks.values().filter(|&&repeated| repeated).count() as u32;
        self.seq = self.blocks.len() as u32 - self.repeating;
    }

    /// The stream's pattern; PCC's sequential is a one-shot here.
    pub fn pattern(&self) -> Pattern {
        if self.seq < self.repeating {
            Pattern::Looping
        } else if u64::from(self.seq) << self.zeros >= u64::from(self.threshold.max(1)) {
            Pattern::OneShot
        } else {
            Pattern::Other
        }
    }

    /// The bytes that it takes, about: a block's number, its mark, and its part of a node.
    pub fn footprint(&self) -> usize {
        self.blocks.len() * 20
    }
}

fn counts(block: u64, zeros: u32) -> bool {
    hash(block) < 1 << 32u32.saturating_sub(zeros)
}

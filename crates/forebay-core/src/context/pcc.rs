//! PCC's counters (Gniady, Butt and Hu, OSDI 2004), as AMP §2.2 has them: "a stream is classified as looping if there are fewer
//! non-repeating (Seq) blocks than repeating (Loop) blocks. Otherwise, it is classified as sequential if Seq is larger than or equal to a
//! threshold, or other otherwise."
//!
//! A block counts in Seq from its first access on and in Loop from its second. That clustered streams repeat blocks as well is what AMP
//! holds against it.

use alloc::collections::BTreeMap;

use super::Pattern;

/// The counters of one stream.
#[derive(Clone, Debug)]
pub struct Counters {
    threshold: u32,
    /// Whether each block was repeated.
    blocks: BTreeMap<u64, bool>,
    seq: u32,
    repeating: u32,
}

impl Counters {
    /// With `threshold` blocks a stream without repetition is sequential.
    pub fn new(threshold: u32) -> Counters {
        Counters { threshold, blocks: BTreeMap::new(), seq: 0, repeating: 0 }
    }

    /// A block is accessed.
    pub fn access(&mut self, block: u64) {
        match self.blocks.get_mut(&block) {
            None => {
                self.blocks.insert(block, false);
                self.seq += 1;
            }
            Some(repeated) if !*repeated => {
                *repeated = true;
                self.seq -= 1;
                self.repeating += 1;
            }
            Some(_) => {}
        }
    }

    /// What the stream is taken for: PCC's sequential is a one-shot here.
    pub fn pattern(&self) -> Pattern {
        if self.seq < self.repeating {
            Pattern::Looping
        } else if self.seq >= self.threshold.max(1) {
            Pattern::OneShot
        } else {
            Pattern::Other
        }
    }

    /// The bytes that it takes, about.
    pub fn footprint(&self) -> usize {
        self.blocks.len() * 20
    }
}

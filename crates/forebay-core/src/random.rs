//! Draws that are seeded, and hashes that choose samples: the same for ever.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Draws of a seed.
    pub fn new(seed: u32) -> Random {
        Random { state: u64::from(seed) }
    }

    /// A number below `bound`: the high half of the product, evenly distributed but for one part in
    /// 2^64 / `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(bound)) >> 64) as u64
    }

    fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// "One hashes the block number to a 32-bit integer": the upper half of a product, folded once
/// before, so that runs and strides spread.
#[inline(always)]
pub(crate) fn hash(block: u64) -> u64 {
    (block ^ block.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

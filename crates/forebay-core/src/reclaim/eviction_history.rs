//! The eviction history of CPEM §4.1: which blocks went unreferenced a short while ago, so that a miss on one is known
//! as thrashing.

use alloc::vec;
use alloc::vec::Vec;

use crate::types::BlockKey;

/// A direct-mapped table of recently wasted blocks. A newer block that maps to the same place overwrites an older one,
/// so that the history is short where there is much of it, and thrashing is undercounted, never overcounted.
#[derive(Clone, Debug)]
pub struct EvictionHistory {
    /// Keys plus one; zero is empty.
    table: Vec<u64>,
}

impl EvictionHistory {
    /// A history for a cache of `frames`: a fifth of them (CPEM §4.1: "20% of the total number of physical pages").
    pub fn new(frames: u32) -> EvictionHistory {
        EvictionHistory { table: vec![0; (frames as usize / 5).next_power_of_two()] }
    }

    /// A prefetched block was given up unreferenced.
    pub fn wasted(&mut self, key: BlockKey) {
        let at = self.place(key);
        self.table[at] = key.raw().wrapping_add(1);
    }

    /// A block is missed: whether it is in the history. It no longer is afterwards.
    pub fn missed(&mut self, key: BlockKey) -> bool {
        let at = self.place(key);
        let found = self.table[at] == key.raw().wrapping_add(1);
        if found {
            self.table[at] = 0;
        }
        found
    }

    /// The bytes that the history takes.
    pub fn footprint(&self) -> usize {
        self.table.len() * 8
    }

    fn place(&self, key: BlockKey) -> usize {
        let mixed = (key.raw() ^ key.raw().rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.table.len() - 1)
    }
}

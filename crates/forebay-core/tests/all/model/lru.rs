//! LRU as a vector, least recent first.

use std::collections::BTreeSet;

use super::Twin;

pub(crate) struct Lru {
    capacity: usize,
    blocks: Vec<u32>,
}

impl Twin for Lru {
    fn new(capacity: usize) -> Lru {
        Lru { capacity, blocks: Vec::new() }
    }

    fn hit(&mut self, block: u32) {
        self.forget(block);
        self.blocks.push(block);
    }

    fn first_use(&mut self, block: u32) {
        self.hit(block);
    }

    fn admit(&mut self, block: u32, held: &BTreeSet<u32>) -> bool {
        if self.blocks.len() == self.capacity {
            let Some(at) = self.blocks.iter().position(|block| !held.contains(block)) else { return false };
            self.blocks.remove(at);
        }
        self.blocks.push(block);
        true
    }

    fn forget(&mut self, block: u32) {
        self.blocks.retain(|&other| other != block);
    }

    fn residents(&self) -> BTreeSet<u32> {
        self.blocks.iter().copied().collect()
    }
}

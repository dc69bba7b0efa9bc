//! FIFO as a vector in the order of arrival.

use std::collections::BTreeSet;

use super::Twin;

pub(crate) struct Fifo {
    capacity: usize,
    blocks: Vec<u32>,
}

impl Twin for Fifo {
    fn new(capacity: usize) -> Fifo {
        Fifo { capacity, blocks: Vec::new() }
    }

    fn hit(&mut self, _block: u32) {}

    fn first_use(&mut self, _block: u32) {}

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

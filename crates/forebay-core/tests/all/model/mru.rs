//! MRU by the moment of each block's last reference.

use std::collections::{BTreeMap, BTreeSet};

use super::Twin;

pub(crate) struct Mru {
    capacity: usize,
    now: u64,
    last: BTreeMap<u32, u64>,
}

impl Twin for Mru {
    fn new(capacity: usize) -> Mru {
        Mru { capacity, now: 0, last: BTreeMap::new() }
    }

    fn hit(&mut self, block: u32) {
        self.now += 1;
        self.last.insert(block, self.now);
    }

    fn first_use(&mut self, block: u32) {
        self.hit(block);
    }

    fn admit(&mut self, block: u32, held: &BTreeSet<u32>) -> bool {
        if self.last.len() == self.capacity {
            let evictable = self.last.iter().filter(|(block, _)| !held.contains(block));
            let Some((&latest, _)) = evictable.max_by_key(|&(_, moment)| moment) else { return false };
            self.last.remove(&latest);
        }
        self.hit(block);
        true
    }

    fn forget(&mut self, block: u32) {
        self.last.remove(&block);
    }

    fn residents(&self) -> BTreeSet<u32> {
        self.last.keys().copied().collect()
    }
}

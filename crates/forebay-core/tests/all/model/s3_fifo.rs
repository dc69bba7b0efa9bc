//! S3-FIFO after Algorithm 1 of the paper, its queues vectors from tail to head.

use std::collections::BTreeSet;

use super::Twin;

pub(crate) struct S3Fifo {
    capacity: usize,
    small: Vec<(u32, u8)>,
    main: Vec<(u32, u8)>,
    ghosts: Vec<u32>,
}

impl S3Fifo {
    fn small_size(&self) -> usize {
        (self.capacity / 10).max(1)
    }

    fn evict(&mut self, held: &BTreeSet<u32>) {
        if self.small.len() >= self.small_size() {
            self.evict_small(held);
        } else {
            self.evict_main(held);
        }
    }

    /// From the tail of S: those used more than once go to M, the first other one goes.
    fn evict_small(&mut self, held: &BTreeSet<u32>) {
        while let Some(at) = self.small.iter().position(|entry| !held.contains(&entry.0)) {
            let (block, frequency) = self.small.remove(at);
            if frequency > 1 {
                self.main.push((block, 0));
                continue;
            }
            self.ghosts.push(block);
            if self.ghosts.len() > self.capacity - self.small_size() {
                self.ghosts.remove(0);
            }
            return;
        }
        self.evict_main(held);
    }

    fn evict_main(&mut self, held: &BTreeSet<u32>) {
        if self.main.iter().all(|entry| held.contains(&entry.0)) {
            return self.evict_small(held);
        }
        loop {
            let (block, frequency) = self.main.remove(0);
            if held.contains(&block) {
                self.main.push((block, frequency));
            } else if frequency > 0 {
                self.main.push((block, frequency - 1));
            } else {
                return;
            }
        }
    }
}

impl Twin for S3Fifo {
    fn new(capacity: usize) -> S3Fifo {
        S3Fifo { capacity, small: Vec::new(), main: Vec::new(), ghosts: Vec::new() }
    }

    fn hit(&mut self, block: u32) {
        for entry in self.small.iter_mut().chain(&mut self.main).filter(|entry| entry.0 == block) {
            entry.1 = (entry.1 + 1).min(3);
        }
    }

    fn first_use(&mut self, _block: u32) {}

    fn admit(&mut self, block: u32, held: &BTreeSet<u32>) -> bool {
        let ghost = self.ghosts.contains(&block);
        self.ghosts.retain(|&other| other != block);
        let residents = self.residents();
        if residents.len() == self.capacity {
            if residents.is_subset(held) {
                return false;
            }
            self.evict(held);
        }
        if ghost {
            self.main.push((block, 0))
        } else {
            self.small.push((block, 0))
        }
        true
    }

    fn forget(&mut self, block: u32) {
        self.small.retain(|entry| entry.0 != block);
        self.main.retain(|entry| entry.0 != block);
    }

    fn residents(&self) -> BTreeSet<u32> {
        self.small.iter().chain(&self.main).map(|entry| entry.0).collect()
    }

    fn ghosts(&self) -> BTreeSet<u32> {
        self.ghosts.iter().copied().collect()
    }
}

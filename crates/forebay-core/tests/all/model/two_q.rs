//! 2Q after Fig. 2 of the paper, its queues vectors from tail (the oldest) to head.

use std::collections::BTreeSet;

use super::Twin;

pub(crate) struct TwoQ {
    capacity: usize,
    a1_in: Vec<u32>,
    a1_out: Vec<u32>,
    am: Vec<u32>,
}

impl TwoQ {
    fn reclaim(&mut self, held: &BTreeSet<u32>) {
        let k_in = (self.capacity / 4).max(1);
        let k_out = (self.capacity / 2).max(1);
        let tail = |queue: &[u32]| queue.iter().position(|block| !held.contains(block));
        let (from_in, from_am) = (tail(&self.a1_in), tail(&self.am));
        match (from_in, from_am) {
            (Some(at), _) if self.a1_in.len() > k_in || from_am.is_none() => {
                let paged_out = self.a1_in.remove(at);
                self.a1_out.push(paged_out);
                if self.a1_out.len() > k_out {
                    self.a1_out.remove(0);
                }
            }
            (_, Some(at)) => {
                self.am.remove(at);
            }
            _ => {}
        }
    }
}

impl Twin for TwoQ {
    fn new(capacity: usize) -> TwoQ {
        TwoQ { capacity, a1_in: Vec::new(), a1_out: Vec::new(), am: Vec::new() }
    }

    fn hit(&mut self, block: u32) {
        if self.am.contains(&block) {
            self.am.retain(|&other| other != block);
            self.am.push(block);
        }
    }

    fn first_use(&mut self, block: u32) {
        self.hit(block);
    }

    fn admit(&mut self, block: u32, held: &BTreeSet<u32>) -> bool {
        let back = self.a1_out.contains(&block);
        self.a1_out.retain(|&other| other != block);
        let residents = self.residents();
        if residents.len() == self.capacity {
            if residents.is_subset(held) {
                return false;
            }
            self.reclaim(held);
        }
        if back { &mut self.am } else { &mut self.a1_in }.push(block);
        true
    }

    fn forget(&mut self, block: u32) {
        self.a1_in.retain(|&other| other != block);
        self.am.retain(|&other| other != block);
    }

    fn residents(&self) -> BTreeSet<u32> {
        self.a1_in.iter().chain(&self.am).copied().collect()
    }

    fn ghosts(&self) -> BTreeSet<u32> {
        self.a1_out.iter().copied().collect()
    }
}

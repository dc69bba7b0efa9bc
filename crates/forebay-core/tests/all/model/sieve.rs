//! SIEVE after Algorithm 1 of the paper: a vector from tail to head, the hand a block.

use std::collections::BTreeSet;

use super::Twin;

pub(crate) struct Sieve {
    capacity: usize,
    /// Block and visited bit, tail first.
    queue: Vec<(u32, bool)>,
    /// The block that the hand points at.
    hand: Option<u32>,
}

impl Sieve {
    fn place(&self, block: u32) -> Option<usize> {
        self.queue.iter().position(|entry| entry.0 == block)
    }

    /// Takes the entry at `at` out; the hand, if it is there, moves one towards the head.
    fn take(&mut self, at: usize) {
        let (block, _) = self.queue.remove(at);
        if self.hand == Some(block) {
            self.hand = self.queue.get(at).map(|entry| entry.0);
        }
    }
}

impl Twin for Sieve {
    fn new(capacity: usize) -> Sieve {
        Sieve { capacity, queue: Vec::new(), hand: None }
    }

    fn hit(&mut self, block: u32) {
        let at = self.place(block).expect("only residents are hit");
        self.queue[at].1 = true;
    }

    fn first_use(&mut self, _block: u32) {}

    fn admit(&mut self, block: u32, held: &BTreeSet<u32>) -> bool {
        if self.queue.len() == self.capacity {
            if self.queue.iter().all(|(block, _)| held.contains(block)) {
                return false;
            }
            let mut at = self.hand.and_then(|block| self.place(block)).unwrap_or(0);
            while self.queue[at].1 || held.contains(&self.queue[at].0) {
                if !held.contains(&self.queue[at].0) {
                    self.queue[at].1 = false;
                }
                at = (at + 1) % self.queue.len();
            }
            self.hand = Some(self.queue[at].0);
            self.take(at);
        }
        self.queue.push((block, false));
        true
    }

    fn forget(&mut self, block: u32) {
        let at = self.place(block).expect("only residents are forgotten");
        self.take(at);
    }

    fn residents(&self) -> BTreeSet<u32> {
        self.queue.iter().map(|entry| entry.0).collect()
    }
}

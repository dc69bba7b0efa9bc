//! Clock as the textbook draws it: a ring that stands still and a hand that moves.

use std::collections::BTreeSet;

use super::Twin;

pub(crate) struct Clock {
    capacity: usize,
    /// Block and use bit.
    ring: Vec<(u32, bool)>,
    /// The place that the hand points at; new blocks come just behind it.
    hand: usize,
}

impl Clock {
    fn evict(&mut self, held: &BTreeSet<u32>) -> bool {
        if self.ring.iter().all(|(block, _)| held.contains(block)) {
            return false;
        }
        loop {
            self.hand %= self.ring.len();
            let (block, used) = &mut self.ring[self.hand];
            if held.contains(block) {
                self.hand += 1;
            } else if *used {
                *used = false;
                self.hand += 1;
            } else {
                self.ring.remove(self.hand);
                return true;
            }
        }
    }
}

impl Twin for Clock {
    fn new(capacity: usize) -> Clock {
        Clock { capacity, ring: Vec::new(), hand: 0 }
    }

    fn hit(&mut self, block: u32) {
        self.ring.iter_mut().filter(|entry| entry.0 == block).for_each(|entry| entry.1 = true);
    }

    fn first_use(&mut self, _block: u32) {}

    fn admit(&mut self, block: u32, held: &BTreeSet<u32>) -> bool {
        if self.ring.len() == self.capacity && !self.evict(held) {
            return false;
        }
        self.ring.insert(self.hand, (block, false));
        self.hand += 1;
        true
    }

    fn forget(&mut self, block: u32) {
        let at = self.ring.iter().position(|entry| entry.0 == block).expect("only residents are forgotten");
        self.ring.remove(at);
        if at < self.hand {
            self.hand -= 1;
        }
    }

    fn residents(&self) -> BTreeSet<u32> {
        self.ring.iter().map(|entry| entry.0).collect()
    }
}

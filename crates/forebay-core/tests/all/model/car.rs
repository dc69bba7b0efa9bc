//! CAR after Fig. 2 of the paper, its clocks vectors from head (the hand) to tail, its ghost lists
//! from LRU to MRU.
//!
//! As with ARC, a forgotten page may leave a free frame; then lines 6 to 11 are not run, and the
//! bound itself keeps |T1| + |B1| ≤ c.

use std::collections::BTreeSet;

use super::Twin;

pub(crate) struct Car {
    c: usize,
    p: usize,
    t1: Vec<(u32, bool)>,
    t2: Vec<(u32, bool)>,
    b1: Vec<u32>,
    b2: Vec<u32>,
}

impl Car {
    fn replace(&mut self, held: &BTreeSet<u32>) {
        let head = |clock: &[(u32, bool)]| clock.iter().position(|page| !held.contains(&page.0));
        loop {
            let (one, two) = (head(&self.t1), head(&self.t2));
            let from_one = (self.t1.len() >= self.p.max(1) && one.is_some()) || two.is_none();
            let (page, referenced) = match (from_one, one, two) {
                (true, Some(at), _) => self.t1.remove(at),
                (_, _, Some(at)) => self.t2.remove(at),
                _ => return,
            };
            if referenced {
                self.t2.push((page, false));
            } else {
                if from_one { &mut self.b1 } else { &mut self.b2 }.push(page);
                return;
            }
        }
    }
}

impl Twin for Car {
    fn new(capacity: usize) -> Car {
        Car { c: capacity, p: 0, t1: Vec::new(), t2: Vec::new(), b1: Vec::new(), b2: Vec::new() }
    }

    fn hit(&mut self, block: u32) {
        for page in self.t1.iter_mut().chain(&mut self.t2).filter(|page| page.0 == block) {
            page.1 = true;
        }
    }

    fn first_use(&mut self, _block: u32) {}

    fn admit(&mut self, block: u32, held: &BTreeSet<u32>) -> bool {
        let in_b1 = self.b1.contains(&block);
        let in_b2 = self.b2.contains(&block);
        let full = self.t1.len() + self.t2.len() == self.c;
        if full && self.residents().is_subset(held) {
            // Nothing is replaced, and the block's ghost is gone.
            self.b1.retain(|&ghost| ghost != block);
            self.b2.retain(|&ghost| ghost != block);
            return false;
        }
        if full {
            self.replace(held);
            let pages = self.t1.len() + self.t2.len() + self.b1.len() + self.b2.len();
            if !in_b1 && !in_b2 && self.t1.len() + self.b1.len() == self.c {
                self.b1.remove(0);
            } else if !in_b1 && !in_b2 && pages == 2 * self.c {
                if self.b2.is_empty() { &mut self.b1 } else { &mut self.b2 }.remove(0);
            }
        }
        if in_b1 {
            self.p = (self.p + (self.b2.len() / self.b1.len()).max(1)).min(self.c);
            self.b1.retain(|&ghost| ghost != block);
            self.t2.push((block, false));
        } else if in_b2 {
            self.p = self.p.saturating_sub((self.b1.len() / self.b2.len()).max(1));
            self.b2.retain(|&ghost| ghost != block);
            self.t2.push((block, false));
        } else {
            self.t1.push((block, false));
            if self.t1.len() + self.b1.len() > self.c {
                self.b1.remove(0);
            }
        }
        true
    }

    fn forget(&mut self, block: u32) {
        self.t1.retain(|page| page.0 != block);
        self.t2.retain(|page| page.0 != block);
    }

    fn residents(&self) -> BTreeSet<u32> {
        self.t1.iter().chain(&self.t2).map(|page| page.0).collect()
    }

    fn ghosts(&self) -> BTreeSet<u32> {
        self.b1.iter().chain(&self.b2).copied().collect()
    }
}

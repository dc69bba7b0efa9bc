//! ARC after Fig. 4 of the paper, its lists vectors from LRU to MRU.
//!
//! The paper's cache never loses a page by itself. Where a forgotten one leaves a free frame,
//! REPLACE is not called; the rest of Case IV stays as it is.

use std::collections::BTreeSet;

use super::Twin;

pub(crate) struct Arc {
    c: usize,
    p: usize,
    t1: Vec<u32>,
    t2: Vec<u32>,
    b1: Vec<u32>,
    b2: Vec<u32>,
}

/// Takes `block` out of `list` and says whether it was there.
fn take(list: &mut Vec<u32>, block: u32) -> bool {
    let before = list.len();
    list.retain(|&other| other != block);
    list.len() < before
}

/// Moves the oldest block that no reader holds from `top` to the MRU end of `bottom`.
fn demote(top: &mut Vec<u32>, bottom: &mut Vec<u32>, held: &BTreeSet<u32>) -> bool {
    let Some(at) = top.iter().position(|block| !held.contains(block)) else { return false };
    bottom.push(top.remove(at));
    true
}

impl Arc {
    fn replace(&mut self, in_b2: bool, held: &BTreeSet<u32>) {
        let t1 = self.t1.len();
        let from_t1 = t1 >= 1 && ((in_b2 && t1 == self.p) || t1 > self.p);
        let _ = (from_t1 && demote(&mut self.t1, &mut self.b1, held))
            || demote(&mut self.t2, &mut self.b2, held)
            || demote(&mut self.t1, &mut self.b1, held);
    }

    fn full(&self) -> bool {
        self.t1.len() + self.t2.len() == self.c
    }
}

impl Twin for Arc {
    fn new(capacity: usize) -> Arc {
        Arc { c: capacity, p: 0, t1: Vec::new(), t2: Vec::new(), b1: Vec::new(), b2: Vec::new() }
    }

    fn hit(&mut self, block: u32) {
        let _ = take(&mut self.t1, block) || take(&mut self.t2, block);
        self.t2.push(block);
    }

    fn first_use(&mut self, block: u32) {
        let list = if self.t1.contains(&block) { &mut self.t1 } else { &mut self.t2 };
        take(list, block);
        list.push(block);
    }

    fn admit(&mut self, block: u32, held: &BTreeSet<u32>) -> bool {
        let stuck = self.full() && self.residents().is_subset(held);
        let (b1, b2) = (self.b1.len(), self.b2.len());
        if self.b1.contains(&block) {
            // Case II.
            let delta = if b1 >= b2 { 1 } else { b2 / b1 };
            self.p = (self.p + delta).min(self.c);
            take(&mut self.b1, block);
            if stuck {
                return false;
            }
            if self.full() {
                self.replace(false, held);
            }
            self.t2.push(block);
        } else if self.b2.contains(&block) {
            // Case III.
            let delta = if b2 >= b1 { 1 } else { b1 / b2 };
            self.p = self.p.saturating_sub(delta);
            take(&mut self.b2, block);
            if stuck {
                return false;
            }
            if self.full() {
                self.replace(true, held);
            }
            self.t2.push(block);
        } else {
            // Case IV.
            if stuck {
                return false;
            }
            let l1 = self.t1.len() + self.b1.len();
            let total = l1 + self.t2.len() + self.b2.len();
            if l1 == self.c {
                if self.t1.len() < self.c {
                    self.b1.remove(0);
                    if self.full() {
                        self.replace(false, held);
                    }
                } else {
                    let mut nowhere = Vec::new();
                    demote(&mut self.t1, &mut nowhere, held);
                }
            } else if total >= self.c {
                if total == 2 * self.c {
                    self.b2.remove(0);
                }
                if self.full() {
                    self.replace(false, held);
                }
            }
            self.t1.push(block);
        }
        true
    }

    fn forget(&mut self, block: u32) {
        let _ = take(&mut self.t1, block) || take(&mut self.t2, block);
    }

    fn residents(&self) -> BTreeSet<u32> {
        self.t1.iter().chain(&self.t2).copied().collect()
    }

    fn ghosts(&self) -> BTreeSet<u32> {
        self.b1.iter().chain(&self.b2).copied().collect()
    }
}

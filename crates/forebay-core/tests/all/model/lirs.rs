//! LIRS after §3.3 of the paper, its stack S and its queue Q vectors: S from bottom to top, Q from
//! front to end.

use std::collections::BTreeSet;

use super::Twin;

pub(crate) struct Lirs {
    capacity: usize,
    s: Vec<u32>,
    q: Vec<u32>,
    lir: BTreeSet<u32>,
}

impl Lirs {
    fn lirs(&self) -> usize {
        self.capacity - (self.capacity / 100).max(1)
    }

    /// Stack pruning: HIR blocks at the bottom of S leave it until a LIR block is there.
    fn prune(&mut self) {
        let bottom = self.s.iter().position(|block| self.lir.contains(block)).unwrap_or(self.s.len());
        self.s.drain(..bottom);
    }

    fn raise(&mut self, block: u32) {
        self.s.retain(|&other| other != block);
        self.s.push(block);
    }

    /// `block`, on top of S, becomes LIR; the LIR block at the bottom becomes HIR, at the end of Q.
    fn promote(&mut self, block: u32) {
        self.q.retain(|&other| other != block);
        self.lir.insert(block);
        if self.lir.len() > self.lirs()
            && let Some(&bottom) = self.s.iter().find(|block| self.lir.contains(block))
        {
            self.lir.remove(&bottom);
            self.s.retain(|&other| other != bottom);
            self.q.push(bottom);
        }
        self.prune();
    }

    fn append_to_q(&mut self, block: u32) {
        self.q.retain(|&other| other != block);
        self.q.push(block);
    }

    /// No more than two blocks that are not resident are remembered for each frame.
    fn bound(&mut self) {
        while self.ghosts().len() > 2 * self.capacity {
            let resident = self.residents();
            let oldest = self.s.iter().position(|block| !resident.contains(block)).unwrap_or(0);
            self.s.remove(oldest);
        }
    }

    fn evict(&mut self, held: &BTreeSet<u32>) {
        if let Some(at) = self.q.iter().position(|block| !held.contains(block)) {
            self.q.remove(at);
        } else if let Some(&block) = self.s.iter().find(|block| self.lir.contains(block) && !held.contains(block)) {
            self.forget(block);
        }
        self.bound();
    }
}

impl Twin for Lirs {
    fn new(capacity: usize) -> Lirs {
        Lirs { capacity, s: Vec::new(), q: Vec::new(), lir: BTreeSet::new() }
    }

    fn hit(&mut self, block: u32) {
        let in_s = self.s.contains(&block);
        self.raise(block);
        if self.lir.contains(&block) {
            self.prune();
        } else if in_s {
            self.promote(block);
        } else {
            self.append_to_q(block);
            self.prune();
        }
    }

    /// The reference that had brought it would have come only now.
    fn first_use(&mut self, block: u32) {
        self.raise(block);
        if !self.lir.contains(&block) {
            self.append_to_q(block);
        }
        self.prune();
    }

    fn admit(&mut self, block: u32, held: &BTreeSet<u32>) -> bool {
        let in_s = self.s.contains(&block);
        self.s.retain(|&other| other != block);
        let residents = self.residents();
        if residents.len() == self.capacity {
            if residents.is_subset(held) {
                return false;
            }
            self.evict(held);
        }
        self.s.push(block);
        if in_s || self.lir.len() < self.lirs() {
            self.promote(block);
        } else {
            self.q.push(block);
            self.prune();
        }
        true
    }

    fn forget(&mut self, block: u32) {
        self.lir.remove(&block);
        self.s.retain(|&other| other != block);
        self.q.retain(|&other| other != block);
        self.prune();
    }

    fn residents(&self) -> BTreeSet<u32> {
        self.lir.iter().chain(&self.q).copied().collect()
    }

    fn ghosts(&self) -> BTreeSet<u32> {
        let residents = self.residents();
        self.s.iter().copied().filter(|block| !residents.contains(block)).collect()
    }
}

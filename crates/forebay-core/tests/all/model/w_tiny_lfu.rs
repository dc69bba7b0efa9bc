//! W-TinyLFU after §4 of the paper, its lists vectors from LRU to MRU. Counts are the sketch's own,
//! which has tests of its own: a map would not collide where a sketch does.

use std::collections::BTreeSet;

use forebay_core::sketch::Sketch;

use super::Twin;
use crate::cycle::key;

pub(crate) struct WTinyLfu {
    capacity: usize,
    window: Vec<u32>,
    probation: Vec<u32>,
    protected: Vec<u32>,
    sketch: Sketch,
}

impl WTinyLfu {
    fn window_size(&self) -> usize {
        self.capacity.div_ceil(100)
    }

    fn protected_size(&self) -> usize {
        (self.capacity - self.window_size()) * 4 / 5
    }

    fn evict(&mut self, held: &BTreeSet<u32>) {
        let free = |list: &[u32]| list.iter().copied().find(|block| !held.contains(block));
        let oldest = free(&self.window);
        let candidate = oldest.filter(|_| self.window.len() >= self.window_size());
        let victim = free(&self.probation).or_else(|| free(&self.protected));
        let count = |block: u32| self.sketch.count(key(block).raw());
        let gone = match (candidate, victim) {
            (Some(candidate), Some(victim)) if count(candidate) > count(victim) => {
                self.window.retain(|&other| other != candidate);
                self.probation.push(candidate);
                victim
            }
            (candidate, victim) => candidate.or(victim).or(oldest).expect("some block is not held"),
        };
        self.forget(gone);
    }
}

impl Twin for WTinyLfu {
    fn new(capacity: usize) -> WTinyLfu {
        let (window, probation, protected) = (Vec::new(), Vec::new(), Vec::new());
        WTinyLfu { capacity, window, probation, protected, sketch: Sketch::new(capacity as u32) }
    }

    fn hit(&mut self, block: u32) {
        self.sketch.add(key(block).raw());
        if self.window.contains(&block) {
            self.window.retain(|&other| other != block);
            self.window.push(block);
            return;
        }
        self.forget(block);
        self.protected.push(block);
        if self.protected.len() > self.protected_size() {
            let demoted = self.protected.remove(0);
            self.probation.push(demoted);
        }
    }

    fn first_use(&mut self, block: u32) {
        for list in [&mut self.window, &mut self.probation, &mut self.protected] {
            if list.contains(&block) {
                list.retain(|&other| other != block);
                list.push(block);
            }
        }
    }

    fn admit(&mut self, block: u32, held: &BTreeSet<u32>) -> bool {
        let residents = self.residents();
        if residents.len() == self.capacity {
            if residents.is_subset(held) {
                return false;
            }
            self.evict(held);
        }
        self.sketch.add(key(block).raw());
        self.window.push(block);
        if self.window.len() > self.window_size() {
            let moved = self.window.remove(0);
            self.probation.push(moved);
        }
        true
    }

    fn forget(&mut self, block: u32) {
        for list in [&mut self.window, &mut self.probation, &mut self.protected] {
            list.retain(|&other| other != block);
        }
    }

    fn residents(&self) -> BTreeSet<u32> {
        self.window.iter().chain(&self.probation).chain(&self.protected).copied().collect()
    }
}

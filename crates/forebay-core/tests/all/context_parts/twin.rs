//! Fig. 4 of AMP over vectors: partitions are lists of blocks from the oldest use to the latest.

use std::collections::{BTreeMap, BTreeSet};

use forebay_core::Rhythm;
use forebay_core::random::Random;
use forebay_core::seams::{Access, Place};

type Held = BTreeSet<u32>;

/// Loops that there can be.
const LOOPS: usize = 3;
/// One coupon.
const COUPON: u64 = 1 << 32;

/// The default partition's policy.
pub(crate) trait Default {
    fn new(frames: usize) -> Self;
    fn hit(&mut self, block: u32);
    /// A block is missed: whether it is remembered; it is no longer then.
    fn miss(&mut self, block: u32) -> bool;
    /// Evicts a block, for the one missed last if it is for its `own`.
    fn evict(&mut self, own: bool, held: &Held) -> bool;
    /// The block missed last comes in, or with `moved` one from another partition.
    fn admit(&mut self, block: u32, moved: bool);
    fn remove(&mut self, block: u32);
    fn forget_ghost(&mut self, block: u32);
    fn blocks(&self) -> BTreeSet<u32>;
    fn ghosts(&self) -> BTreeSet<u32>;
}

/// The cache.
pub(crate) struct Twin<D> {
    frames: usize,
    default: D,
    /// Most recently dropped last.
    dropped: Vec<u32>,
    loops: [Vec<u32>; LOOPS],
    coupons: [u64; LOOPS],
    rhythms: [Rhythm; LOOPS],
    due: [u64; LOOPS],
    /// When blocks of loops were used last, and when each loop was swept last: by accesses.
    used: BTreeMap<u32, u64>,
    swept: [u64; LOOPS],
    next: u64,
    due_ahead: u64,
    random: Random,
}

impl<D: Default> Twin<D> {
    pub(crate) fn new(frames: usize, random: Random) -> Twin<D> {
        Twin {
            frames,
            default: D::new(frames),
            dropped: Vec::new(),
            loops: [const { Vec::new() }; LOOPS],
            coupons: [0; LOOPS],
            rhythms: [Rhythm::default(); LOOPS],
            due: [0; LOOPS],
            used: BTreeMap::new(),
            swept: [0; LOOPS],
            next: 0,
            due_ahead: 0,
            random,
        }
    }

    pub(crate) fn parts(&self) -> Vec<BTreeSet<u32>> {
        let lists = [&self.dropped].into_iter().chain(&self.loops).map(|list| list.iter().copied().collect());
        [self.default.blocks()].into_iter().chain(lists).collect()
    }

    pub(crate) fn ghosts(&self) -> BTreeSet<u32> {
        self.default.ghosts()
    }

    fn size(&self) -> usize {
        self.parts().iter().map(BTreeSet::len).sum()
    }

    pub(crate) fn read(&mut self, block: u32, access: Access, held: &Held) -> bool {
        if let Place::Loop(i) = access.place {
            // On each access to partition i: c_i++
            self.coupons[usize::from(i)] += COUPON;
            self.rhythms[usize::from(i)] = access.rhythm;
        }
        self.sweep(access.now);
        let hit = self.parts().iter().any(|part| part.contains(&block));
        if hit {
            self.refer(block, access);
            return true;
        }
        let remembered = match access.place {
            Place::Default => self.default.miss(block),
            // The default policy learns from the miss, but the block does not become its own.
            _ => {
                self.default.miss(block);
                false
            }
        };
        if self.room(access.place, remembered, held) {
            match access.place {
                Place::Default => self.default.admit(block, false),
                place => self.put(block, place, access.now),
            }
        }
        false
    }

    /// "Currently AMP sweeps every loop_time + 3loop_time_dev". Each sweep sets when the next one
    /// is due, prefetched blocks included: here there are none, and they count as a loop as long as
    /// the cache.
    fn sweep(&mut self, now: u64) {
        if now < self.next {
            return;
        }
        (0..LOOPS).for_each(|i| self.sweep_loop(i, now));
        if now >= self.due_ahead {
            self.due_ahead = now + self.frames as u64;
        }
        self.next = self.due.into_iter().fold(self.due_ahead, u64::min);
    }

    fn sweep_loop(&mut self, i: usize, now: u64) {
        if now < self.due[i] {
            return;
        }
        let Rhythm { time, deviation, .. } = self.rhythms[i];
        self.due[i] = now + if time == 0 { self.frames as u64 } else { time + 3 * deviation };
        // Blocks that were not used since the sweep before.
        let (swept, used) = (self.swept[i], &self.used);
        let (stale, fresh): (Vec<u32>, Vec<u32>) = self.loops[i].iter().partition(|&block| used[block] < swept);
        self.dropped.extend(stale);
        self.loops[i] = fresh;
        self.swept[i] = now;
    }

    fn take(&mut self, block: u32) {
        for list in [&mut self.dropped].into_iter().chain(&mut self.loops) {
            list.retain(|&other| other != block);
        }
    }

    fn put(&mut self, block: u32, place: Place, now: u64) {
        self.used.insert(block, now);
        match place {
            Place::Loop(i) => self.loops[usize::from(i)].push(block),
            _ => self.dropped.push(block),
        }
    }

    /// A hit: "they are simply moved among the partitions".
    fn refer(&mut self, block: u32, access: Access) {
        let was_default = self.default.blocks().contains(&block);
        if access.place == Place::Dropped && !self.dropped.contains(&block) {
            // Not by the paper: a one-shot context takes nothing from others.
            if was_default {
                self.default.hit(block);
            }
            return;
        }
        self.take(block);
        match access.place {
            Place::Default if was_default => self.default.hit(block),
            Place::Default => {
                self.default.admit(block, true);
                self.default.hit(block);
            }
            place => {
                self.default.remove(block);
                self.put(block, place, access.now);
            }
        }
    }

    /// On cache miss of a block of partition i.
    fn room(&mut self, place: Place, remembered: bool, held: &Held) -> bool {
        // if (a free block available) allocate it and return
        if self.size() < self.frames || drop_one(&mut self.dropped, held, false) {
            return true;
        }
        // if (i is ARC AND (p ∈ B1 OR p ∈ B2))
        if place == Place::Default && remembered && self.evict_from_another(0, held) {
            return true;
        }
        // if (i is MRU && c_i ≥ loop_size_i / (|B1| + |B2|) AND there is another non-empty
        // partition)
        if let Place::Loop(i) = place {
            let i = usize::from(i);
            let (size, ghosts) = (u64::from(self.rhythms[i].size), self.ghosts().len().max(1) as u64);
            if size > 0 && self.coupons[i] >= size * COUPON / ghosts && self.evict_from_another(2 + i, held) {
                self.coupons[i] -= size * COUPON / ghosts;
                return true;
            }
        }
        // if (i is non-empty) evict a block from this partition, else evict from another non-empty
        // partition randomly
        let own = match place {
            Place::Default => 0,
            Place::Dropped => 1,
            Place::Loop(i) => 2 + usize::from(i),
        };
        self.evict(own, true, held) || self.evict_from_another(own, held)
    }

    fn evict(&mut self, part: usize, own: bool, held: &Held) -> bool {
        match part {
            0 => self.default.evict(own, held),
            1 => false,
            _ => drop_one(&mut self.loops[part - 2], held, true),
        }
    }

    fn evict_from_another(&mut self, own: usize, held: &Held) -> bool {
        let parts = self.parts();
        let others: Vec<usize> = (0..parts.len()).filter(|&part| part != own && !parts[part].is_empty()).collect();
        if others.is_empty() {
            return false;
        }
        let drawn = self.random.below(others.len() as u64) as usize;
        (0..others.len()).any(|step| self.evict(others[(drawn + step) % others.len()], false, held))
    }
}

/// Takes the first block that no reader holds from the front of `list`, or from its end.
fn drop_one(list: &mut Vec<u32>, held: &Held, latest: bool) -> bool {
    let free = |block: &u32| !held.contains(block);
    let at = if latest { list.iter().rposition(free) } else { list.iter().position(free) };
    at.map(|at| list.remove(at)).is_some()
}

/// LRU with a list of its last victims.
pub(crate) struct Lru {
    frames: usize,
    blocks: Vec<u32>,
    ghosts: Vec<u32>,
}

impl Default for Lru {
    fn new(frames: usize) -> Lru {
        Lru { frames, blocks: Vec::new(), ghosts: Vec::new() }
    }

    fn hit(&mut self, block: u32) {
        self.remove(block);
        self.blocks.push(block);
    }

    fn miss(&mut self, block: u32) -> bool {
        let before = self.ghosts.len();
        self.forget_ghost(block);
        self.ghosts.len() < before
    }

    fn evict(&mut self, _own: bool, held: &Held) -> bool {
        let Some(at) = self.blocks.iter().position(|block| !held.contains(block)) else { return false };
        if self.ghosts.len() == self.frames {
            self.ghosts.remove(0);
        }
        self.ghosts.push(self.blocks.remove(at));
        true
    }

    fn admit(&mut self, block: u32, _moved: bool) {
        self.blocks.push(block);
    }

    fn remove(&mut self, block: u32) {
        self.blocks.retain(|&other| other != block);
    }

    fn forget_ghost(&mut self, block: u32) {
        self.ghosts.retain(|&other| other != block);
    }

    fn blocks(&self) -> BTreeSet<u32> {
        self.blocks.iter().copied().collect()
    }

    fn ghosts(&self) -> BTreeSet<u32> {
        self.ghosts.iter().copied().collect()
    }
}

/// ARC, whose frames come and go, so that its bounds are kept by themselves.
pub(crate) struct Arc {
    c: usize,
    p: usize,
    t1: Vec<u32>,
    t2: Vec<u32>,
    b1: Vec<u32>,
    b2: Vec<u32>,
    /// Where the block missed last was: in none of the lists, in B1 or in B2.
    case: u8,
}

impl Arc {
    fn keep_bounds(&mut self) {
        while self.t1.len() + self.b1.len() > self.c && !self.b1.is_empty() {
            self.b1.remove(0);
        }
        while self.b1.len() + self.b2.len() > self.c && !self.b2.is_empty() {
            self.b2.remove(0);
        }
    }
}

impl Default for Arc {
    fn new(c: usize) -> Arc {
        Arc { c, p: 0, t1: Vec::new(), t2: Vec::new(), b1: Vec::new(), b2: Vec::new(), case: 0 }
    }

    fn hit(&mut self, block: u32) {
        self.remove(block);
        self.t2.push(block);
    }

    fn miss(&mut self, block: u32) -> bool {
        let (b1, b2) = (self.b1.len(), self.b2.len());
        self.case = 0;
        if self.b1.contains(&block) {
            self.p = (self.p + (b2 / b1).max(1)).min(self.c);
            self.case = 1;
        } else if self.b2.contains(&block) {
            self.p = self.p.saturating_sub((b1 / b2).max(1));
            self.case = 2;
        }
        self.forget_ghost(block);
        self.case > 0
    }

    fn evict(&mut self, own: bool, held: &Held) -> bool {
        let case = if own { self.case } else { 0 };
        let first = |list: &[u32]| list.iter().position(|block| !held.contains(block));
        let (t1, t2) = (first(&self.t1), first(&self.t2));
        let prefers_t1 = self.t1.len() > self.p || case == 2 && self.t1.len() == self.p && self.p > 0;
        let from_t1 = if prefers_t1 { t1.is_some() } else { t2.is_none() };
        let Some(at) = (if from_t1 { t1 } else { t2 }) else { return false };
        let block = if from_t1 { self.t1.remove(at) } else { self.t2.remove(at) };
        let l1 = self.t1.len() + usize::from(from_t1) + self.b1.len();
        if case == 0 && l1 >= self.c {
            if self.b1.is_empty() {
                return true;
            }
            self.b1.remove(0);
        } else if self.b1.len() + self.b2.len() >= self.c && !self.b2.is_empty() {
            self.b2.remove(0);
        }
        if self.b1.len() + self.b2.len() < self.c {
            if from_t1 { self.b1.push(block) } else { self.b2.push(block) }
        }
        self.keep_bounds();
        true
    }

    fn admit(&mut self, block: u32, moved: bool) {
        if moved || self.case == 0 {
            self.t1.push(block)
        } else {
            self.t2.push(block)
        }
        self.keep_bounds();
    }

    fn remove(&mut self, block: u32) {
        self.t1.retain(|&other| other != block);
        self.t2.retain(|&other| other != block);
    }

    fn forget_ghost(&mut self, block: u32) {
        self.b1.retain(|&other| other != block);
        self.b2.retain(|&other| other != block);
    }

    fn blocks(&self) -> BTreeSet<u32> {
        self.t1.iter().chain(&self.t2).copied().collect()
    }

    fn ghosts(&self) -> BTreeSet<u32> {
        self.b1.iter().chain(&self.b2).copied().collect()
    }
}

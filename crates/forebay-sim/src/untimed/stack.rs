//! LRU's stack, for its whole curve at once.

use std::hint::black_box;

/// Bits in a block of marks: eight words, a line of the processor's cache.
const BLOCK: u32 = 512;

/// Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques for storage hierarchies" (IBM Systems
/// Journal 1970): a block hits in every LRU cache of at least its stack distance, the number of
/// distinct blocks referred to since its last reference, itself included.
///
/// Each block has a mark at the moment of its last reference, and its distance is the number of
/// marks from there on. Marks are bits, summed by block in a tree of partial sums (Fenwick, 1994).
/// When all moments are used up, the marks move together, keeping their order, so that memory
/// follows the distinct blocks and not the references.
#[derive(Debug)]
pub(super) struct Stack {
    /// By key: the moment of its last reference plus one; zero if there was none.
    last: Vec<u32>,
    marks: Vec<u64>,
    /// The sums of all blocks of marks before the present one.
    sums: Vec<u32>,
    now: u32,
    live: u32,
    /// By distance, how many references had it.
    distances: Vec<u64>,
}

impl Stack {
    pub(super) fn new() -> Stack {
        let blocks = 128;
        Stack {
            last: Vec::new(),
            marks: vec![0; blocks * BLOCK as usize / 64],
            sums: vec![0; blocks + 1],
            now: 0,
            live: 0,
            distances: vec![0],
        }
    }

    /// Refers to blocks, one after the other.
    pub(super) fn refer(&mut self, keys: &[u32]) {
        /// As many loads as a processor has under way, and some more.
        const BATCH: usize = 32;
        for keys in keys.chunks(BATCH) {
            let mut touched = 0;
            for &key in keys {
                touched ^= self.last.get(key as usize).copied().unwrap_or(0);
            }
            black_box(touched);
            for &key in keys {
                self.refer_to(key as usize);
            }
        }
    }

    /// How many references a cache of `capacity` blocks misses at, first ones included, for each of
    /// `capacities`.
    pub(super) fn misses(&self, capacities: &[u64], references: u64) -> Vec<u64> {
        // hits[d]: references at a distance of at most d.
        let hits: Vec<u64> = self
            .distances
            .iter()
            .scan(0, |sum, count| {
                *sum += count;
                Some(*sum)
            })
            .collect();
        let hits = |&capacity: &u64| hits[usize::try_from(capacity).unwrap_or(usize::MAX).min(hits.len() - 1)];
        capacities.iter().map(|capacity| references - hits(capacity)).collect()
    }

    fn refer_to(&mut self, key: usize) {
        if key >= self.last.len() {
            self.last.resize(key + 1, 0);
            self.distances.resize(key + 2, 0);
        }
        if self.now == self.marks.len() as u32 * 64 {
            self.close_ranks();
        }
        if self.now.is_multiple_of(BLOCK) && self.now > 0 {
            let block = self.now / BLOCK - 1;
            let count = self.marks_in(block, BLOCK);
            self.add(block, count);
        }
        let now = self.now;
        let before = std::mem::replace(&mut self.last[key], now + 1);
        if before > 0 {
            let moment = before - 1;
            let distance = self.live - self.marks_before(moment);
            self.distances[distance as usize] += 1;
            self.marks[moment as usize / 64] &= !(1 << (moment % 64));
            if moment / BLOCK < now / BLOCK {
                self.add(moment / BLOCK, u32::MAX);
            }
        } else {
            self.live += 1;
        }
        self.marks[now as usize / 64] |= 1 << (now % 64);
        self.now += 1;
    }

    fn marks_before(&self, moment: u32) -> u32 {
        let block = moment / BLOCK;
        let mut sum = self.marks_in(block, moment % BLOCK);
        let mut at = block;
        while at > 0 {
            sum = sum.wrapping_add(self.sums[at as usize]);
            at &= at - 1;
        }
        sum
    }

    /// The number of marks among the first `bits` of a block.
    fn marks_in(&self, block: u32, bits: u32) -> u32 {
        let start = (block * (BLOCK / 64)) as usize;
        let words = &self.marks[start..start + (BLOCK / 64) as usize];
        let (whole, rest) = ((bits / 64) as usize, bits % 64);
        let mut count: u32 = words[..whole].iter().map(|word| word.count_ones()).sum();
        if rest > 0 {
            count += (words[whole] & ((1 << rest) - 1)).count_ones();
        }
        count
    }

    /// Adds to the sum of a block; `u32::MAX` takes one away.
    fn add(&mut self, block: u32, count: u32) {
        let mut at = block as usize + 1;
        while at < self.sums.len() {
            self.sums[at] = self.sums[at].wrapping_add(count);
            at += at & at.wrapping_neg();
        }
    }

    /// All moments are used up: the marks move to the first ones, and room comes for three times as
    /// many.
    fn close_ranks(&mut self) {
        let mut before = 0;
        let blocks = self.marks.len() as u32 * 64 / BLOCK;
        for block in 0..blocks {
            let count = self.marks_in(block, BLOCK);
            self.sums[block as usize] = before;
            before += count;
        }
        let mut last = std::mem::take(&mut self.last);
        for moment in last.iter_mut().filter(|moment| **moment > 0) {
            let old = *moment - 1;
            *moment = self.sums[(old / BLOCK) as usize] + self.marks_in(old / BLOCK, old % BLOCK) + 1;
        }
        self.last = last;
        self.now = self.live;
        let blocks =
            (u64::from(self.live) * 4).clamp(1 << 16, (1 << 32) - u64::from(BLOCK)).div_ceil(u64::from(BLOCK)) as usize;
        self.marks.clear();
        self.marks.resize(blocks * (BLOCK / 64) as usize, 0);
        self.sums.clear();
        self.sums.resize(blocks + 1, 0);
        for at in 0..self.live as usize {
            self.marks[at / 64] |= 1 << (at % 64);
        }
        // The present block's sum is added when it is full.
        for block in 0..self.now.saturating_sub(1) / BLOCK {
            self.add(block, BLOCK);
        }
    }
}

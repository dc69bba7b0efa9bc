//! DEAR's detection (Choi, Noh, Min and Cho, USENIX 1999, §2), as AMP §2.2 has it: "DEAR sorts
//! blocks by last-access time, and observes whether the more recently accessed block gets accessed
//! farther in the future, indicating a loop."
//!
//! At the end of an interval the blocks accessed in it are looked at as its beginning saw them
//! ("two-stage pipeline with one-level look-behind"). The backward distance is how far back the
//! last access of each lay in the interval before, the forward distance how soon it was accessed
//! now. Sorted by backward distance they are put in groups of equal size, and forward distances are
//! averaged by group. Blocks that were not accessed in the interval before are infinitely far, all
//! alike, so that they are one group, the last:
//!
//! ```text
//!   backward distance   near ─────▶ far
//!   forward distance    far  ─────▶ near     looping: the last accessed comes last
//!                       near ─────▶ far      temporally clustered
//!   all infinitely far                       one-shot (DEAR's sequential)
//! ```
//!
//! Each must hold from every group to the next one, which is why the scheme "seems to be brittle to
//! fluctuations in block ordering". DEAR also tells a probabilistic pattern, by frequency; nothing
//! here makes use of it, so it is [`Pattern::Other`]. Memory is bounded by the interval: no more
//! blocks are known than two of them have accesses.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::hint::Pattern;

/// A block's accesses in an interval, the interval's first being 0.
#[derive(Clone, Copy, Debug)]
struct Seen {
    first: u32,
    last: u32,
}

/// The detector of one stream.
#[derive(Clone, Debug)]
pub struct Detector {
    /// Accesses of an interval.
    interval: u32,
    /// Blocks of a group.
    group: usize,
    accesses: u32,
    before: BTreeMap<u64, Seen>,
    now: BTreeMap<u64, Seen>,
    pattern: Pattern,
}

impl Detector {
    /// With intervals of this many accesses and groups of this many blocks, each at least 1.
    pub fn new(interval: u32, group: u32) -> Detector {
        Detector {
            interval: interval.max(1),
            group: group.max(1) as usize,
            accesses: 0,
            before: BTreeMap::new(),
            now: BTreeMap::new(),
            pattern: Pattern::Other,
        }
    }

    /// A block is accessed.
    pub fn access(&mut self, block: u64) {
        let at = self.accesses;
        self.now.entry(block).or_insert(Seen { first: at, last: at }).last = at;
        self.accesses += 1;
        if self.accesses == self.interval {
            if !self.before.is_empty() {
                self.pattern = self.detect();
            }
            self.before = core::mem::take(&mut self.now);
            self.accesses = 0;
        }
    }

    /// The stream's pattern at the end of the last interval.
    pub fn pattern(&self) -> Pattern {
        self.pattern
    }

    fn detect(&self) -> Pattern {
        if !self.now.keys().any(|block| self.before.contains_key(block)) {
            return Pattern::OneShot;
        }
        let distances = self.forward_distances();
        if distances.len() > 1 && distances.is_sorted_by(|nearer, farther| nearer > farther) {
            Pattern::Looping
        } else if distances.len() > 1 && distances.is_sorted_by(|nearer, farther| nearer < farther) {
            Pattern::Clustered
        } else {
            Pattern::Other
        }
    }

    /// The mean forward distance of each group, the group of the smallest backward distances first.
    /// In 256ths.
    fn forward_distances(&self) -> Vec<u64> {
        let last = |block| self.before.get(block).map(|seen| seen.last);
        let mut blocks: Vec<(Option<u32>, u32)> =
            self.now.iter().map(|(block, now)| (last(block), now.first)).collect();
        // `None` is the least, and so the farthest.
        blocks.sort_unstable_by_key(|&(last, _)| core::cmp::Reverse(last));
        let (near, far) = blocks.split_at(blocks.partition_point(|(last, _)| last.is_some()));
        let mean = |group: &[(Option<u32>, u32)]| {
            (group.iter().map(|&(_, forward)| u64::from(forward)).sum::<u64>() << 8) / group.len() as u64
        };
        near.chunks(self.group).chain(far.chunks(far.len().max(1))).map(mean).collect()
    }

    /// The bytes that it takes, about: a block's number, its accesses, and its part of a node.
    pub fn footprint(&self) -> usize {
        (self.before.len() + self.now.len()) * 24
    }
}

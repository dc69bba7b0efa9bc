//! DEAR's detection (Choi, Noh, Min and Cho, USENIX 1999), as AMP §2.2 has it: "DEAR sorts blocks by last-access time, and observes whether
//! the more recently accessed block gets accessed farther in the future, indicating a loop."
//!
//! At the end of an interval the blocks of the interval before are put in groups, by how far back their last access lay when that ended
//! (backward distance), and how soon they were accessed in this one (forward distance) is averaged by group; likewise by how often they
//! were accessed:
//!
//! ```text
//!   backward distance   near ─────▶ far
//!   forward distance    far  ─────▶ near     looping: what was accessed last comes last
//!                       near ─────▶ far      temporally clustered
//!   frequency           high ─────▶ low
//!   forward distance    near ─────▶ far      by probability: other
//!   none accessed again                      one-shot (DEAR's sequential)
//! ```
//!
//! Each must hold from every group to the next one, which is why the scheme "seems to be brittle to fluctuations in block ordering".

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Pattern;

/// A block's accesses in an interval.
#[derive(Clone, Copy, Debug)]
struct Seen {
    first: u32,
    last: u32,
    count: u32,
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
    /// With intervals of so many accesses and groups of so many blocks, each at least 1.
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
        let seen = self.now.entry(block).or_insert(Seen { first: at, last: at, count: 0 });
        seen.last = at;
        seen.count += 1;
        self.accesses += 1;
        if self.accesses == self.interval {
            if !self.before.is_empty() {
                self.pattern = self.detect();
            }
            self.before = core::mem::take(&mut self.now);
            self.accesses = 0;
        }
    }

    /// What the stream was taken for at the end of the last interval.
    pub fn pattern(&self) -> Pattern {
        self.pattern
    }

    fn detect(&self) -> Pattern {
        if !self.before.keys().any(|block| self.now.contains_key(block)) {
            return Pattern::OneShot;
        }
        // The nearest first.
        let by_recency = self.forward_distances(|seen| core::cmp::Reverse(seen.last));
        if falls(&by_recency) {
            Pattern::Looping
        } else if rises(&by_recency) {
            Pattern::Clustered
        } else {
            Pattern::Other
        }
    }

    /// The mean forward distance of each group, in the order of `key`; a block that was not accessed again counts as one at the end of the
    /// interval. In 256ths.
    fn forward_distances<K: Ord>(&self, key: impl Fn(&Seen) -> K) -> Vec<u64> {
        let mut blocks: Vec<(&u64, &Seen)> = self.before.iter().collect();
        blocks.sort_by_key(|(_, seen)| key(seen));
        let forward = |block: &u64| u64::from(self.now.get(block).map_or(self.interval, |seen| seen.first));
        let mean = |group: &[(&u64, &Seen)]| {
            (group.iter().map(|(block, _)| forward(block)).sum::<u64>() << 8) / group.len() as u64
        };
        blocks.chunks(self.group).map(mean).collect()
    }
}

fn falls(distances: &[u64]) -> bool {
    distances.len() > 1 && distances.is_sorted_by(|a, b| a > b)
}

fn rises(distances: &[u64]) -> bool {
    distances.len() > 1 && distances.is_sorted_by(|a, b| a < b)
}

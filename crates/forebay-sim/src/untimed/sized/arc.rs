//! ARC (Megiddo and Modha, FAST 2003), Fig. 4, with bytes where it counts pages. `c` is the
//! capacity, `p` the bytes that T1 should have.
//!
//! ```text
//!         L1: referenced once lately            L2: at least twice
//!   ◀── B1 ghosts ──┼─── T1 objects ──▶ ◀── T2 objects ───┼── B2 ghosts ──▶
//!   |T1| + |T2| ≤ c     |T1| + |B1| ≤ c     |T1| + |T2| + |B1| + |B2| ≤ 2c
//! ```
//!
//! A ghost that is wanted moves `p` by its bytes where the paper moves it by a page, and the three
//! bounds hold whatever the sizes are. In libCacheSim `p` moves by one byte, which is next to
//! nothing, and a victim pushes one ghost out, however large each is. With objects of one byte both
//! come to the same.

use super::Objects;
use super::lists::Lists;

const T1: usize = 0;
const T2: usize = 1;
const B1: usize = 2;
const B2: usize = 3;

pub(super) struct Arc {
    c: u64,
    p: f64,
    lists: Lists<4>,
}

impl Arc {
    pub(super) fn new(capacity: u64) -> Arc {
        Arc { c: capacity, p: 0.0, lists: Lists::new() }
    }

    /// A ghost of `list` is wanted.
    fn comes_back(&mut self, list: usize, key: u32) {
        let (b1, b2) = (self.lists.bytes(B1) as f64, self.lists.bytes(B2) as f64);
        let bytes = self.lists.take(key).bytes as f64;
        if list == B1 {
            // Case II: p = min { p + δ1, c }, δ1 = 1 if |B1| ≥ |B2|, |B2| / |B1| otherwise
            self.p = (self.p + bytes * (b2 / b1).max(1.0)).min(self.c as f64);
        } else {
            // Case III: p = max { p − δ2, 0 }, δ2 = 1 if |B2| ≥ |B1|, |B1| / |B2| otherwise
            self.p = (self.p - bytes * (b1 / b2).max(1.0)).max(0.0);
        }
    }

    /// Gives up an object for one of so many bytes that was in `ghosts`, or in no list.
    fn give_up(&mut self, bytes: u64, ghosts: Option<usize>) {
        if ghosts.is_none() && self.lists.bytes(T1) + self.lists.bytes(B1) + bytes > self.c {
            // Case IV.A: |L1| = c. If |T1| < c delete the LRU page of B1 and REPLACE …
            if self.lists.take_oldest(B1).is_none() {
                // … else B1 is empty: delete the LRU page of T1, which no ghost remembers.
                self.lists.take_oldest(T1);
                return;
            }
        }
        self.replace(ghosts == Some(B2));
    }

    /// REPLACE(x, p)
    fn replace(&mut self, in_b2: bool) {
        // if |T1| ≥ 1 and ((x ∈ B2 and |T1| = p) or |T1| > p)
        let t1 = self.lists.bytes(T1) as f64;
        let from_t1 = t1 > self.p || (in_b2 && t1 == self.p);
        let t1 = self.lists.oldest(T1).map(|key| (B1, key));
        let t2 = self.lists.oldest(T2).map(|key| (B2, key));
        let victim = if from_t1 { t1.or(t2) } else { t2.or(t1) };
        if let Some((ghosts, key)) = victim {
            self.lists.move_to(ghosts, key);
        }
    }

    /// Forgets the ghosts beyond the bounds: |L1| ≤ c, |L1| + |L2| ≤ 2c.
    fn keep_bounds(&mut self) {
        while self.lists.bytes(T1) + self.lists.bytes(B1) > self.c {
            self.lists.take_oldest(B1);
        }
        while [T1, T2, B1, B2].iter().map(|&list| self.lists.bytes(list)).sum::<u64>() > self.c.saturating_mul(2) {
            self.lists.take_oldest(B2);
        }
    }
}

impl Objects for Arc {
    fn refer(&mut self, key: u32, bytes: u64, enters: bool) -> bool {
        let list = self.lists.list(key);
        if matches!(list, Some(T1 | T2)) {
            // Case I: x in T1 or T2. Move x to MRU in T2.
            self.lists.move_to(T2, key);
            return true;
        }
        if let Some(ghosts) = list {
            self.comes_back(ghosts, key);
        }
        if enters {
            while self.lists.bytes(T1) + self.lists.bytes(T2) + bytes > self.c {
                self.give_up(bytes, list);
            }
            self.lists.put(if list.is_none() { T1 } else { T2 }, key, bytes);
            self.keep_bounds();
        }
        false
    }
}

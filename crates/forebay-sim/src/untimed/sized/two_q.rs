//! 2Q (Johnson and Shasha, VLDB 1994), the full version (Fig. 2), with bytes where it counts pages:
//! Kin is a fourth of them, Kout a half.
//!
//! ```text
//!   new ─▶ [ A1in, FIFO, Kin ] ─▶ [ A1out, ghosts, Kout ] ── wanted again ──▶ [ Am, LRU ] ─▶ gone
//! ```
//!
//! libCacheSim bounds Am too, by the three fourths that Kin leaves, and never takes in objects
//! larger than Kin. The paper has neither rule, and with pages of one size the first one changes
//! nothing.

use super::Objects;
use super::lists::Lists;

const A1_IN: usize = 0;
const AM: usize = 1;
const A1_OUT: usize = 2;

pub(super) struct TwoQ {
    capacity: u64,
    k_in: u64,
    k_out: u64,
    lists: Lists<3>,
}

impl TwoQ {
    pub(super) fn new(capacity: u64) -> TwoQ {
        TwoQ { capacity, k_in: capacity / 4, k_out: capacity / 2, lists: Lists::new() }
    }

    /// reclaimfor(X), when there are no free page slots.
    fn reclaim(&mut self) {
        let full = self.lists.bytes(A1_IN) > self.k_in;
        if !full && self.lists.take_oldest(AM).is_some() {
            // Page out the tail of Am. Do not put it on A1out: it hasn't been accessed for a while.
            return;
        }
        // Page out the tail of A1in, add its identifier to the head of A1out; if |A1out| > Kout
        // remove the tail of it.
        if let Some(object) = self.lists.take_oldest(A1_IN)
            && object.bytes <= self.k_out
        {
            while self.lists.bytes(A1_OUT) + object.bytes > self.k_out {
                self.lists.take_oldest(A1_OUT);
            }
            self.lists.put(A1_OUT, object.key, object.bytes);
        }
    }
}

impl Objects for TwoQ {
    fn refer(&mut self, key: u32, bytes: u64, enters: bool) -> bool {
        // if X is in A1out then add X to the head of Am, else to the head of A1in
        let list = match self.lists.list(key) {
            None => A1_IN,
            Some(A1_OUT) => {
                self.lists.take(key);
                AM
            }
            Some(list) => {
                // if X is in Am then move X to the head of Am; if X is in A1in do nothing
                if list == AM {
                    self.lists.move_to(AM, key);
                }
                return true;
            }
        };
        if enters {
            while self.lists.bytes(A1_IN) + self.lists.bytes(AM) + bytes > self.capacity {
                self.reclaim();
            }
            self.lists.put(list, key, bytes);
        }
        false
    }
}

//! S3-FIFO (Yang et al., SOSP 2023), Algorithm 1, with bytes where it counts objects.
//!
//! ```text
//!   new ─▶ [ S, a tenth ] ── used twice ──▶ [ M, the rest ] ⟲ while used
//!                │ else                          ▲     └─▶ gone
//!                └────▶ [ G, ghosts, bytes as M ] ─ wanted again
//! ```
//!
//! As in the authors' simulator, M gives room once it has more than its share, and S otherwise.
//! With objects of one size that is the algorithm's condition, |S| below its share. The simulator
//! has two rules beside: until the first eviction, objects that find S full go to M, and objects
//! as large as S are never taken in. The paper has neither, and so they are not here.

use super::Objects;
use super::lists::Lists;

const SMALL: usize = 0;
const MAIN: usize = 1;
const GHOSTS: usize = 2;

/// A frequency takes two bits.
const MAX_FREQUENCY: u8 = 3;

pub(super) struct S3Fifo {
    capacity: u64,
    /// The bytes of M, and those that ghosts stand for.
    main_share: u64,
    lists: Lists<3>,
}

impl S3Fifo {
    pub(super) fn new(capacity: u64) -> S3Fifo {
        S3Fifo { capacity, main_share: capacity - capacity / 10, lists: Lists::new() }
    }

    fn evict(&mut self) {
        if self.lists.bytes(MAIN) > self.main_share || !self.evict_small() {
            self.evict_main();
        }
    }

    /// `false` if all of S went to M.
    fn evict_small(&mut self) -> bool {
        while let Some(object) = self.lists.take_oldest(SMALL) {
            // if t.freq > 1 then insert t to M, else insert t to G; evicted ← true
            if object.uses <= 1 {
                self.remember(object.key, object.bytes);
                return true;
            }
            self.lists.put(MAIN, object.key, object.bytes);
        }
        false
    }

    fn evict_main(&mut self) {
        // if t.freq > 0 then insert t to head of M, t.freq ← t.freq − 1
        while let Some(object) = self.lists.take_oldest(MAIN)
            && object.uses > 0
        {
            self.lists.put(MAIN, object.key, object.bytes);
            *self.lists.uses(object.key) = object.uses - 1;
        }
    }

    fn remember(&mut self, key: u32, bytes: u64) {
        if bytes > self.main_share {
            return;
        }
        while self.lists.bytes(GHOSTS) + bytes > self.main_share {
            self.lists.take_oldest(GHOSTS);
        }
        self.lists.put(GHOSTS, key, bytes);
    }
}

impl Objects for S3Fifo {
    fn refer(&mut self, key: u32, bytes: u64, enters: bool) -> bool {
        let queue = match self.lists.list(key) {
            None => SMALL,
            Some(GHOSTS) => {
                self.lists.take(key);
                MAIN
            }
            Some(_) => {
                // x.freq ← min(x.freq + 1, 3)
                let uses = self.lists.uses(key);
                *uses = (*uses + 1).min(MAX_FREQUENCY);
                return true;
            }
        };
        if enters {
            while self.lists.bytes(SMALL) + self.lists.bytes(MAIN) + bytes > self.capacity {
                self.evict();
            }
            self.lists.put(queue, key, bytes);
        }
        false
    }
}

//! ARC: recency and frequency, balanced by blocks that were given up too early.

use super::{ALL, Class, Replacement, ghosts};
use crate::directory::{Directory, Layout};
use crate::frames::{ListId, Slot, flag};
use crate::slab::Slab;

/// Case IV: the block is in none of the lists.
const NEW: Class = 0;
/// Case II: the block is in B1.
const IN_B1: Class = 1;
/// Case III: the block is in B2.
const IN_B2: Class = 2;
/// Case II, but the block was prefetched, and unread when it went (the paper has no such blocks).
const UNREAD_IN_B1: Class = 3;

/// Megiddo and Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache" (FAST 2003), Fig. 4. `c`
/// is the number of frames, `p` the number that T1 should have.
///
/// ```text
///         L1: referenced once lately          L2: at least twice
///   ◀── B1 ghosts ──┼─── T1 frames ───▶ ◀─── T2 frames ───┼── B2 ghosts ──▶
///                        |T1| → p
///   |T1| + |T2| ≤ c     |T1| + |B1| ≤ c     |B1| + |B2| ≤ c
/// ```
///
/// `p` is an integer: the step of Cases II and III, a quotient of ghost list lengths in the paper,
/// is rounded down (and is 1 at least there too).
///
/// The paper's cache is always full and fetches at once. Here frames may be on their way or
/// forgotten when a block is wanted, so that the three bounds are kept by themselves rather than by
/// Case IV's counting; without time, they come to the same. When readers hold all of the list that
/// REPLACE names, the other one gives the frame.
///
/// When its size changes `p` keeps its share of it. Ghosts beyond the bounds are forgotten at the
/// next victim or insertion.
#[derive(Clone, Debug)]
pub struct Arc {
    t1: ListId,
    t2: ListId,
    b1: ListId,
    b2: ListId,
    p: u32,
    c: u32,
}

impl Replacement for Arc {
    /// T1, T2, B1 and B2, in this order.
    const LISTS: u8 = 4;
    const GHOST_LISTS: u8 = 2;
    const MOVES: bool = true;
    const LOGGED: Option<u32> = Some(0);

    fn ghosts(frames: u32) -> u32 {
        frames
    }

    fn new(first_list: u8, frames: u32) -> Arc {
        Arc {
            t1: ListId(first_list),
            t2: ListId(first_list + 1),
            b1: ListId(first_list + 2),
            b2: ListId(first_list + 3),
            p: 0,
            c: frames,
        }
    }

    #[inline(always)]
    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        // Case I: x in T1 or T2. Move x to MRU in T2.
        directory.frames.move_to_front(slot, self.t2);
    }

    fn first_use<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        // As in the paper's miss: most recent in the list that its class chose.
        let list = directory.frames.list(slot);
        directory.frames.move_to_front(slot, list);
    }

    fn miss<I: Layout>(&mut self, directory: &mut Directory<I>, ghost: Option<Slot>) -> Class {
        // By the letter: a request for a page of B1, read or not.
        let class = match self.recalls(directory, ghost) {
            UNREAD_IN_B1 => IN_B1,
            class => class,
        };
        self.comes_back(directory, class);
        class
    }

    fn recalls<I: Layout>(&mut self, directory: &mut Directory<I>, ghost: Option<Slot>) -> Class {
        match ghost.map(|slot| directory.frames.list(slot)) {
            None => NEW,
            Some(list) if list != self.b1 => IN_B2,
            // To be read for the first time: the ghost tells that T1 was too small, and nothing of
            // a second use.
            Some(_) if ghost.is_some_and(|slot| directory.frames.has(slot, flag::PREFETCHED)) => UNREAD_IN_B1,
            Some(_) => IN_B1,
        }
    }

    fn comes_back<I: Layout>(&mut self, directory: &Directory<I>, class: Class) {
        let (b1, b2) = (directory.frames.len(self.b1), directory.frames.len(self.b2));
        match class {
            // Case II: p = min { p + δ1, c }, δ1 = 1 if |B1| ≥ |B2|, |B2| / |B1| otherwise
            IN_B1 | UNREAD_IN_B1 => self.p = self.p.saturating_add(step(b2, b1)).min(self.c),
            // Case III: p = max { p − δ2, 0 }, δ2 = 1 if |B2| ≥ |B1|, |B1| / |B2| otherwise
            IN_B2 => self.p = self.p.saturating_sub(step(b1, b2)),
            _ => {}
        }
    }

    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, class: Class) -> Option<Slot> {
        let (slot, list) = self.replace(directory, class)?;
        let frames = &directory.frames;
        if class == NEW && frames.len(self.t1) + frames.len(self.b1) >= self.c {
            // Case IV.A: |L1| = c. If |T1| < c delete the LRU page of B1 and REPLACE …
            let Some(oldest) = frames.back(self.b1) else {
                // … else B1 is empty: delete the LRU page of T1, which no ghost remembers.
                directory.release(slot);
                return Some(slot);
            };
            directory.release(oldest);
        } else if ghosts::are_full(directory, frames.len(self.b1) + frames.len(self.b2), self.c) {
            // Case IV.B: |L1| < c and |L1| + |L2| = 2c. Delete the LRU page of B2.
            if let Some(oldest) = frames.back(self.b2) {
                directory.release(oldest);
            }
        }
        directory.release_to_ghost(slot, list);
        self.keep_bounds(directory);
        Some(slot)
    }

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, class: Class) {
        let list = if class == NEW || class == UNREAD_IN_B1 { self.t1 } else { self.t2 };
        directory.frames.move_to_front(slot, list);
        // |L1| ≤ c, where a free frame took the block and no victim made room in L1.
        self.keep_bounds(directory);
    }

    fn resize(&mut self, frames: u32) {
        self.p = share(self.p, self.c, frames);
        self.c = frames;
    }

    fn balance(&self) -> u32 {
        share(self.p, self.c, ALL)
    }

    /// The blocks of T2 become the most recent ones of T1, in their order. That takes a walk over
    /// T2.
    fn begin_anew<I: Layout>(&mut self, directory: &mut Directory<I>, balance: u32) {
        self.p = share(balance, ALL, self.c);
        while let Some(slot) = directory.frames.back(self.t2) {
            directory.frames.move_to_front(slot, self.t1);
        }
    }
}

impl Arc {
    /// |T1| + |B1| ≤ c and |B1| + |B2| ≤ c, which frames that came late or a smaller size may have
    /// broken.
    fn keep_bounds<I: Layout>(&self, directory: &mut Directory<I>) {
        ghosts::bound(directory, self.b1, self.c.saturating_sub(directory.frames.len(self.t1)));
        ghosts::bound(directory, self.b2, self.c - directory.frames.len(self.b1));
    }

    /// REPLACE(x, p): the frame to give up and the list of its ghost.
    fn replace<I: Layout>(&self, directory: &Directory<I>, class: Class) -> Option<(Slot, ListId)> {
        let frames = &directory.frames;
        let t1 = frames.len(self.t1);
        let oldest = |list| frames.unpinned_from_back(list);
        let from_t1 = || Some((oldest(self.t1)?, self.b1));
        let from_t2 = || Some((oldest(self.t2)?, self.b2));
        // if |T1| ≥ 1 and ((x ∈ B2 and |T1| = p) or |T1| > p)
        if t1 >= 1 && (t1 > self.p || (class == IN_B2 && t1 == self.p)) {
            from_t1().or_else(from_t2)
        } else {
            from_t2().or_else(from_t1)
        }
    }
}

/// As large a part of `new` as `part` is of `old`.
pub(super) fn share(part: u32, old: u32, new: u32) -> u32 {
    let (part, old, new) = (u64::from(part), u64::from(old.max(1)), u64::from(new));
    ((part * new + old / 2) / old).min(new) as u32
}

/// How far a hit in a ghost list of `own` blocks moves `p` where the other one has `other`.
fn step(other: u32, own: u32) -> u32 {
    (other / own.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::index::Hashed;
    use crate::types::{BlockKey, FileId};

    const FIRST: u8 = 4;

    /// Four frames, two of them used twice, through which two more blocks went, so that B1
    /// remembers blocks 2 and 3; `unread` says whether they were unread.
    fn with_ghosts(unread: bool) -> (Arc, Directory<Hashed>) {
        let mut directory: Directory<Hashed> = Directory::new(FIRST + Arc::LISTS, 4, 4);
        let mut arc = Arc::new(FIRST, 4);
        for block in 0..6 {
            if block >= 4 {
                arc.victim(&mut directory, NEW).expect("a victim");
            }
            let slot = directory.assign(key(block), ListId(FIRST)).expect("a frame");
            directory.frames.clear(slot, flag::ABSENT);
            arc.insert(&mut directory, slot, NEW);
            if block < 2 {
                arc.hit(&mut directory, slot);
            } else if unread {
                directory.frames.set(slot, flag::PREFETCHED);
            }
        }
        (arc, directory)
    }

    fn key(block: u32) -> BlockKey {
        BlockKey::new(FileId(1), block)
    }

    /// A prefetch of a block that B1 remembers says nothing before the block is read; then T1 was
    /// too small. The block goes to T2 if that is its second use.
    #[test]
    fn a_ghost_that_is_fetched_ahead_teaches_when_it_is_read() {
        for (unread, list) in [(false, 1), (true, 0)] {
            let (mut arc, mut directory) = with_ghosts(unread);
            arc.p = 1;
            let ghost = directory.find(key(2)).filter(|&slot| directory.frames.is_ghost(slot)).expect("a ghost");
            let class = arc.recalls(&mut directory, Some(ghost));
            assert_eq!(arc.p, 1);
            arc.comes_back(&directory, class);
            assert_eq!(arc.p, 2);
            arc.remove(&mut directory, ghost);
            directory.release(ghost);
            arc.victim(&mut directory, class).expect("a victim");
            let slot = directory.assign(key(2), ListId(FIRST)).expect("a frame");
            arc.insert(&mut directory, slot, class);
            assert_eq!(directory.frames.list(slot), ListId(FIRST + list), "unread: {unread}");
        }
    }

    /// Blocks 0 and 1 were used twice, 4 and 5 came last: all count as used once then, those of T2
    /// as the last ones, and nothing that a caller may hold is released.
    #[test]
    fn who_begins_anew_knows_of_one_use_of_each_block() {
        let (mut arc, mut directory) = with_ghosts(false);
        let order = |directory: &Directory<Hashed>| {
            let mut blocks = Vec::new();
            let mut at = directory.frames.back(ListId(FIRST));
            while let Some(slot) = at {
                blocks.push(directory.frames.key(slot).block());
                at = directory.frames.towards_front(slot);
            }
            blocks
        };
        assert_eq!(order(&directory), [4, 5]);
        arc.begin_anew(&mut directory, ALL / 2);
        assert_eq!((order(&directory), arc.p, arc.balance()), (Vec::from([4, 5, 0, 1]), 2, ALL / 2));
        assert_eq!(directory.frames.len(ListId(FIRST + 1)), 0);
        assert!([2, 3].iter().all(|&block| directory.find(key(block)).is_some()), "ghosts are there");
        arc.victim(&mut directory, NEW).expect("a victim");
        assert!(directory.find(key(4)).is_none_or(|slot| directory.frames.is_ghost(slot)));
    }
}

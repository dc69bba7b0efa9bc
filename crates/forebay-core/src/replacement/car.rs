//! CAR: ARC's lists as clocks.

use super::arc::share;
use super::{Class, Replacement, ghosts};
use crate::directory::{Directory, Layout};
use crate::frames::{ListId, Slot};
use crate::slab::Slab;

/// The block is in none of the lists.
const NEW: Class = 0;
/// It is in B1.
const IN_B1: Class = 1;
/// It is in B2.
const IN_B2: Class = 2;

/// Bansal and Modha, "CAR: Clock with Adaptive Replacement" (FAST 2004), Fig. 2. `c` is the number
/// of frames, `p` the number that T1 should have.
///
/// ```text
///         referenced once lately              at least twice
///   ◀── B1 ghosts ──┼── T1, a clock ──▶ ◀── T2, a clock ──┼── B2 ghosts ──▶
/// ```
///
/// A hit sets a bit and moves nothing. `p` is an integer as in [`Arc`](super::Arc), and it is
/// adapted after the replacement, as the figure has it, that is when the block comes in. The page
/// under a hand is the oldest that no reader holds.
///
/// As with ARC, frames may be on their way or forgotten when a block is wanted, so that the bounds
/// of the ghost lists are kept by themselves; without time, that comes to lines 7 to 10. A new size
/// is taken as by [`Arc`](super::Arc).
#[derive(Clone, Debug)]
pub struct Car {
    t1: ListId,
    t2: ListId,
    b1: ListId,
    b2: ListId,
    p: u32,
    c: u32,
}

impl Replacement for Car {
    /// T1, T2, B1 and B2, in this order.
    const LISTS: u8 = 4;
    const GHOST_LISTS: u8 = 2;
    const LOGGED: Option<u32> = Some(1);

    /// As many as frames, and the one that is there between lines 6 and 10.
    fn ghosts(frames: u32) -> u32 {
        frames.saturating_add(1)
    }

    fn new(first_list: u8, frames: u32) -> Car {
        Car {
            t1: ListId(first_list),
            t2: ListId(first_list + 1),
            b1: ListId(first_list + 2),
            b2: ListId(first_list + 3),
            p: 0,
            c: frames,
        }
    }

    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        // Set the page reference bit for x to one.
        directory.frames.set_count(slot, 1);
    }

    fn first_use<I: Layout>(&mut self, _directory: &mut Directory<I>, _slot: Slot) {}

    fn miss<I: Layout>(&mut self, directory: &mut Directory<I>, ghost: Option<Slot>) -> Class {
        match ghost.map(|slot| directory.frames.list(slot)) {
            None => NEW,
            Some(list) if list == self.b1 => IN_B1,
            Some(_) => IN_B2,
        }
    }

    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, class: Class) -> Option<Slot> {
        let slot = self.replace(directory)?;
        if class == NEW {
            self.forget_a_ghost(directory, 0);
        }
        self.keep_bounds(directory);
        Some(slot)
    }

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, class: Class) {
        let frames = &mut directory.frames;
        // The block's own ghost, which is released by now, counts in its list.
        let (b1, b2) = (frames.len(self.b1), frames.len(self.b2));
        match class {
            // Insert x at the tail of T1.
            NEW => {
                frames.move_to_front(slot, self.t1);
                self.forget_a_ghost(directory, 1);
                self.keep_bounds(directory);
                return;
            }
            // p = min { p + max { 1, |B2| / |B1| }, c }
            IN_B1 => self.p = self.p.saturating_add((b2 / (b1 + 1)).max(1)).min(self.c),
            // p = max { p − max { 1, |B1| / |B2| }, 0 }
            _ => self.p = self.p.saturating_sub((b1 / (b2 + 1)).max(1)),
        }
        // Move x at the tail of T2.
        frames.move_to_front(slot, self.t2);
        self.keep_bounds(directory);
    }

    fn resize(&mut self, frames: u32) {
        self.p = share(self.p, self.c, frames);
        self.c = frames;
    }
}

impl Car {
    /// replace(): turns the clocks until a page without reference bit is under a hand, which
    /// becomes a ghost.
    fn replace<I: Layout>(&self, directory: &mut Directory<I>) -> Option<Slot> {
        loop {
            let frames = &mut directory.frames;
            // if |T1| ≥ max(1, p)
            let (first, second) =
                if frames.len(self.t1) >= self.p.max(1) { (self.t1, self.t2) } else { (self.t2, self.t1) };
            let slot = frames.unpinned_from_back(first).or_else(|| frames.unpinned_from_back(second))?;
            if frames.count(slot) == 0 {
                // Demote the head page and make it the MRU page in B1 (of T1) or B2 (of T2).
                let ghosts = if frames.list(slot) == self.t1 { self.b1 } else { self.b2 };
                directory.release_to_ghost(slot, ghosts);
                return Some(slot);
            }
            // Set the page reference bit to 0, and make it the tail page in T2.
            frames.set_count(slot, 0);
            frames.move_to_front(slot, self.t2);
        }
    }

    /// |T1| + |B1| ≤ c and |B1| + |B2| ≤ c + 1, which a smaller size may have broken.
    fn keep_bounds<I: Layout>(&self, directory: &mut Directory<I>) {
        ghosts::bound(directory, self.b1, self.c.saturating_sub(directory.frames.len(self.t1)));
        let most = Car::ghosts(self.c) - directory.frames.len(self.b1);
        ghosts::bound(directory, self.b2, most);
    }

    /// Keeps |T1| + |B1| < c before a new block comes to T1, ≤ c with it (`came` is 1), and |B1| +
    /// |B2| ≤ c.
    fn forget_a_ghost<I: Layout>(&self, directory: &mut Directory<I>, came: u32) {
        let frames = &directory.frames;
        let (t1, b1, b2) = (frames.len(self.t1), frames.len(self.b1), frames.len(self.b2));
        let oldest = if t1 + b1 >= self.c + came && b1 > 0 {
            // if |T1| + |B1| = c then discard the LRU page in B1
            frames.back(self.b1)
        } else if b1 + b2 > self.c {
            // else if |T1| + |T2| + |B1| + |B2| = 2c then discard the LRU page in B2
            frames.back(self.b2).or_else(|| frames.back(self.b1))
        } else {
            None
        };
        if let Some(oldest) = oldest {
            directory.release(oldest);
        }
    }
}

//! SIEVE: a FIFO that is searched by a hand.

use super::{Class, Replacement};
use crate::directory::{Directory, Layout};
use crate::frames::{ListId, Slot};
use crate::slab::Slab;

/// Zhang, Yang, Yue, Vigfusson and Rashmi, "SIEVE is Simpler than LRU" (NSDI 2024), Algorithm 1.
///
/// Like Clock it takes the visited bit from the frames that it passes; unlike Clock it leaves them
/// where they are, so that new frames, which enter at the front, are judged before the old ones
/// that survived.
///
/// ```text
///   front                          back
///   [new] [ ] [v] [ ] [v] [ ] [ ] [old]
///                      ◀── hand
/// ```
#[derive(Clone, Debug)]
pub struct Sieve {
    queue: ListId,
    /// The next frame to judge; none stands for the back of the queue.
    hand: Option<Slot>,
}

impl Replacement for Sieve {
    const LISTS: u8 = 1;
    const LOGGED: Option<u32> = Some(1);

    fn new(first_list: u8, _frames: u32) -> Sieve {
        Sieve { queue: ListId(first_list), hand: None }
    }

    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        // x.visited ← 1
        directory.frames.set_count(slot, 1);
    }

    fn first_use<I: Layout>(&mut self, _directory: &mut Directory<I>, _slot: Slot) {}

    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, _class: Class) -> Option<Slot> {
        let frames = &mut directory.frames;
        // o ← hand; if o is NULL then o ← tail of T
        let mut at = self.hand.or_else(|| frames.back(self.queue));
        // Once round takes every visited bit, twice round finds any frame that no reader holds.
        for _ in 0..2 * u64::from(frames.len(self.queue)) {
            let slot = at?;
            let ahead = frames.towards_front(slot);
            if frames.pins(slot) == 0 {
                if frames.count(slot) == 0 {
                    // hand ← o.prev; discard o
                    self.hand = ahead;
                    directory.release(slot);
                    return Some(slot);
                }
                // while o.visited = 1 do o.visited ← 0
                frames.set_count(slot, 0);
            }
            // o ← o.prev; if o is NULL then o ← tail of T
            at = ahead.or_else(|| frames.back(self.queue));
        }
        None
    }

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, _class: Class) {
        // Insert x in the head of T, x.visited ← 0
        directory.frames.move_to_front(slot, self.queue);
    }

    fn remove<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        if self.hand == Some(slot) {
            self.hand = directory.frames.towards_front(slot);
        }
    }
}

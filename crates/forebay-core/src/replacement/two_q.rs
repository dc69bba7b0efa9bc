//! 2Q: a queue for new blocks, a list for those that came back.

use super::{Class, Replacement, ghosts};
use crate::directory::{Directory, Layout};
use crate::frames::{ListId, Slot};
use crate::slab::Slab;

/// The block is unknown.
const NEW: Class = 0;
/// It is in A1out.
const CAME_BACK: Class = 1;

/// Johnson and Shasha, "2Q: A Low Overhead High Performance Buffer Management Replacement
/// Algorithm" (VLDB 1994), the full version (Fig. 2), with Kin a fourth of the frames and Kout half
/// as many ghosts as frames, as they recommend.
///
/// ```text
///   new ─▶ [ A1in, FIFO, Kin ] ─▶ [ A1out, ghosts, Kout ] ── wanted again ──▶ [ Am, LRU ] ─▶ gone
/// ```
///
/// A block that comes back leaves A1out before the next one enters it, so that this one pushes no
/// other out.
#[derive(Clone, Debug)]
pub struct TwoQ {
    a1_in: ListId,
    a1_out: ListId,
    am: ListId,
    k_in: u32,
    k_out: u32,
}

fn k_in(frames: u32) -> u32 {
    (frames / 4).max(1)
}

impl Replacement for TwoQ {
    /// A1in, Am, A1out.
    const LISTS: u8 = 3;
    const GHOST_LISTS: u8 = 1;
    const MOVES: bool = true;
    const LOGGED: Option<u32> = Some(0);

    /// Kout.
    fn ghosts(frames: u32) -> u32 {
        (frames / 2).max(1)
    }

    fn new(first_list: u8, frames: u32) -> TwoQ {
        TwoQ {
            a1_in: ListId(first_list),
            am: ListId(first_list + 1),
            a1_out: ListId(first_list + 2),
            k_in: k_in(frames),
            k_out: TwoQ::ghosts(frames),
        }
    }

    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        // if X is in Am then move X to the head of Am; if X is in A1in do nothing
        if directory.frames.list(slot) == self.am {
            directory.frames.move_to_front(slot, self.am);
        }
    }

    fn miss<I: Layout>(&mut self, _directory: &mut Directory<I>, ghost: Option<Slot>) -> Class {
        if ghost.is_some() { CAME_BACK } else { NEW }
    }

    /// reclaimfor(X), when there are no free page slots.
    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, _class: Class) -> Option<Slot> {
        let frames = &directory.frames;
        let from_in = frames.unpinned_from_back(self.a1_in);
        let from_am = frames.unpinned_from_back(self.am);
        let slot = if frames.len(self.a1_in) > self.k_in { from_in.or(from_am) } else { from_am.or(from_in) }?;
        if frames.list(slot) == self.a1_in {
            // Page out the tail of A1in, add its identifier to the head of A1out; if |A1out| > Kout
            // remove the tail of it.
            ghosts::remember(directory, slot, self.a1_out, self.k_out);
        } else {
            // Page out the tail of Am. Do not put it on A1out: it hasn't been accessed for a while.
            directory.release(slot);
        }
        Some(slot)
    }

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, class: Class) {
        // if X is in A1out then add X to the head of Am, else to the head of A1in
        let list = if class == CAME_BACK { self.am } else { self.a1_in };
        directory.frames.move_to_front(slot, list);
        ghosts::bound(directory, self.a1_out, self.k_out);
    }

    fn resize(&mut self, frames: u32) {
        self.k_in = k_in(frames);
        self.k_out = TwoQ::ghosts(frames);
    }
}

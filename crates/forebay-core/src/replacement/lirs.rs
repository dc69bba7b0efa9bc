//! LIRS: by the recency of the last reference but one.

use alloc::vec;
use alloc::vec::Vec;

use super::{Class, Replacement};
use crate::directory::Directory;
use crate::frames::{ListId, NO_GHOST, Slot};
use crate::index::Index;

/// The block is not in stack S.
const NEW: Class = 0;
/// It is, though it is not resident.
const IN_S: Class = 1;

/// Ghosts for each frame.
const GHOSTS: u32 = 2;

/// Jiang and Zhang, "LIRS: An Efficient Low Inter-reference Recency Set Replacement Policy to Improve Buffer Cache
/// Performance" (SIGMETRICS 2002), §3.
///
/// The paper has a stack S of LIR and HIR blocks by recency, pruned so that a LIR block is at its bottom, and a queue Q of
/// the resident HIR blocks, some of which are in S as well. A slot here is in one list only. But whatever was referenced
/// after the LIR block at the bottom is in S, and nothing else is: with the moment of every block's last reference beside
/// it, three lists do, and pruning is forgetting ghosts.
///
/// ```text
///   recency ─────▶             now                    bottom of S
///   LIR, LRU order             [L][L]  [L] [L]     [L]|
///   Q, resident HIR, FIFO            [h]    [h]       |  [h]
///   ghosts, HIR in S only               [g]    [g][g] |
/// ```
///
/// HIR blocks get a hundredth of the frames, but one at least. The paper lets S grow without bound; here at most two blocks that are
/// not resident are remembered for every frame, and the one at the bottom is forgotten first.
#[derive(Clone, Debug)]
pub struct Lirs {
    lir: ListId,
    q: ListId,
    ghosts: ListId,
    /// L_lirs: how many LIR blocks there may be.
    lirs: u32,
    /// The moment of the last reference, by slot.
    last: Vec<u64>,
    now: u64,
}

fn hirs(frames: u32) -> u32 {
    (frames / 100).max(1)
}

impl Replacement for Lirs {
    const LISTS: u8 = 3;

    fn ghosts(frames: u32) -> u32 {
        frames.saturating_mul(GHOSTS)
    }

    fn new(first_list: u8, frames: u32) -> Lirs {
        let slots = u64::from(first_list) + u64::from(Lirs::LISTS) + u64::from(frames) * u64::from(1 + GHOSTS);
        Lirs {
            lir: ListId(first_list),
            q: ListId(first_list + 1),
            ghosts: ListId(first_list + 2),
            lirs: frames - hirs(frames),
            last: vec![0; slots as usize],
            now: 0,
        }
    }

    fn hit<I: Index>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        if directory.frames.list(slot) == self.q && self.last[slot as usize] > self.bottom(directory) {
            // Upon accessing an HIR resident block X that is in S: it becomes LIR and leaves Q.
            self.promote(directory, slot);
        } else {
            // Upon accessing a LIR block X, or an HIR resident one that is not in S.
            self.refresh(directory, slot);
        }
    }

    fn first_use<I: Index>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        self.refresh(directory, slot);
    }

    fn miss<I: Index>(&mut self, directory: &mut Directory<I>, ghost: Option<Slot>) -> Class {
        match ghost {
            Some(ghost) if self.last[ghost as usize] > self.bottom(directory) => IN_S,
            _ => NEW,
        }
    }

    fn victim<I: Index>(&mut self, directory: &mut Directory<I>, _class: Class) -> Option<Slot> {
        // Remove the HIR resident block at the front of Q; it becomes an HIR non-resident block if it is in S.
        if let Some(slot) = directory.frames.unpinned_from_back(self.q) {
            if self.last[slot as usize] > self.bottom(directory) {
                self.release_to_ghost(directory, slot);
            } else {
                directory.release(slot);
            }
            return Some(slot);
        }
        // Readers hold all of Q: the LIR block goes that would leave S next.
        let slot = directory.frames.unpinned_from_back(self.lir)?;
        directory.release(slot);
        self.prune(directory);
        Some(slot)
    }

    fn insert<I: Index>(&mut self, directory: &mut Directory<I>, slot: Slot, class: Class) {
        if class == IN_S || directory.frames.len(self.lir) < self.lirs {
            // X is in S: it becomes LIR. So does every block while there are fewer of them than there may be.
            self.promote(directory, slot);
        } else {
            // Leave its status in HIR, place it at the end of Q.
            directory.frames.move_to_front(slot, self.q);
            self.refer(slot);
        }
    }

    fn remove<I: Index>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let frames = &directory.frames;
        if frames.back(self.lir) == Some(slot) {
            let bottom = frames.towards_front(slot).map_or(u64::MAX, |next| self.last[next as usize]);
            self.prune_to(directory, bottom);
        }
    }
}

impl Lirs {
    /// The last reference of the LIR block at the bottom of S. Nothing is in S without one.
    fn bottom<I: Index>(&self, directory: &Directory<I>) -> u64 {
        directory.frames.back(self.lir).map_or(u64::MAX, |slot| self.last[slot as usize])
    }

    fn refer(&mut self, slot: Slot) {
        self.now += 1;
        self.last[slot as usize] = self.now;
    }

    /// To the top of S, and of LIR or the end of Q, wherever it is.
    fn refresh<I: Index>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let list = directory.frames.list(slot);
        directory.frames.move_to_front(slot, list);
        self.refer(slot);
        // If the LIR block was in the bottom of S, prune.
        if list == self.lir {
            self.prune(directory);
        }
    }

    /// Makes a block LIR, on top of S. The LIR block at the bottom moves to the end of Q instead, with its status changed
    /// to HIR, and S is pruned.
    fn promote<I: Index>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        directory.frames.move_to_front(slot, self.lir);
        self.refer(slot);
        if directory.frames.len(self.lir) > self.lirs
            && let Some(bottom) = directory.frames.back(self.lir)
        {
            directory.frames.move_to_front(bottom, self.q);
        }
        self.prune(directory);
    }

    fn prune<I: Index>(&self, directory: &mut Directory<I>) {
        self.prune_to(directory, self.bottom(directory));
    }

    /// Forgets what was referred to before `bottom` and is not resident.
    fn prune_to<I: Index>(&self, directory: &mut Directory<I>, bottom: u64) {
        while let Some(oldest) = directory.frames.back(self.ghosts)
            && self.last[oldest as usize] < bottom
        {
            directory.release(oldest);
        }
    }

    /// Leaves a ghost in the place that the block has in S. Blocks come to the front of Q in the order of their
    /// references, so that the place is the front unless a reader had held one of them.
    fn release_to_ghost<I: Index>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        if directory.frames.front(NO_GHOST).is_none()
            && let Some(oldest) = directory.frames.back(self.ghosts)
        {
            directory.release(oldest);
        }
        let last = self.last[slot as usize];
        directory.release_to_ghost(slot, self.ghosts);
        let frames = &mut directory.frames;
        let Some(ghost) = frames.front(self.ghosts) else { return };
        self.last[ghost as usize] = last;
        let mut newer = None;
        let mut at = frames.towards_back(ghost);
        while let Some(other) = at.filter(|&other| self.last[other as usize] > last) {
            newer = Some(other);
            at = frames.towards_back(other);
        }
        if let Some(newer) = newer {
            frames.move_behind(ghost, newer);
        }
    }
}

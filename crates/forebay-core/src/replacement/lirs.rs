//! LIRS: by the recency of the last reference but one.

use super::{Class, Replacement, ghosts};
use crate::directory::{Directory, Layout};
use crate::frames::{ListId, Slot};
use crate::slab::Slab;

/// The block is not in stack S.
const NEW: Class = 0;
/// It is, though it is not resident.
const IN_S: Class = 1;

/// Ghosts for each frame.
const GHOSTS: u32 = 2;

/// Jiang and Zhang, "LIRS: An Efficient Low Inter-reference Recency Set Replacement Policy to
/// Improve Buffer Cache Performance" (SIGMETRICS 2002), §3.
///
/// The paper has a stack S of LIR and HIR blocks by recency, pruned so that a LIR block is at its
/// bottom. Its queue Q has the resident HIR blocks, some of which are in S as well. A slot here is
/// in one list only. But S has exactly the blocks that were referenced after the LIR block at its
/// bottom. So with the moment of every block's last reference three lists do, and pruning is
/// forgetting ghosts.
///
/// ```text
///   recency ─────▶             now                    bottom of S
///   LIR, LRU order             [L][L]  [L] [L]     [L]|
///   Q, resident HIR, FIFO            [h]    [h]       |  [h]
///   ghosts, HIR in S only               [g]    [g][g] |
/// ```
///
/// HIR blocks get a hundredth of the frames, but one at least. The paper lets S grow without bound;
/// here at most two blocks that are not resident are remembered for every frame, and the one at the
/// bottom is forgotten first.
///
/// When there are to be fewer frames the LIR blocks beyond their share move to the end of Q with
/// the next victim or insertion, those at the bottom of S first.
#[derive(Clone, Debug)]
pub struct Lirs {
    lir: ListId,
    q: ListId,
    ghosts: ListId,
    /// L_lirs: how many LIR blocks there may be.
    lirs: u32,
    most_ghosts: u32,
    /// The moment of the latest reference. Each slot's own is the slab's note of it.
    now: u64,
}

fn lirs(frames: u32) -> u32 {
    frames.saturating_sub((frames / 100).max(1))
}

impl Replacement for Lirs {
    const LISTS: u8 = 3;
    const GHOST_LISTS: u8 = 1;
    const MOVES: bool = true;
    /// Notes of a frame and its ghosts.
    const BYTES_BESIDE: u32 = 8 * (1 + GHOSTS);

    fn ghosts(frames: u32) -> u32 {
        frames.saturating_mul(GHOSTS)
    }

    fn new(first_list: u8, frames: u32) -> Lirs {
        Lirs {
            lir: ListId(first_list),
            q: ListId(first_list + 1),
            ghosts: ListId(first_list + 2),
            lirs: lirs(frames),
            most_ghosts: Lirs::ghosts(frames),
            now: 0,
        }
    }

    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        if directory.frames.list(slot) == self.q && directory.frames.note(slot) > self.bottom(directory) {
            // Upon accessing an HIR resident block X that is in S: it becomes LIR and leaves Q.
            self.promote(directory, slot);
        } else {
            // Upon accessing a LIR block X, or an HIR resident one that is not in S.
            self.refresh(directory, slot);
        }
    }

    fn first_use<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        self.refresh(directory, slot);
    }

    fn miss<I: Layout>(&mut self, directory: &mut Directory<I>, ghost: Option<Slot>) -> Class {
        match ghost {
            Some(ghost) if directory.frames.note(ghost) > self.bottom(directory) => IN_S,
            _ => NEW,
        }
    }

    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, _class: Class) -> Option<Slot> {
        self.keep_share(directory);
        // Remove the HIR resident block at the front of Q; it becomes an HIR non-resident block if
        // it is in S.
        if let Some(slot) = directory.frames.unpinned_from_back(self.q) {
            if directory.frames.note(slot) > self.bottom(directory) {
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

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, class: Class) {
        if class == IN_S || directory.frames.len(self.lir) < self.lirs {
            // X is in S: it becomes LIR. So does every block while there are fewer of them than
            // there may be.
            self.promote(directory, slot);
        } else {
            // Leave its status in HIR, place it at the end of Q.
            directory.frames.move_to_front(slot, self.q);
            self.refer(directory, slot);
            self.keep_share(directory);
        }
        ghosts::bound(directory, self.ghosts, self.most_ghosts);
    }

    fn resize(&mut self, frames: u32) {
        self.lirs = lirs(frames);
        self.most_ghosts = Lirs::ghosts(frames);
    }

    fn remove<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let frames = &directory.frames;
        if frames.back(self.lir) == Some(slot) {
            let bottom = frames.towards_front(slot).map_or(u64::MAX, |next| frames.note(next));
            self.prune_to(directory, bottom);
        }
    }
}

impl Lirs {
    /// The last reference of the LIR block at the bottom of S. Nothing is in S without one.
    fn bottom<I: Layout>(&self, directory: &Directory<I>) -> u64 {
        directory.frames.back(self.lir).map_or(u64::MAX, |slot| directory.frames.note(slot))
    }

    fn refer<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        self.now += 1;
        directory.frames.set_note(slot, self.now);
    }

    /// To the top of S, and of LIR or the end of Q, wherever it is.
    fn refresh<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let list = directory.frames.list(slot);
        directory.frames.move_to_front(slot, list);
        self.refer(directory, slot);
        // If the LIR block was in the bottom of S, prune.
        if list == self.lir {
            self.prune(directory);
        }
    }

    /// Makes a block LIR, on top of S. The LIR block at the bottom moves to the end of Q instead,
    /// and S is pruned.
    fn promote<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        directory.frames.move_to_front(slot, self.lir);
        self.refer(directory, slot);
        self.demote(directory);
        self.prune(directory);
    }

    /// The LIR blocks beyond their share, those at the bottom, move to the end of Q with their
    /// status changed to HIR.
    fn demote<I: Layout>(&self, directory: &mut Directory<I>) {
        while directory.frames.len(self.lir) > self.lirs
            && let Some(bottom) = directory.frames.back(self.lir)
        {
            directory.frames.move_to_front(bottom, self.q);
        }
    }

    /// There are more LIR blocks than there may be only where there are to be fewer frames than
    /// before.
    fn keep_share<I: Layout>(&self, directory: &mut Directory<I>) {
        if directory.frames.len(self.lir) > self.lirs {
            self.demote(directory);
            self.prune(directory);
        }
    }

    fn prune<I: Layout>(&self, directory: &mut Directory<I>) {
        self.prune_to(directory, self.bottom(directory));
    }

    /// Forgets the non-resident blocks that were referred to before `bottom`.
    fn prune_to<I: Layout>(&self, directory: &mut Directory<I>, bottom: u64) {
        while let Some(oldest) = directory.frames.back(self.ghosts)
            && directory.frames.note(oldest) < bottom
        {
            directory.release(oldest);
        }
    }

    /// Leaves a ghost in the place that the block has in S. Blocks come to the front of Q in the
    /// order of their references, so that the place is the front unless a reader had held one of
    /// them.
    fn release_to_ghost<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        if ghosts::are_full(directory, directory.frames.len(self.ghosts), self.most_ghosts)
            && let Some(oldest) = directory.frames.back(self.ghosts)
        {
            directory.release(oldest);
        }
        let last = directory.frames.note(slot);
        directory.release_to_ghost(slot, self.ghosts);
        let frames = &mut directory.frames;
        let Some(ghost) = frames.front(self.ghosts) else { return };
        frames.set_note(ghost, last);
        let mut newer = None;
        let mut at = frames.towards_back(ghost);
        while let Some(other) = at.filter(|&other| frames.note(other) > last) {
            newer = Some(other);
            at = frames.towards_back(other);
        }
        if let Some(newer) = newer {
            frames.move_behind(ghost, newer);
        }
        ghosts::bound(directory, self.ghosts, self.most_ghosts);
    }
}

//! S3-FIFO: three static queues.

use super::clock::sweep;
use super::{Class, Replacement, ghosts};
use crate::directory::{Directory, Layout};
use crate::frames::{ListId, Slot};
use crate::slab::Slab;

/// The block was unknown.
const NEW: Class = 0;
/// The block was in the ghost queue.
const GHOST: Class = 1;

/// A frequency takes two bits.
const MAX_FREQUENCY: u8 = 3;

/// Yang, Zhang, Qiu, Yue and Rashmi, "FIFO Queues are All You Need for Cache Eviction" (SOSP 2023),
/// Algorithm 1.
///
/// ```text
///   new ─▶ [ S, a tenth ] ── used twice ──▶ [ M, the rest ] ⟲ while used
///                │ else                          ▲     └─▶ gone
///                └────▶ [ G, ghosts, as many as M ] ─ wanted again
/// ```
///
/// Where the paper leaves a choice, this does as the authors' simulator: a frame leaves S for M
/// when it was referenced more than once *after* it came (`freq > 1`). Its frequency starts again
/// at zero in M. Filling M beyond its share evicts nothing by itself: M, not S, gives the frames
/// from then on. While the cache fills, everything new goes to S, as in the paper (the simulator
/// lets it overflow into M since December 2024).
///
/// Known weakness: a frequency counts from the first reference on, so that short bursts of reads of
/// one block, as by a reader with small buffers, send it to M.
#[derive(Clone, Debug)]
pub struct S3Fifo {
    small: ListId,
    main: ListId,
    ghosts: ListId,
    /// How many frames S may have before it gives them: a tenth, rounded down, but one at least.
    small_share: u32,
    most_ghosts: u32,
}

fn small_share(frames: u32) -> u32 {
    (frames / 10).max(1)
}

impl Replacement for S3Fifo {
    const LISTS: u8 = 3;
    const GHOST_LISTS: u8 = 1;
    const LOGGED: Option<u32> = Some(2);

    fn ghosts(frames: u32) -> u32 {
        frames.saturating_sub(small_share(frames))
    }

    fn new(first_list: u8, frames: u32) -> S3Fifo {
        S3Fifo {
            small: ListId(first_list),
            main: ListId(first_list + 1),
            ghosts: ListId(first_list + 2),
            small_share: small_share(frames),
            most_ghosts: S3Fifo::ghosts(frames),
        }
    }

    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        // x.freq ← min(x.freq + 1, 3)
        let frequency = directory.frames.count(slot);
        directory.frames.set_count(slot, (frequency + 1).min(MAX_FREQUENCY));
    }

    fn first_use<I: Layout>(&mut self, _directory: &mut Directory<I>, _slot: Slot) {}

    fn miss<I: Layout>(&mut self, _directory: &mut Directory<I>, ghost: Option<Slot>) -> Class {
        if ghost.is_some() { GHOST } else { NEW }
    }

    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, _class: Class) -> Option<Slot> {
        // if S.size ≥ 0.1 · cache size then EVICTS() else EVICTM()
        if directory.frames.len(self.small) < self.small_share
            && let Some(slot) = self.evict_main(directory)
        {
            return Some(slot);
        }
        // S may be empty afterwards, all of it promoted: M certainly has a block then.
        self.evict_small(directory).or_else(|| self.evict_main(directory))
    }

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, class: Class) {
        // if x in G then insert x to head of M else insert x to head of S
        let queue = if class == GHOST { self.main } else { self.small };
        directory.frames.move_to_front(slot, queue);
        ghosts::bound(directory, self.ghosts, self.most_ghosts);
    }

    fn resize(&mut self, frames: u32) {
        self.small_share = small_share(frames);
        self.most_ghosts = S3Fifo::ghosts(frames);
    }
}

impl S3Fifo {
    fn evict_small<I: Layout>(&self, directory: &mut Directory<I>) -> Option<Slot> {
        // while not evicted and S.size > 0 do t ← tail of S
        while let Some(slot) = directory.frames.unpinned_from_back(self.small) {
            if directory.frames.count(slot) <= 1 {
                // insert t to G; evicted ← true
                ghosts::remember(directory, slot, self.ghosts, self.most_ghosts);
                return Some(slot);
            }
            // if t.freq > 1 then insert t to M
            directory.frames.set_count(slot, 0);
            directory.frames.move_to_front(slot, self.main);
        }
        None
    }

    fn evict_main<I: Layout>(&self, directory: &mut Directory<I>) -> Option<Slot> {
        // if t.freq > 0 then insert t to head of M, t.freq ← t.freq − 1: a turn of Clock that
        // counts.
        let slot = sweep(&mut directory.frames, self.main)?;
        directory.release(slot);
        Some(slot)
    }
}

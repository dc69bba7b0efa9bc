//! W-TinyLFU: a block that leaves a small window has to be more popular than the one that it would
//! push out.

use super::{Class, Replacement};
use crate::directory::{Directory, Layout};
use crate::frames::{ListId, Slot};
use crate::sketch::Sketch;
use crate::slab::Slab;

/// Einziger, Friedman and Manes, "TinyLFU: A Highly Efficient Cache Admission Policy" (ACM
/// Transactions on Storage 2017), §4: a window of 1 %, a main cache of the rest, segmented LRU of
/// which four fifths are protected.
///
/// ```text
///   new ─▶ [ window, LRU, 1 % ] ─▶ more popular? ─▶ [ probation, LRU ] ── hit ──▶ [ protected, LRU, 80 % of main ]
///                                      │ else                │   ▲                         │
///                                      ▼                     ▼   └──── if too many ────────┘
///                                     gone                  gone
/// ```
///
/// Shares follow a new size as references come; the sketch keeps its counts.
///
/// A reference is counted when its block hits, or comes in. Without the doorkeeper of §3.4.2, as in
/// Caffeine: it saves memory where the sketch remembers far more blocks than are cached.
#[derive(Clone, Debug)]
pub struct WTinyLfu {
    window: ListId,
    probation: ListId,
    protected: ListId,
    window_share: u32,
    protected_share: u32,
    sketch: Sketch,
}

fn window_share(frames: u32) -> u32 {
    frames.div_ceil(100)
}

fn protected_share(frames: u32) -> u32 {
    (u64::from(frames - window_share(frames)) * 4 / 5) as u32
}

impl Replacement for WTinyLfu {
    const LISTS: u8 = 3;
    const MOVES: bool = true;
    const LOGGED: Option<u32> = Some(0);
    /// The sketch, whose words are a power of two, and in a divided cache up to twice that.
    const BYTES_BESIDE: u32 = 32;

    fn new(first_list: u8, frames: u32) -> WTinyLfu {
        WTinyLfu {
            window: ListId(first_list),
            probation: ListId(first_list + 1),
            protected: ListId(first_list + 2),
            window_share: window_share(frames),
            protected_share: protected_share(frames),
            sketch: Sketch::new(frames),
        }
    }

    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let frames = &mut directory.frames;
        self.sketch.add(frames.key(slot).raw());
        if frames.list(slot) == self.window {
            return frames.move_to_front(slot, self.window);
        }
        frames.move_to_front(slot, self.protected);
        self.overflow(frames);
    }

    fn first_use<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let list = directory.frames.list(slot);
        directory.frames.move_to_front(slot, list);
    }

    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, _class: Class) -> Option<Slot> {
        let frames = &mut directory.frames;
        self.overflow(frames);
        let candidate = frames.unpinned_from_back(self.window).filter(|_| frames.len(self.window) >= self.window_share);
        let victim = self.main_victim(frames);
        let slot = match (candidate, victim) {
            (Some(candidate), Some(victim)) if self.popularity(frames, candidate) > self.popularity(frames, victim) => {
                frames.move_to_front(candidate, self.probation);
                victim
            }
            (Some(candidate), _) => candidate,
            (None, Some(victim)) => victim,
            // A window that is not full, before a main cache that readers hold.
            (None, None) => frames.unpinned_from_back(self.window)?,
        };
        directory.release(slot);
        Some(slot)
    }

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, _class: Class) {
        let frames = &mut directory.frames;
        self.sketch.add(frames.key(slot).raw());
        frames.move_to_front(slot, self.window);
        // While the cache fills, no block has to be more popular than another.
        while frames.len(self.window) > self.window_share
            && let Some(oldest) = frames.back(self.window)
        {
            frames.move_to_front(oldest, self.probation);
        }
        self.overflow(frames);
    }

    fn resize(&mut self, frames: u32) {
        self.window_share = window_share(frames);
        self.protected_share = protected_share(frames);
        self.sketch.resize(frames);
    }

    fn footprint(&self) -> usize {
        self.sketch.footprint()
    }
}

impl WTinyLfu {
    /// The protected blocks beyond their share are on probation again.
    fn overflow(&self, frames: &mut impl Slab) {
        while frames.len(self.protected) > self.protected_share
            && let Some(oldest) = frames.back(self.protected)
        {
            frames.move_to_front(oldest, self.probation);
        }
    }

    fn main_victim(&self, frames: &impl Slab) -> Option<Slot> {
        frames.unpinned_from_back(self.probation).or_else(|| frames.unpinned_from_back(self.protected))
    }

    fn popularity(&self, frames: &impl Slab, slot: Slot) -> u8 {
        self.sketch.count(frames.key(slot).raw())
    }
}

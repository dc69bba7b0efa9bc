//! One cache under replay: a policy of the core over the core's own directory.

use std::hint::black_box;

use forebay_core::directory::Directory;
use forebay_core::frames::{FETCHING, FIRST_POLICY_LIST, FREE, Slot, flag};
use forebay_core::index::Dense;
use forebay_core::presets::{Build, Replacement};
use forebay_core::replacement;
use forebay_core::{BlockKey, FileId};

/// How many references go through a cache together.
const BATCH: usize = 32;

use super::references::Chunk;

/// A cache that counts its misses.
pub(super) trait Cache: Send {
    /// Refers to blocks, one after the other.
    fn refer(&mut self, chunk: &Chunk);
    /// How many of them were not there.
    fn misses(&self) -> u64;
}

/// A cache of `frames` blocks.
pub(super) fn cache(policy: Replacement, frames: u32) -> Box<dyn Cache> {
    policy.build(Frames(frames))
}

/// How many slots of the slab such a cache takes.
pub(super) fn slots(policy: Replacement, contexts: bool, frames: u32) -> u64 {
    /// More than any policy has lists, with contexts or without.
    const LISTS: u64 = 32;
    let ghosts = if contexts { policy.ghosts_with_contexts(frames) } else { policy.ghosts(frames) };
    u64::from(frames) + u64::from(ghosts) + LISTS
}

struct Frames(u32);

impl Build for Frames {
    type Output = Box<dyn Cache>;

    fn with<R: replacement::Replacement + Send + 'static>(self) -> Box<dyn Cache> {
        let directory = Directory::new(FIRST_POLICY_LIST + R::LISTS, self.0, R::ghosts(self.0));
        Box::new(Untimed { directory, policy: R::new(FIRST_POLICY_LIST, self.0), misses: 0 })
    }
}

struct Untimed<R> {
    directory: Directory<Dense>,
    policy: R,
    misses: u64,
}

impl<R: replacement::Replacement + Send> Cache for Untimed<R> {
    fn refer(&mut self, chunk: &Chunk) {
        for keys in chunk.keys.chunks(BATCH) {
            self.approach(keys);
            for &key in keys {
                self.refer_to(BlockKey::new(FileId(0), key));
            }
        }
    }

    fn misses(&self) -> u64 {
        self.misses
    }
}

impl<R: replacement::Replacement> Untimed<R> {
    /// Touches the memory that the references will need, so that the loads run side by side and not
    /// one after the other.
    fn approach(&self, keys: &[u32]) {
        let frames = &self.directory.frames;
        let mut slots = [0; BATCH];
        for (slot, &key) in slots.iter_mut().zip(keys) {
            *slot = self.directory.find(BlockKey::new(FileId(0), key)).unwrap_or(0);
        }
        let mut touched = 0;
        if R::MOVES {
            let mut neighbours = [(0, 0); BATCH];
            for (neighbours, &slot) in neighbours.iter_mut().zip(&slots) {
                *neighbours = (frames.towards_front(slot).unwrap_or(0), frames.towards_back(slot).unwrap_or(0));
            }
            for (front, back) in neighbours {
                touched ^= frames.list(front).0 ^ frames.list(back).0;
            }
        } else {
            for slot in slots {
                touched ^= frames.list(slot).0;
            }
        }
        black_box(touched);
    }

    #[inline]
    fn refer_to(&mut self, key: BlockKey) {
        match self.directory.find(key) {
            Some(slot) if !self.directory.frames.is_ghost(slot) => self.policy.hit(&mut self.directory, slot),
            ghost => self.miss(key, ghost),
        }
    }

    /// The whole life of a miss at once: class, frame, fetch, insertion.
    fn miss(&mut self, key: BlockKey, ghost: Option<Slot>) {
        self.misses += 1;
        let directory = &mut self.directory;
        let class = self.policy.miss(directory, ghost);
        if let Some(ghost) = ghost {
            self.policy.remove(directory, ghost);
            directory.release(ghost);
        }
        if directory.frames.len(FREE) == 0 {
            self.policy.victim(directory, class);
        }
        // Without readers no frame is held, and a victim always found.
        if let Some(slot) = directory.assign(key, FETCHING) {
            directory.frames.clear(slot, flag::ABSENT);
            self.policy.insert(directory, slot, class);
        }
    }
}

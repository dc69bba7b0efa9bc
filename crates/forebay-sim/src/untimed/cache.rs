//! One cache under replay: a policy of the core over the core's own directory.

use std::hint::black_box;

use forebay_core::directory::{Directory, Layout};
use forebay_core::frames::{FETCHING, FIRST_POLICY_LIST, FREE, Slot, flag};
use forebay_core::index::Dense;
use forebay_core::logs::{Logged, Logs};
use forebay_core::presets::{Build, Replacement};
use forebay_core::replacement;
use forebay_core::slab::Slab;
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

/// How many slots such a cache takes.
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
        let Frames(frames) = self;
        let (lists, ghosts) = (FIRST_POLICY_LIST + R::LISTS, R::ghosts(frames));
        // The largest caches have no room in logs.
        match R::LOGGED.and_then(|count_bits| Logs::new(lists, frames, ghosts, count_bits)) {
            Some(logs) => Box::new(Untimed::<R, _>::over(Directory::logged(logs), frames)),
            None => Box::new(Untimed::<R, Dense>::over(Directory::new(lists, frames, ghosts), frames)),
        }
    }
}

struct Untimed<R, I: Layout> {
    directory: Directory<I>,
    policy: R,
    misses: u64,
}

impl<R, I> Cache for Untimed<R, I>
where
    R: replacement::Replacement + Send,
    I: Approach + Send,
    I::Slab: Send,
{
    fn refer(&mut self, chunk: &Chunk) {
        for keys in chunk.keys.chunks(BATCH) {
            I::approach::<R>(&self.directory, keys);
            for &key in keys {
                self.refer_to(BlockKey::new(FileId(0), key));
            }
        }
    }

    fn misses(&self) -> u64 {
        self.misses
    }
}

/// A layout whose memory is touched before references to it, so that the loads run side by side and
/// not one after the other.
trait Approach: Layout {
    /// Touches what a policy will need for at most [`BATCH`] references.
    fn approach<R: replacement::Replacement>(directory: &Directory<Self>, keys: &[u32]);
}

impl Approach for Dense {
    fn approach<R: replacement::Replacement>(directory: &Directory<Dense>, keys: &[u32]) {
        let frames = &directory.frames;
        let mut slots = [0; BATCH];
        for (slot, &key) in slots.iter_mut().zip(keys) {
            *slot = directory.find(BlockKey::new(FileId(0), key)).unwrap_or(0);
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
}

impl Approach for Logged {
    fn approach<R: replacement::Replacement>(directory: &Directory<Logged>, keys: &[u32]) {
        directory.frames.approach(keys, R::MOVES);
    }
}

impl<R: replacement::Replacement, I: Layout> Untimed<R, I> {
    fn over(directory: Directory<I>, frames: u32) -> Untimed<R, I> {
        Untimed { directory, policy: R::new(FIRST_POLICY_LIST, frames), misses: 0 }
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

#[cfg(test)]
mod tests {
    use forebay_core::random::Random;

    use super::*;

    /// Replays one trace over both layouts.
    struct Both<'a>(u32, &'a [Chunk]);

    impl Build for Both<'_> {
        type Output = [u64; 2];

        fn with<R: replacement::Replacement + Send + 'static>(self) -> [u64; 2] {
            let Both(frames, chunks) = self;
            let (lists, ghosts) = (FIRST_POLICY_LIST + R::LISTS, R::ghosts(frames));
            let logs = Logs::new(lists, frames, ghosts, R::LOGGED.unwrap_or(4)).expect("a small cache has room");
            let mut logged = Untimed::<R, Logged>::over(Directory::logged(logs), frames);
            let mut linked = Untimed::<R, Dense>::over(Directory::new(lists, frames, ghosts), frames);
            chunks.iter().for_each(|chunk| logged.refer(chunk));
            chunks.iter().for_each(|chunk| linked.refer(chunk));
            logged.directory.frames.check();
            [logged.misses(), linked.misses()]
        }
    }

    /// Long enough that logs close ranks many times.
    #[test]
    fn logs_miss_as_often_as_linked_lists() {
        const BLOCKS: u64 = 5000;
        let mut draws = Random::new(1);
        // Low blocks more often.
        let mut key = || draws.below(BLOCKS).min(draws.below(BLOCKS)) as u32;
        let chunks: Vec<Chunk> =
            (0..10).map(|_| Chunk { keys: (0..10_000).map(|_| key()).collect(), ..Chunk::default() }).collect();
        for policy in Replacement::ALL {
            for frames in [1, 10, 700] {
                let [logged, linked] = policy.build(Both(frames, &chunks));
                assert_eq!(logged, linked, "{policy:?}, {frames} frames");
            }
        }
    }
}

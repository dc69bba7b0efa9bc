//! One cache under replay whose program contexts have partitions: the core's detector and segments
//! over its directory.

use forebay_core::directory::Directory;
use forebay_core::engine::ContextSeat;
use forebay_core::frames::{FETCHING, FREE, flag};
use forebay_core::index::Dense;
use forebay_core::partition::{Callers, Segments};
use forebay_core::presets::{self, Build, Replacement};
use forebay_core::seams::Use;
use forebay_core::{BlockKey, Caller, FileId, replacement};

use super::cache::Cache;
use super::references::Chunk;

/// A cache of `frames` blocks.
pub(super) fn cache(policy: Replacement, contexts: presets::Contexts, frames: u32) -> Box<dyn Cache> {
    policy.build(Frames(frames, contexts))
}

struct Frames(u32, presets::Contexts);

impl Build for Frames {
    type Output = Box<dyn Cache>;

    fn with<R: replacement::Replacement + Send + 'static>(self) -> Box<dyn Cache> {
        Box::new(Contexts::<R>::new(self.0, self.1))
    }
}

/// A cache that counts its misses.
pub struct Contexts<R> {
    directory: Directory<Dense>,
    segments: Segments<R>,
    callers: Callers,
    misses: u64,
}

impl<R: replacement::Replacement + Send + 'static> Contexts<R> {
    /// Of `frames` blocks.
    pub fn new(frames: u32, contexts: presets::Contexts) -> Contexts<R> {
        let ContextSeat { callers, loops, placements } = contexts.build::<R>(&[frames]);
        let loops = Some(loops);
        let (lists, ghosts) = (Segments::<R>::lists(1, loops), Segments::<R>::ghosts(frames, 1, true));
        Contexts {
            directory: Directory::new(lists, frames, ghosts),
            segments: Segments::<R>::new(&[frames], loops).placed_by(placements),
            callers,
            misses: 0,
        }
    }

    /// How many blocks the default partition has, how many are one-shot, and how many each loop
    /// has.
    pub fn sizes(&self) -> Vec<u32> {
        self.segments.context_parts(0).map(|parts| parts.sizes(&self.directory.frames).collect()).unwrap_or_default()
    }

    /// The record of contexts.
    pub fn callers(&self) -> &Callers {
        &self.callers
    }

    /// Refers to the block of number `key`, which is called `name` in its trace.
    pub fn refer_to(&mut self, key: u32, name: BlockKey, caller: Caller) {
        let (directory, segments) = (&mut self.directory, &mut self.segments);
        let access = self.callers.access(caller, name);
        if segments.accessed(directory, 0, name, &access) {
            segments.charge(directory, 0, 0);
        }
        let key = BlockKey::new(FileId(0), key);
        let ghost = match directory.find(key) {
            Some(slot) if !directory.frames.is_ghost(slot) => {
                return segments.referred_by(directory, 0, slot, access.place, Use::Hit);
            }
            ghost => ghost,
        };
        // The whole life of a miss at once: class, frame, fetch, insertion.
        self.misses += 1;
        let class = segments.missed_by(directory, 0, key, ghost, access.place, false);
        if let Some(ghost) = ghost {
            segments.remove(directory, ghost);
            directory.release(ghost);
        }
        if directory.frames.len(FREE) == 0 {
            segments.victim(directory, 0, class);
        }
        // Without readers no frame is held, and a victim always found.
        if let Some(slot) = directory.assign(key, FETCHING) {
            directory.frames.clear(slot, flag::ABSENT);
            segments.insert(directory, 0, slot, class);
        }
    }
}

impl<R: replacement::Replacement + Send + 'static> Cache for Contexts<R> {
    fn refer(&mut self, chunk: &Chunk) {
        let mut keys = chunk.keys.iter();
        for request in &chunk.requests {
            for (nth, &key) in keys.by_ref().take(request.keys as usize).enumerate() {
                let block = request.first.map_or(key, |first| first.wrapping_add(nth as u32));
                self.refer_to(key, BlockKey::new(request.file, block), request.caller);
            }
        }
    }

    fn misses(&self) -> u64 {
        self.misses
    }
}

//! The victim (AMP §3.2, Fig. 4, where no free block is available): the part that pays for the new
//! block, and the block of that part.

use super::{ContextParts, DEFAULT, LOOPS, ONE, part_of};
use crate::directory::Directory;
use crate::frames::{Frames, ListId, NO_GHOST, Slot, flag};
use crate::index::Index;
use crate::replacement::{CLASS, Class, OUTSIDE, REMEMBERED, Replacement};
use crate::seams::MOST_PARTITIONS;

/// A frame that was given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Victim {
    /// Its slot, free by now.
    pub slot: Slot,
    /// Whether it was the default policy's.
    pub default: bool,
}

impl Victim {
    fn of_contexts(slot: Slot) -> Victim {
        Victim { slot, default: false }
    }
}

impl ContextParts {
    /// A frame for a block of `class`: Fig. 4, where no free block is available. `None` if readers
    /// hold all. One-shot blocks are as good as free, but for `waiting` of them.
    pub fn victim<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        class: Class,
        waiting: u32,
    ) -> Option<Victim> {
        let done_with = self.dropped_frames(&directory.frames) > waiting;
        let first = if done_with { self.done_with(directory) } else { None };
        let victim = first.or_else(|| self.choose(policy, directory, class));
        // Only waiting one-shot blocks and prefetched, unread blocks are left.
        victim.or_else(|| self.done_with(directory)).or_else(|| self.unread(directory))
    }

    /// The oldest one-shot block.
    fn done_with<I: Index>(&self, directory: &mut Directory<I>) -> Option<Victim> {
        let slot = directory.frames.unpinned_from_back(self.dropped())?;
        directory.release(slot);
        Some(Victim::of_contexts(slot))
    }

    /// Fig. 4 from where there is no free block.
    fn choose<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        class: Class,
    ) -> Option<Victim> {
        if class & OUTSIDE != 0 {
            return self.another(policy, directory, usize::MAX);
        }
        let part = part_of(class);
        if part == DEFAULT {
            // if (i is ARC AND (p ∈ B1 OR p ∈ B2)) if (there is another non-empty partition) evict
            // from that
            if class & REMEMBERED != 0
                && let Some(victim) = self.another(policy, directory, part)
            {
                return Some(victim);
            }
        } else if let Some(price) = self.price(&directory.frames, part)
            // if (i is MRU && c_i ≥ loop_size_i / (|B1| + |B2|) AND there is another non-empty
            // partition)
            && self.loops[part - LOOPS].coupons >= price
            && let Some(victim) = self.another(policy, directory, part)
        {
            // c_i = c_i − loop_size_i / (|B1| + |B2|)
            self.loops[part - LOOPS].coupons -= price;
            return Some(victim);
        }
        // if (i is non-empty) evict a block from this partition, else evict from another non-empty
        // partition randomly
        let own = self.evict(policy, directory, part, class & CLASS);
        own.or_else(|| self.another(policy, directory, part))
    }

    /// loop_size_i / (|B1| + |B2|), in parts of [`ONE`], if part i is a loop.
    fn price(&self, frames: &Frames, part: usize) -> Option<u64> {
        let size = u64::from(self.loops.get(part.checked_sub(LOOPS)?)?.rhythm.size);
        (size > 0).then(|| size * ONE / u64::from(self.remembered(frames).max(1)))
    }

    /// |B1| + |B2|
    fn remembered(&self, frames: &Frames) -> u32 {
        let lists = self.default + self.default_lists..self.default + self.default_lists + self.ghost_lists;
        frames.len(self.ghost_list()) + lists.map(|list| frames.len(ListId(list))).sum::<u32>()
    }

    /// Evicts from a partition other than `part`, drawn evenly from those that have a frame; from
    /// the next one, if readers hold all of that.
    fn another<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        part: usize,
    ) -> Option<Victim> {
        let mut others = [0; LOOPS + MOST_PARTITIONS as usize];
        let mut count = 0;
        for other in (0..self.parts()).filter(|&other| other != part && self.len(&directory.frames, other) > 0) {
            others[count] = other;
            count += 1;
        }
        if count == 0 {
            return None;
        }
        let drawn = self.random.below(count as u64) as usize;
        (0..count).find_map(|step| self.evict(policy, directory, others[(drawn + step) % count], 0))
    }

    /// Evicts from a partition. `class` is the default policy's.
    fn evict<R: Replacement, I: Index>(
        &mut self,
        policy: &mut R,
        directory: &mut Directory<I>,
        part: usize,
        class: Class,
    ) -> Option<Victim> {
        if part == DEFAULT {
            let slot = policy.victim(directory, class)?;
            self.remember(directory);
            return Some(Victim { slot, default: true });
        }
        // One-shot blocks that could go are gone by now.
        let list = (part >= LOOPS).then(|| self.list(part))?;
        let frames = &directory.frames;
        let slot = frames.unpinned_from_front(list).filter(|&slot| !frames.has(slot, flag::PREFETCHED))?;
        directory.release(slot);
        Some(Victim::of_contexts(slot))
    }

    /// Only prefetched, unread blocks are left.
    fn unread<I: Index>(&mut self, directory: &mut Directory<I>) -> Option<Victim> {
        let loops = (LOOPS..self.parts()).map(|part| self.list(part));
        let mut lists = [self.ahead()].into_iter().chain(loops);
        let slot = lists.find_map(|list| directory.frames.unpinned_from_back(list))?;
        directory.release(slot);
        Some(Victim::of_contexts(slot))
    }

    /// The default policy, which has no ghosts, gave up a block.
    fn remember<I: Index>(&mut self, directory: &mut Directory<I>) {
        if self.most_ghosts == 0 {
            return;
        }
        let list = self.ghost_list();
        while directory.frames.len(list) >= self.most_ghosts || directory.frames.front(NO_GHOST).is_none() {
            let Some(oldest) = directory.frames.back(list) else { return };
            directory.release(oldest);
        }
        directory.remember(directory.released().key, list);
    }
}

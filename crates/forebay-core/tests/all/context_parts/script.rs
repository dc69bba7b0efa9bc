//! Segments with contexts, driven without time by scripted accesses.

use std::collections::BTreeSet;

use forebay_core::directory::Directory;
use forebay_core::engine::ContextSeat;
use forebay_core::frames::{FETCHING, FIRST_POLICY_LIST, FREE, ListId, Slot, flag};
use forebay_core::index::Hashed;
use forebay_core::papers::amp::Detector;
use forebay_core::partition::{Callers, Segments};
use forebay_core::presets::Contexts;
use forebay_core::replacement::Replacement;
use forebay_core::seams::Access;
use forebay_core::seams::Use;
use forebay_core::{BlockKey, FileId};

/// One segment.
pub(crate) struct Script<R> {
    pub(crate) directory: Directory<Hashed>,
    pub(crate) segments: Segments<R>,
    frames: u32,
    lists: u8,
    /// Accesses so far.
    pub(crate) now: u64,
}

/// A detector, asked as seldom as can be.
pub(crate) fn callers(detector: Detector) -> Callers {
    Callers::new(Box::new(detector))
}

pub(crate) fn key(block: u32) -> BlockKey {
    BlockKey::new(FileId(0), block)
}

impl<R: Replacement + Send + 'static> Script<R> {
    pub(crate) fn new(frames: u32, contexts: impl Into<Contexts>) -> Script<R> {
        let ContextSeat { loops, placements, .. } = contexts.into().build::<R>(&[frames]);
        let loops = Some(loops);
        let (lists, ghosts) = (Segments::<R>::lists(1, loops), Segments::<R>::ghosts(frames, 1, true));
        let directory = Directory::new(lists, frames, ghosts);
        Script { directory, segments: Segments::new(&[frames], loops).placed_by(placements), frames, lists, now: 0 }
    }

    /// The slot of a resident block.
    pub(crate) fn resident(&self, block: u32) -> Option<Slot> {
        self.directory.find(key(block)).filter(|&slot| !self.directory.frames.is_ghost(slot))
    }

    /// A context reads a block. Returns whether it was there.
    pub(crate) fn read(&mut self, block: u32, access: Access) -> bool {
        self.read_at(block, access, 0)
    }

    /// The same; `switch` is the block's part of a switch if it is missed.
    pub(crate) fn read_at(&mut self, block: u32, access: Access, switch: u32) -> bool {
        self.now = access.now;
        let (directory, segments) = (&mut self.directory, &mut self.segments);
        if segments.accessed(directory, 0, key(block), &access) {
            segments.charge(directory, 0, switch);
        }
        let ghost = match directory.find(key(block)) {
            Some(slot) if !directory.frames.is_ghost(slot) => {
                let unread = directory.frames.has(slot, flag::PREFETCHED);
                directory.frames.clear(slot, flag::PREFETCHED);
                let how = if unread { Use::First } else { Use::Hit };
                segments.referred_by(directory, 0, slot, access.place, how);
                return true;
            }
            ghost => ghost,
        };
        let class = segments.missed_by(directory, 0, key(block), ghost, access.place, false);
        self.bring(block, ghost, class, 0);
        false
    }

    /// A block is fetched ahead for a context that has just read another one.
    pub(crate) fn prefetch(&mut self, block: u32, access: Access) -> bool {
        let ghost = self.directory.find(key(block));
        let class = self.segments.missed_by(&mut self.directory, 0, key(block), ghost, access.place, true);
        self.bring(block, ghost, class, flag::PREFETCHED)
    }

    pub(crate) fn is_unread(&self, block: u32) -> bool {
        self.resident(block).is_some_and(|slot| self.directory.frames.has(slot, flag::PREFETCHED))
    }

    fn bring(&mut self, block: u32, ghost: Option<Slot>, class: u8, flags: u8) -> bool {
        let (directory, segments) = (&mut self.directory, &mut self.segments);
        if let Some(ghost) = ghost {
            segments.remove(directory, ghost);
            directory.release(ghost);
        }
        if directory.frames.len(FREE) == 0 && segments.victim(directory, 0, class).is_none() {
            return false;
        }
        let slot = directory.assign(key(block), FETCHING).expect("a victim left a free frame");
        directory.frames.clear(slot, flag::ABSENT);
        directory.frames.set(slot, flags);
        segments.insert(directory, 0, slot, class & 0x0f);
        true
    }

    /// Holds a block, if it is there and not held.
    pub(crate) fn hold(&mut self, block: u32) -> bool {
        let Some(slot) = self.resident(block).filter(|&slot| self.directory.frames.pins(slot) == 0) else {
            return false;
        };
        self.directory.frames.set_pins(slot, 1);
        true
    }

    pub(crate) fn let_go(&mut self, block: u32) {
        let slot = self.resident(block).expect("what is held stays");
        self.directory.frames.set_pins(slot, 0);
    }

    /// The blocks of a list, front to back.
    pub(crate) fn list(&self, list: u8) -> Vec<u32> {
        let frames = &self.directory.frames;
        let slots = std::iter::successors(frames.front(ListId(list)), |&slot| frames.towards_back(slot));
        slots.map(|slot| frames.key(slot).block()).collect()
    }

    /// The blocks of the default partition, one-shot blocks, and those of each loop.
    pub(crate) fn parts(&self) -> Vec<BTreeSet<u32>> {
        let own = FIRST_POLICY_LIST + R::LISTS;
        let of = |lists: std::ops::Range<u8>| lists.flat_map(|list| self.list(list)).collect();
        let default = of(FIRST_POLICY_LIST..own - R::GHOST_LISTS);
        let loops = (own + 3..self.lists).map(|list| of(list..list + 1));
        [default, of(own..own + 2)].into_iter().chain(loops).collect()
    }

    /// The blocks that ghosts remember.
    pub(crate) fn ghosts(&self) -> BTreeSet<u32> {
        let own = FIRST_POLICY_LIST + R::LISTS;
        (own - R::GHOST_LISTS..own).chain([own + 2]).flat_map(|list| self.list(list)).collect()
    }

    /// Every slot in one list, each frame free or in one partition, the index right.
    pub(crate) fn check(&self) {
        self.directory.frames.check_links();
        let parts = self.parts();
        let held: usize = parts.iter().map(BTreeSet::len).sum();
        assert_eq!(held as u32 + self.directory.frames.len(FREE), self.frames, "each frame is somewhere");
        let sizes: Vec<u32> = self.segments.context_parts(0).expect("contexts").sizes(&self.directory.frames).collect();
        assert!(sizes.iter().zip(&parts).all(|(&size, part)| size as usize == part.len()), "{sizes:?} of {parts:?}");
        for &block in parts.iter().flatten() {
            assert!(self.resident(block).is_some());
        }
        let ghosts = self.ghosts();
        assert!(
            ghosts.iter().all(|&block| self.resident(block).is_none() && self.directory.find(key(block)).is_some())
        );
    }
}

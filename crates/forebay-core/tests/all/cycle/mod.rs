//! Drives a policy without time: wanted blocks are there at once.
//!
//! A miss runs through the whole life that `replacement` describes, in the order in which an engine
//! would: ghost, class, victim, frame, insert.

use std::collections::BTreeSet;

use forebay_core::directory::{Directory, Layout};
use forebay_core::frames::{FETCHING, FIRST_POLICY_LIST, FREE, ListId, NO_GHOST, Slot, flag};
use forebay_core::index::Index;
use forebay_core::replacement::{Class, Replacement};
use forebay_core::slab::Slab;
use forebay_core::{BlockKey, FileId};

/// The outcome of a reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// The block was resident.
    Hit,
    /// It was not; it is now.
    Miss,
    /// It was not, and every frame is held.
    Refused,
}

/// A cache of one policy.
pub(crate) struct Cycle<R, I: Layout> {
    pub(crate) directory: Directory<I>,
    pub(crate) policy: R,
    capacity: u32,
}

impl<R: Replacement, I: Layout> Cycle<R, I> {
    /// Over a directory of as many frames, and ghosts, as the policy wants.
    pub(crate) fn over(directory: Directory<I>, capacity: u32) -> Self {
        Cycle { directory, policy: R::new(FIRST_POLICY_LIST, capacity), capacity }
    }

    /// The slot of a block that is resident.
    pub(crate) fn resident(&self, key: BlockKey) -> Option<Slot> {
        let resident = |&slot: &Slot| {
            !self.directory.frames.is_ghost(slot) && self.directory.frames.list(slot).0 >= FIRST_POLICY_LIST
        };
        self.directory.find(key).filter(resident)
    }

    /// A block is read.
    pub(crate) fn read(&mut self, key: BlockKey) -> Outcome {
        let Some(slot) = self.resident(key) else { return self.bring(key).1 };
        if self.directory.frames.has(slot, flag::PREFETCHED) {
            self.directory.frames.clear(slot, flag::PREFETCHED);
            self.policy.first_use(&mut self.directory, slot);
        } else {
            self.policy.hit(&mut self.directory, slot);
        }
        Outcome::Hit
    }

    /// Fetches a block that is not resident.
    pub(crate) fn bring(&mut self, key: BlockKey) -> (Option<Slot>, Outcome) {
        let Some((slot, class)) = self.begin(key) else { return (None, Outcome::Refused) };
        self.policy.insert(&mut self.directory, slot, class);
        (Some(slot), Outcome::Miss)
    }

    /// The first half of a fetch: a frame for the block, in FETCHING, and its class.
    pub(crate) fn begin(&mut self, key: BlockKey) -> Option<(Slot, Class)> {
        let ghost = self.directory.find(key);
        let class = self.policy.miss(&mut self.directory, ghost);
        if let Some(ghost) = ghost {
            self.directory.release(ghost);
        }
        if self.directory.frames.is_empty(FREE) {
            self.policy.victim(&mut self.directory, class)?;
        }
        let slot = self.directory.assign(key, FETCHING).expect("a victim left a free frame");
        Some((slot, class))
    }

    /// The slots of a list, front to back, as the links have them.
    pub(crate) fn list(&self, list: ListId) -> Vec<Slot> {
        let frames = &self.directory.frames;
        std::iter::successors(frames.front(list), |&slot| frames.towards_back(slot)).collect()
    }
}

impl<R: Replacement, I: Index> Cycle<R, I> {
    pub(crate) fn new(capacity: u32) -> Self {
        let lists = FIRST_POLICY_LIST + R::LISTS;
        Cycle::over(Directory::new(lists, capacity, R::ghosts(capacity)), capacity)
    }

    /// Checks what must hold after every step, whatever the policy, and returns the blocks held and
    /// the blocks remembered.
    pub(crate) fn check(&self) -> (BTreeSet<u32>, BTreeSet<u32>) {
        let frames = &self.directory.frames;
        let (mut held, mut remembered, mut seen) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for list in (0..FIRST_POLICY_LIST + R::LISTS).map(ListId) {
            let slots = self.list(list);
            assert_eq!(slots.len(), frames.len(list) as usize, "{list:?} counts itself right");
            let backwards: Vec<_> =
                std::iter::successors(frames.back(list), |&slot| frames.towards_front(slot)).collect();
            assert!(slots.iter().rev().eq(&backwards), "{list:?} reads the same from both ends");
            for slot in slots {
                assert!(seen.insert(slot), "slot {slot} is in two lists");
                assert_eq!(frames.list(slot), list, "slot {slot} knows its list");
                let key = frames.key(slot);
                if list == FREE || list == NO_GHOST {
                    assert_ne!(self.directory.find(key), Some(slot), "an empty slot is not indexed");
                    continue;
                }
                assert_eq!(self.directory.find(key), Some(slot), "{key:?} is indexed where it is");
                let blocks = if frames.is_ghost(slot) { &mut remembered } else { &mut held };
                assert!(blocks.insert(key.block()), "{key:?} is there once");
            }
        }
        let slots = self.capacity + R::ghosts(self.capacity);
        assert_eq!(seen.len(), slots as usize, "every slot is in a list");
        assert!(held.is_disjoint(&remembered), "what is held is not remembered as well");
        (held, remembered)
    }
}

/// Block `block` of the one file that both indexes can serve.
pub(crate) fn key(block: u32) -> BlockKey {
    BlockKey::new(FileId(0), block)
}

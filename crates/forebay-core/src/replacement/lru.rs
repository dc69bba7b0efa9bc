//! Least recently used.

use super::{Class, Replacement};
use crate::directory::{Directory, Layout};
use crate::frames::{ListId, Slot};
use crate::slab::Slab;

/// The frame whose last reference is longest ago goes.
#[derive(Clone, Debug)]
pub struct Lru {
    list: ListId,
}

impl Replacement for Lru {
    const LISTS: u8 = 1;
    const MOVES: bool = true;
    const LOGGED: Option<u32> = Some(0);

    fn new(first_list: u8, _frames: u32) -> Lru {
        Lru { list: ListId(first_list) }
    }

    #[inline(always)]
    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        directory.frames.move_to_front(slot, self.list);
    }

    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, _class: Class) -> Option<Slot> {
        let slot = directory.frames.unpinned_from_back(self.list)?;
        directory.release(slot);
        Some(slot)
    }

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, _class: Class) {
        directory.frames.move_to_front(slot, self.list);
    }
}

//! Most recently used.

use super::{Class, Replacement};
use crate::directory::{Directory, Layout};
use crate::frames::{ListId, Slot};
use crate::slab::Slab;

/// The frame whose last reference is most recent goes. That is best for a loop over more blocks
/// than there are frames, and bad for nearly everything else (Chou and DeWitt, "An Evaluation of
/// Buffer Management Strategies for Relational Database Systems", VLDB 1985).
///
/// Known weakness: a prefetched frame counts as referenced when it arrives, so that it goes first,
/// before it is read. This policy wants a prefetch cache beside it.
#[derive(Clone, Debug)]
pub struct Mru {
    list: ListId,
}

impl Replacement for Mru {
    const LISTS: u8 = 1;
    const MOVES: bool = true;
    const LOGGED: Option<u32> = Some(0);

    fn new(first_list: u8, _frames: u32) -> Mru {
        Mru { list: ListId(first_list) }
    }

    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        directory.frames.move_to_front(slot, self.list);
    }

    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, _class: Class) -> Option<Slot> {
        let slot = directory.frames.unpinned_from_front(self.list)?;
        directory.release(slot);
        Some(slot)
    }

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, _class: Class) {
        directory.frames.move_to_front(slot, self.list);
    }
}

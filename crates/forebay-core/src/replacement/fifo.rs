//! First in, first out.

use super::{Class, Replacement};
use crate::directory::{Directory, Layout};
use crate::frames::{ListId, Slot};
use crate::slab::Slab;

/// The frame that was filled longest ago goes, however often it was referenced since.
#[derive(Clone, Debug)]
pub struct Fifo {
    list: ListId,
}

impl Replacement for Fifo {
    const LISTS: u8 = 1;
    const LOGGED: Option<u32> = Some(0);

    fn new(first_list: u8, _frames: u32) -> Fifo {
        Fifo { list: ListId(first_list) }
    }

    fn hit<I: Layout>(&mut self, _directory: &mut Directory<I>, _slot: Slot) {}

    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, _class: Class) -> Option<Slot> {
        let slot = directory.frames.unpinned_from_back(self.list)?;
        directory.release(slot);
        Some(slot)
    }

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, _class: Class) {
        directory.frames.move_to_front(slot, self.list);
    }
}

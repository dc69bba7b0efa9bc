//! The LRU list of Gill's prefetching: it knows which frames are prefetched and not read yet.

use super::{Class, Replacement};
use crate::directory::{Directory, Layout, Spared};
use crate::frames::{ListId, Slot, flag};
use crate::slab::Slab;

/// Gill and Bathen, "AMP: Adaptive Multi-stream Prefetching in a Shared Cache" (FAST 2007), its
/// replacement.
///
/// "A prefetched page is moved to the most recently used (MRU) position only on repeated access and
/// not on the first access." A page that comes to the LRU end unread is given "another chance by
/// moving it to the MRU position and setting the *old* flag", and its stream is told: its degree is
/// too high. With all else it is LRU.
#[derive(Clone, Debug)]
pub struct GillLru {
    list: ListId,
}

/// The count of a frame that had its second chance.
const OLD: u8 = 1;

impl Replacement for GillLru {
    const LISTS: u8 = 1;
    const MOVES: bool = true;
    const LOGGED: Option<u32> = Some(1);
    const SPARES: bool = true;
    /// Should all of memory be unread, every frame of it is spared before one goes.
    const BYTES_BESIDE: u32 = 2 * size_of::<Spared>() as u32;

    fn new(first_list: u8, _frames: u32) -> GillLru {
        GillLru { list: ListId(first_list) }
    }

    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        directory.frames.move_to_front(slot, self.list);
    }

    fn first_use<I: Layout>(&mut self, _directory: &mut Directory<I>, _slot: Slot) {}

    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, _class: Class) -> Option<Slot> {
        loop {
            let slot = directory.frames.unpinned_from_back(self.list)?;
            let frames = &mut directory.frames;
            if !frames.has(slot, flag::PREFETCHED) || frames.count(slot) == OLD {
                directory.release(slot);
                return Some(slot);
            }
            // Unread, and not old. It comes round but once: a chance for each block that was
            // prefetched.
            frames.set_count(slot, OLD);
            frames.move_to_front(slot, self.list);
            directory.spare(slot);
        }
    }

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, _class: Class) {
        directory.frames.move_to_front(slot, self.list);
    }
}

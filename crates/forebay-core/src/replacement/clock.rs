//! Clock, the second chance: FIFO with a use bit.

use super::{Class, Replacement};
use crate::directory::{Directory, Layout};
use crate::frames::{ListId, Slot};
use crate::slab::Slab;

/// Corbató's clock ("A Paging Experiment with the Multics System", 1968): the hand goes round the
/// frames, takes away the use bit where it finds one and evicts where it finds none.
///
/// Kept as FIFO with reinsertion, which is the same algorithm turned around: the ring stands still
/// under a moving hand there, here it turns under a hand that stays at the back of the list. The
/// use bit is the frame's count; a new frame comes without it, so that a single reference earns no
/// second chance.
#[derive(Clone, Debug)]
pub struct Clock {
    ring: ListId,
}

impl Replacement for Clock {
    const LISTS: u8 = 1;
    const LOGGED: Option<u32> = Some(1);

    fn new(first_list: u8, _frames: u32) -> Clock {
        Clock { ring: ListId(first_list) }
    }

    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        directory.frames.set_count(slot, 1);
    }

    fn first_use<I: Layout>(&mut self, _directory: &mut Directory<I>, _slot: Slot) {}

    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, _class: Class) -> Option<Slot> {
        let slot = sweep(&mut directory.frames, self.ring)?;
        directory.release(slot);
        Some(slot)
    }

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, _class: Class) {
        directory.frames.move_to_front(slot, self.ring);
    }
}

/// Turns `ring` until a frame with count zero that no reader holds is at the back, and returns that
/// frame. Every count passed on the way is one less; a held frame is passed as it is. `None`, with
/// the ring as it was, if all are held.
pub(super) fn sweep(frames: &mut impl Slab, ring: ListId) -> Option<Slot> {
    // As many held frames in a row as there are frames: all of them are held, and the ring has
    // turned just once.
    let mut held = 0;
    while held < frames.len(ring) {
        let slot = frames.back(ring)?;
        let count = frames.count(slot);
        if frames.pins(slot) > 0 {
            held += 1;
        } else if count == 0 {
            return Some(slot);
        } else {
            held = 0;
            frames.set_count(slot, count - 1);
        }
        frames.move_to_front(slot, ring);
    }
    None
}

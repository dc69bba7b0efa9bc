//! Room for ghosts. A segment shares the slab with others, and its size changes while it runs. So
//! it bounds the number of its ghosts itself, however many are left.

use crate::directory::{Directory, Layout};
use crate::frames::{ListId, NO_GHOST, Slot};
use crate::slab::Slab;

/// Whether a segment with `own` ghosts, which may have `most`, forgets one before it remembers
/// another.
pub(super) fn are_full<I: Layout>(directory: &Directory<I>, own: u32, most: u32) -> bool {
    own >= most || directory.frames.is_empty(NO_GHOST)
}

/// Forgets the oldest ghosts of `list` until there are at most `most`.
pub(super) fn bound<I: Layout>(directory: &mut Directory<I>, list: ListId, most: u32) {
    while directory.frames.len(list) > most
        && let Some(oldest) = directory.frames.back(list)
    {
        directory.release(oldest);
    }
}

/// Frees a frame and remembers its block at the front of `list`, which has at most `most`: the
/// oldest is forgotten first.
pub(super) fn remember<I: Layout>(directory: &mut Directory<I>, slot: Slot, list: ListId, most: u32) {
    if are_full(directory, directory.frames.len(list), most)
        && let Some(oldest) = directory.frames.back(list)
    {
        directory.release(oldest);
    }
    directory.release_to_ghost(slot, list);
    bound(directory, list, most);
}

//! The cache directory: the slab of frames and ghosts together with the index that finds them.
//!
//! A block is in the index exactly while a slot holds it (resident or being fetched) or remembers
//! it (ghost).

use alloc::vec::Vec;

use crate::frames::{FREE, Frames, ListId, NO_GHOST, Slot, flag};
use crate::index::Index;
use crate::slab::Slab;
use crate::types::{BlockKey, FileId, StreamId};

/// The content of a frame when it was last released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Released {
    /// The block.
    pub key: BlockKey,
    /// The stream that had brought or expected it.
    pub owner: StreamId,
    /// Whether it had been prefetched and never referenced.
    pub unused: bool,
}

const NOTHING: Released = Released { key: BlockKey::new(FileId(0), 0), owner: StreamId::NONE, unused: false };

/// How a directory keeps its blocks. Every [`Index`] is a way, beside [`Frames`]; a replay without
/// time has [`Logged`](crate::logs::Logged).
pub trait Layout: Sized {
    /// The slots and their lists.
    type Slab: Slab;
    /// [`Directory::find`].
    fn find(directory: &Directory<Self>, key: BlockKey) -> Option<Slot>;
    /// [`Directory::assign`].
    fn assign(directory: &mut Directory<Self>, key: BlockKey, list: ListId) -> Option<Slot>;
    /// [`Directory::release`].
    fn release(directory: &mut Directory<Self>, slot: Slot);
    /// [`Directory::release_to_ghost`].
    fn release_to_ghost(directory: &mut Directory<Self>, slot: Slot, list: ListId);
}

/// Frames, ghosts and the index of both.
#[derive(Clone, Debug)]
pub struct Directory<I: Layout> {
    /// The slab. Policies link and unlink here.
    pub frames: I::Slab,
    index: I,
    released: Released,
    spared: Vec<Spared>,
}

/// A frame that was prefetched, came to its turn to go unreferenced, and got a second chance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spared {
    /// The block.
    pub key: BlockKey,
    /// The stream that had brought it.
    pub owner: StreamId,
}

impl<I: Layout> Directory<I> {
    /// A directory of such a slab and its index, both empty.
    pub(crate) fn of(frames: I::Slab, index: I) -> Directory<I> {
        Directory { frames, index, released: NOTHING, spared: Vec::new() }
    }

    /// The slot that holds or remembers a block.
    #[inline(always)]
    pub fn find(&self, key: BlockKey) -> Option<Slot> {
        I::find(self, key)
    }

    /// Gives a block a free frame, in list `list`, to be filled: it is [`ABSENT`](flag::ABSENT)
    /// until that is cleared. The block must be absent; a free frame must be there. Returns `None`,
    /// and changes nothing, if none is.
    #[inline(always)]
    pub fn assign(&mut self, key: BlockKey, list: ListId) -> Option<Slot> {
        I::assign(self, key, list)
    }

    /// Frees a frame or a ghost; its block is absent from then on.
    #[inline(always)]
    pub fn release(&mut self, slot: Slot) {
        I::release(self, slot);
    }

    /// Frees a frame but remembers its block as a ghost at the front of `list`, and whether it was
    /// unread. If no ghost is free, the block is forgotten: a policy that wants to keep it drops
    /// its oldest ghost first.
    #[inline(always)]
    pub fn release_to_ghost(&mut self, slot: Slot, list: ListId) {
        I::release_to_ghost(self, slot, list);
    }

    /// A policy gives a frame a second chance.
    pub fn spare(&mut self, slot: Slot) {
        self.spared.push(Spared { key: self.frames.key(slot), owner: self.frames.owner(slot) });
    }

    /// Takes a frame that got a second chance, the latest first; `None` if none is left.
    pub fn take_spared(&mut self) -> Option<Spared> {
        self.spared.pop()
    }
}

/// A slab with an index beside it.
impl<I: Index> Layout for I {
    type Slab = Frames;

    #[inline]
    fn find(directory: &Directory<I>, key: BlockKey) -> Option<Slot> {
        directory.index.get(&directory.frames, key)
    }

    fn assign(directory: &mut Directory<I>, key: BlockKey, list: ListId) -> Option<Slot> {
        let Directory { frames, index, .. } = directory;
        let slot = frames.front(FREE)?;
        frames.set_key(slot, key);
        frames.set(slot, flag::ABSENT);
        index.insert(frames, key, slot);
        frames.move_to_front(slot, list);
        Some(slot)
    }

    fn release(directory: &mut Directory<I>, slot: Slot) {
        let key = directory.frames.key(slot);
        directory.index.remove(&directory.frames, key);
        directory.blank(slot);
    }

    fn release_to_ghost(directory: &mut Directory<I>, slot: Slot, list: ListId) {
        let frames = &mut directory.frames;
        let Some(ghost) = frames.front(NO_GHOST) else { return Self::release(directory, slot) };
        let key = frames.key(slot);
        frames.set_key(ghost, key);
        let unread = if frames.has(slot, flag::PREFETCHED) { flag::PREFETCHED } else { 0 };
        frames.set(ghost, flag::ABSENT | unread);
        frames.move_to_front(ghost, list);
        directory.index.replace(frames, key, ghost);
        directory.blank(slot);
    }
}

impl<I: Index> Directory<I> {
    /// A directory of `buffers` free frames and room for `ghosts`.
    pub fn new(lists: u8, buffers: u32, ghosts: u32) -> Directory<I> {
        Directory::of(Frames::new(lists, buffers, ghosts), I::with_slots(buffers + ghosts))
    }

    /// [`find`](Self::find) of the block after the one that `last` holds. Blocks that were fetched
    /// in a row are often in a row of slots, so that no look-up is needed.
    #[inline]
    pub fn find_next(&self, key: BlockKey, last: Slot) -> Option<Slot> {
        let next = last.wrapping_add(1);
        if self.frames.has_key(next, key) {
            debug_assert_eq!(self.find(key), Some(next), "a slot that is used is indexed");
            return Some(next);
        }
        self.find(key)
    }

    /// The ghost of an absent block.
    #[inline]
    pub(crate) fn ghost(&self, key: BlockKey) -> Option<Slot> {
        if self.frames.has_ghosts() { self.find(key) } else { None }
    }

    /// Remembers a block that is absent as a ghost at the front of `list`, if a ghost is left.
    pub fn remember(&mut self, key: BlockKey, list: ListId) {
        let Some(ghost) = self.frames.front(NO_GHOST) else { return };
        self.frames.set_key(ghost, key);
        self.frames.set(ghost, flag::ABSENT);
        self.frames.move_to_front(ghost, list);
        self.index.insert(&self.frames, key, ghost);
    }

    /// The content of the frame that was released last: from it the caller of a policy learns what
    /// the policy gave up.
    pub fn released(&self) -> Released {
        self.released
    }

    /// The bytes of bookkeeping.
    pub fn footprint(&self) -> usize {
        self.frames.footprint() + self.index.footprint() + self.spared.capacity() * size_of::<Spared>()
    }

    fn blank(&mut self, slot: Slot) {
        let frames = &self.frames;
        // A policy may drop ghosts after the frame that it gives up.
        if !frames.is_ghost(slot) {
            let unused = frames.has(slot, flag::PREFETCHED);
            self.released = Released { key: frames.key(slot), owner: frames.owner(slot), unused };
        }
        debug_assert_eq!(self.frames.pins(slot), 0, "a reader holds the frame of {:?}", self.frames.key(slot));
        self.frames.clear(slot, 0x0f);
        self.frames.set_count(slot, 0);
        self.frames.set_owner(slot, StreamId::NONE);
        self.frames.clear_note(slot);
        let home = if self.frames.is_ghost(slot) { NO_GHOST } else { FREE };
        // First freed, first used: frames freed in the order of a stream are filled in the order of
        // the next one, so that a driver finds neighbours side by side in memory.
        self.frames.move_to_back(slot, home);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frames::{FETCHING, FIRST_POLICY_LIST};
    use crate::index::{Dense, Hashed};
    use crate::replacement::{Arc, Replacement};

    const GHOSTS: ListId = ListId(FIRST_POLICY_LIST);

    fn key(number: u32) -> BlockKey {
        BlockKey::new(FileId(0), number)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever slot a look-up begins at, and whatever its neighbour held before.
        #[test]
        fn the_next_block_is_found_as_any_other(changes in proptest::collection::vec((0u32..12, 0u8..3), 0..80)) {
            let mut directory: Directory<Hashed> = Directory::new(FIRST_POLICY_LIST + 1, 6, 3);
            for (number, change) in changes {
                match (directory.find(key(number)), change) {
                    (None, 0) => drop(directory.assign(key(number), FETCHING)),
                    (None, 1) => directory.remember(key(number), GHOSTS),
                    (Some(slot), 1) if !directory.frames.is_ghost(slot) => directory.release_to_ghost(slot, GHOSTS),
                    (Some(slot), 2) => directory.release(slot),
                    _ => {}
                }
                for number in 0..12 {
                    let slot = directory.find(key(number));
                    for last in 0..20 {
                        prop_assert_eq!(directory.find_next(key(number), last), slot);
                    }
                }
            }
        }
    }

    /// ARC remembers as many blocks as it holds. Without streams, a cached block and a ghost take
    /// 40 bytes.
    #[test]
    fn a_block_and_its_ghost_are_small() {
        let frames = 10_000;
        let directory: Directory<Dense> = Directory::new(FIRST_POLICY_LIST + Arc::LISTS, frames, Arc::ghosts(frames));
        let heads = 20 * usize::from(FIRST_POLICY_LIST + Arc::LISTS);
        assert_eq!(directory.footprint(), 40 * frames as usize + heads);
    }
}

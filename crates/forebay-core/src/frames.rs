//! The one slab and the only linked-list code.
//!
//! ```text
//!   slot   0 ............ L-1 | L ................. L+F-1 | L+F ........ L+F+G-1
//!          heads of the lists | frames, each a buffer     | ghosts, no buffer
//! ```
//!
//! Every slot is in exactly one circular list, whose head is a slot itself, so that linking and
//! unlinking have no branches. A list's *front* is where the newest usually is, its *back* where
//! the oldest is.

use alloc::vec;
use alloc::vec::Vec;

use crate::types::{BlockKey, FileId, FrameId, StreamId};

/// A place in the slab.
pub type Slot = u32;

/// The head slot of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListId(pub u8);

/// Frames that hold nothing.
pub const FREE: ListId = ListId(0);
/// Frames that a fetch is filling.
pub const FETCHING: ListId = ListId(1);
/// Ghost slots that remember nothing.
pub const NO_GHOST: ListId = ListId(2);
/// Prefetched, unreferenced frames, where there is a prefetch cache.
pub const UNREAD: ListId = ListId(3);
/// Frames that are kept for told lists: fetched for them and unread, or read and to be read again.
pub const TOLD: ListId = ListId(4);
/// Frames that told lists have no more use for: these are spent before others.
pub const SPENT: ListId = ListId(5);
/// The first list that a replacement policy may own.
pub const FIRST_POLICY_LIST: u8 = 6;

/// Flags of a frame, as bits.
pub mod flag {
    /// Prefetched, and not referenced since.
    pub const PREFETCHED: u8 = 1;
    /// Its owner, a stream, expects to read it: the stream is told of the first reference.
    pub const EXPECTED: u8 = 2;
    /// It does not hold its block (yet): a fetch is filling it, or it is a ghost.
    pub const ABSENT: u8 = 4;
    /// Part of a sequential stream: fetched for one, or missed by one. Set only where the
    /// replacement policy sorts by it, before the frame is inserted, and until it is released.
    pub const SEQUENTIAL: u8 = 8;
}

/// One slot: a frame, a ghost or a list head. 20 bytes: the key would have the compiler round up to
/// 24.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(4))]
struct Frame {
    /// Of a list's head, how many slots are in the list.
    key: BlockKey,
    prev: Slot,
    next: Slot,
    pins: u16,
    list: u8,
    /// Low four bits: `flag`; high four bits: the policy's own count.
    bits: u8,
}

const _: () = assert!(core::mem::size_of::<Frame>() == 20);

impl Frame {
    /// A head's slots, so many more (or, with a number that wraps, fewer).
    #[inline]
    fn lengthen(&mut self, by: u32) {
        let key = self.key;
        self.key = length(key.block().wrapping_add(by));
    }

    /// Whether it holds or remembers a block.
    #[inline]
    fn is_used(&self) -> bool {
        self.list != FREE.0 && self.list != NO_GHOST.0
    }
}

/// The key of the head of a list of so many slots.
const fn length(slots: u32) -> BlockKey {
    BlockKey::new(FileId(0), slots)
}

/// The slab of frames and ghosts, and the lists that they are in.
#[derive(Clone, Debug)]
pub struct Frames {
    slots: Vec<Frame>,
    /// The stream of every frame; empty until the first one has any. Ghosts have none, nor has any
    /// frame in a replay without time.
    owners: Vec<StreamId>,
    /// The policy's own word by slot; empty until it sets the first one.
    notes: Vec<u64>,
    first: Slot,
    buffers: u32,
}

impl Frames {
    /// A slab of `buffers` free frames and `ghosts` empty ghosts with `lists` lists.
    pub fn new(lists: u8, buffers: u32, ghosts: u32) -> Frames {
        let first = Slot::from(lists);
        let total = first + buffers + ghosts;
        let blank = Frame { key: BlockKey::default(), prev: 0, next: 0, pins: 0, list: 0, bits: 0 };
        let slots = vec![blank; total as usize];
        let mut frames = Frames { slots, owners: Vec::new(), notes: Vec::new(), first, buffers };
        for head in 0..first {
            frames.slots[head as usize] = Frame { key: length(0), prev: head, next: head, list: head as u8, ..blank };
        }
        for slot in first..total {
            let head = if slot < first + buffers { FREE } else { NO_GHOST };
            let oldest = frames.slots[usize::from(head.0)].prev;
            link(&mut frames.slots, slot, oldest, Slot::from(head.0), head);
        }
        frames
    }

    /// How many frames have a buffer.
    pub fn buffers(&self) -> u32 {
        self.buffers
    }

    /// The bytes that the slab takes.
    pub fn footprint(&self) -> usize {
        self.slots.len() * size_of::<Frame>()
            + self.owners.len() * size_of::<StreamId>()
            + self.notes.len() * size_of::<u64>()
    }

    /// The buffer of a slot that has one.
    pub fn frame(&self, slot: Slot) -> FrameId {
        debug_assert!(!self.is_ghost(slot));
        FrameId(slot - self.first)
    }

    /// The slot of a buffer.
    pub fn slot(&self, frame: FrameId) -> Slot {
        self.first + frame.0
    }

    /// The blocks that slots hold or remember, in the order of slots.
    pub fn keys_in_use(&self) -> impl Iterator<Item = BlockKey> {
        self.slots[self.first as usize..].iter().filter(|frame| frame.is_used()).map(|frame| frame.key)
    }

    /// Panics unless every slot is in exactly one list and every list is as long as it says. For
    /// tests.
    pub fn check_links(&self) {
        let mut seen = vec![false; self.slots.len()];
        for list in 0..self.first {
            let mut len = 0;
            let mut at = self.slots[list as usize].next;
            while at != list {
                let frame = &self.slots[at as usize];
                assert_eq!(u32::from(frame.list), list, "slot {at} is linked into another list than it says");
                assert_eq!(self.slots[frame.next as usize].prev, at, "slot {at} and its neighbour disagree");
                assert!(!core::mem::replace(&mut seen[at as usize], true), "slot {at} is linked twice");
                len += 1;
                at = frame.next;
            }
            assert_eq!(len, self.len(ListId(list as u8)), "the length of list {list}");
        }
        assert!(seen[self.first as usize..].iter().all(|&seen| seen), "a slot is in no list");
    }

    /// Whether there are ghosts at all.
    pub(crate) fn has_ghosts(&self) -> bool {
        self.slots.len() > (self.first + self.buffers) as usize
    }

    /// Whether the slot remembers a block without holding it.
    pub fn is_ghost(&self, slot: Slot) -> bool {
        slot >= self.first + self.buffers
    }

    /// The block that the slot holds or remembers.
    pub fn key(&self, slot: Slot) -> BlockKey {
        self.slots[slot as usize].key
    }

    /// Names the block that the slot holds or remembers.
    pub fn set_key(&mut self, slot: Slot, key: BlockKey) {
        self.slots[slot as usize].key = key;
    }

    /// Whether the slot holds or remembers this very block.
    #[inline]
    pub(crate) fn has_key(&self, slot: Slot, key: BlockKey) -> bool {
        let its = |frame: &Frame| { frame.key } == key && frame.is_used();
        slot >= self.first && self.slots.get(slot as usize).is_some_and(its)
    }

    /// The stream that brought the frame, or expects it.
    #[inline]
    pub fn owner(&self, slot: Slot) -> StreamId {
        self.owners.get(slot as usize).copied().unwrap_or(StreamId::NONE)
    }

    /// Sets the stream that brought the frame, or expects it. The first one brings room for
    /// that of every frame.
    #[inline]
    pub fn set_owner(&mut self, slot: Slot, stream: StreamId) {
        debug_assert!(stream == StreamId::NONE || !self.is_ghost(slot), "a ghost of a stream");
        if self.owners.is_empty() && stream != StreamId::NONE {
            self.owners = vec![StreamId::NONE; (self.first + self.buffers) as usize];
        }
        if let Some(owner) = self.owners.get_mut(slot as usize) {
            *owner = stream;
        }
    }

    /// Whether any of the flags in `mask` is set.
    pub fn has(&self, slot: Slot, mask: u8) -> bool {
        self.slots[slot as usize].bits & mask != 0
    }

    /// Sets the flags in `mask`.
    pub fn set(&mut self, slot: Slot, mask: u8) {
        self.slots[slot as usize].bits |= mask;
    }

    /// Clears the flags in `mask`.
    pub fn clear(&mut self, slot: Slot, mask: u8) {
        self.slots[slot as usize].bits &= !mask;
    }

    /// The policy's own count of a slot, 0 to 15: a use bit, a frequency, a class of admission.
    pub fn count(&self, slot: Slot) -> u8 {
        self.slots[slot as usize].bits >> 4
    }

    /// Sets the policy's own count, 0 to 15.
    pub fn set_count(&mut self, slot: Slot, count: u8) {
        let bits = &mut self.slots[slot as usize].bits;
        *bits = (*bits & 0x0f) | (count << 4);
    }

    /// The policy's own word of a slot: zero until the policy sets it, and again when the slot is
    /// released.
    #[inline]
    pub fn note(&self, slot: Slot) -> u64 {
        self.notes.get(slot as usize).copied().unwrap_or(0)
    }

    /// Sets the policy's own word. The first one brings room for a word of every slot: eight bytes
    /// each, which policies that keep none don't pay for, and which all partitions of a slab share.
    #[inline]
    pub fn set_note(&mut self, slot: Slot, note: u64) {
        if self.notes.is_empty() {
            self.notes = vec![0; self.slots.len()];
        }
        self.notes[slot as usize] = note;
    }

    /// Clears the policy's word of a slot that is released.
    pub(crate) fn clear_note(&mut self, slot: Slot) {
        if let Some(note) = self.notes.get_mut(slot as usize) {
            *note = 0;
        }
    }

    /// How many readers hold the frame.
    pub fn pins(&self, slot: Slot) -> u16 {
        self.slots[slot as usize].pins
    }

    /// Sets how many readers hold the frame. Only the engine calls it; a policy only asks.
    pub fn set_pins(&mut self, slot: Slot, pins: u16) {
        self.slots[slot as usize].pins = pins;
    }

    /// Holds a frame for a reader, if not too many hold it already. Returns whether it is the first
    /// to hold it; `None` if too many do.
    pub(crate) fn hold(&mut self, slot: Slot) -> Option<bool> {
        let frame = &mut self.slots[slot as usize];
        frame.pins = frame.pins.checked_add(1)?;
        Some(frame.pins == 1)
    }

    /// Ends a [`hold`](Self::hold). Returns whether no reader holds the frame any more.
    #[inline]
    pub(crate) fn let_go(&mut self, slot: Slot) -> bool {
        let frame = &mut self.slots[slot as usize];
        frame.pins = frame.pins.saturating_sub(1);
        frame.pins == 0
    }

    /// The list that the slot is in.
    pub fn list(&self, slot: Slot) -> ListId {
        ListId(self.slots[slot as usize].list)
    }

    /// How many slots are in a list.
    pub fn len(&self, list: ListId) -> u32 {
        self.slots[usize::from(list.0)].key.block()
    }

    /// The slot at the front of a list.
    pub fn front(&self, list: ListId) -> Option<Slot> {
        self.inside(self.slots[usize::from(list.0)].next)
    }

    /// The slot at the back of a list.
    pub fn back(&self, list: ListId) -> Option<Slot> {
        self.inside(self.slots[usize::from(list.0)].prev)
    }

    /// The neighbour of `slot` towards the front of its list.
    pub fn towards_front(&self, slot: Slot) -> Option<Slot> {
        self.inside(self.slots[slot as usize].prev)
    }

    /// The neighbour of `slot` towards the back of its list.
    pub fn towards_back(&self, slot: Slot) -> Option<Slot> {
        self.inside(self.slots[slot as usize].next)
    }

    /// The first frame from the back of `list` that no reader holds. Walks over the held ones, of
    /// which there are as many as reads in progress, not as frames.
    pub fn unpinned_from_back(&self, list: ListId) -> Option<Slot> {
        let mut at = self.back(list);
        while let Some(slot) = at {
            if self.pins(slot) == 0 {
                return Some(slot);
            }
            at = self.towards_front(slot);
        }
        None
    }

    /// The same from the front.
    pub fn unpinned_from_front(&self, list: ListId) -> Option<Slot> {
        let mut at = self.front(list);
        while let Some(slot) = at {
            if self.pins(slot) == 0 {
                return Some(slot);
            }
            at = self.towards_back(slot);
        }
        None
    }

    /// Moves a slot from wherever it is to the front of `list`.
    #[inline(always)]
    pub fn move_to_front(&mut self, slot: Slot, list: ListId) {
        // A slice and not the vector: its address and length stay in registers while links are
        // written.
        let slots = self.slots.as_mut_slice();
        let head = Slot::from(list.0);
        let Frame { prev, next, list: old, .. } = slots[slot as usize];
        if old != list.0 {
            return relink(slots, slot, list);
        }
        // Within its list, as at every hit: lengths stay.
        slots[prev as usize].next = next;
        slots[next as usize].prev = prev;
        let newest = core::mem::replace(&mut slots[head as usize].next, slot);
        slots[newest as usize].prev = slot;
        let frame = &mut slots[slot as usize];
        frame.prev = head;
        frame.next = newest;
    }

    /// Moves a slot from wherever it is to the back of `list`.
    pub fn move_to_back(&mut self, slot: Slot, list: ListId) {
        let slots = self.slots.as_mut_slice();
        unlink(slots, slot);
        let head = Slot::from(list.0);
        let oldest = slots[head as usize].prev;
        link(slots, slot, oldest, head, list);
    }

    /// Moves a slot from wherever it is to the place behind `neighbour`, towards the back of that
    /// one's list.
    pub fn move_behind(&mut self, slot: Slot, neighbour: Slot) {
        let slots = self.slots.as_mut_slice();
        unlink(slots, slot);
        let Frame { next, list, .. } = slots[neighbour as usize];
        link(slots, slot, neighbour, next, ListId(list));
    }

    fn inside(&self, slot: Slot) -> Option<Slot> {
        (slot >= self.first).then_some(slot)
    }
}

#[inline(never)]
fn relink(slots: &mut [Frame], slot: Slot, list: ListId) {
    unlink(slots, slot);
    let head = Slot::from(list.0);
    let newest = slots[head as usize].next;
    link(slots, slot, head, newest, list);
}

fn unlink(slots: &mut [Frame], slot: Slot) {
    let Frame { prev, next, list, .. } = slots[slot as usize];
    slots[prev as usize].next = next;
    slots[next as usize].prev = prev;
    slots[usize::from(list)].lengthen(u32::MAX);
}

fn link(slots: &mut [Frame], slot: Slot, prev: Slot, next: Slot, list: ListId) {
    let frame = &mut slots[slot as usize];
    frame.prev = prev;
    frame.next = next;
    frame.list = list.0;
    slots[prev as usize].next = slot;
    slots[next as usize].prev = slot;
    slots[usize::from(list.0)].lengthen(1);
}

//! LANDLORD: by the cost of fetching a block, and by recency.

use alloc::vec::Vec;

use super::{Class, Replacement};
use crate::directory::{Directory, Layout};
use crate::frames::{ListId, Slot};
use crate::slab::Slab;

/// Children of a node of the heap: four of them are two cache lines.
const CHILDREN: usize = 4;

/// The cost of a block whose cost is unknown. With equal costs it is LRU.
const UNTOLD: u64 = 1;

/// No block costs more, in nanoseconds: a quarter of an hour, which no store takes. With it the
/// rent is bounded: see [`Landlord::rent`].
const DEAREST: u64 = 1 << 40;

/// Young, "On-line File Caching" (SODA 1998), in the LRU flavour that SAC §2.1 compares with.
///
/// Each block has a credit L. It is H, the time of its retrieval divided by its size, when the
/// block comes in and again at each reference. "If object eviction is needed, LANDLORD finds the
/// object with the lowest L value, removes it, and ages all of the remaining objects […] by
/// decrementing the L value of all remaining objects by the L value of the evicted object."
///
/// Nothing is decremented here: the sum ever taken from each block is one number, the *rent*, and a
/// block is kept with the rent at which its credit ends. So the lowest L is the first of a heap,
/// and a hit or a miss costs its depth.
///
/// ```text
///   due = rent at the last reference + H        L = due − rent now
///   heap, by (due, order of last references):   [slot 9: due 70, H 40] ─ [slot 4: due 90, H 25] …
/// ```
///
/// With equal H the order of references decides, and it is LRU to the last eviction. A frame that a
/// reader holds is passed over and keeps its place; if a dearer one goes before it, it is overdue,
/// and next.
#[derive(Clone, Debug)]
pub struct Landlord {
    list: ListId,
    /// The blocks that are resident, the first one due on top. The slab notes for each slot in here
    /// its place, and for any other slot the cost of its block.
    heap: Vec<Tenant>,
    /// The sum taken from each block so far. It grows by no more than the cost of the block that
    /// goes: 2^64 nanoseconds are 584 years of fetching, or sixteen million blocks that all took a
    /// quarter of an hour. It saturates all the same, as dues do: the rest is LRU then.
    rent: u64,
    /// References so far: at one a nanosecond it lasts as long.
    references: u64,
}

/// A resident block.
#[derive(Clone, Copy, Debug)]
struct Tenant {
    due: u64,
    /// The number of its last reference.
    order: u64,
    /// H.
    cost: u64,
    slot: Slot,
}

impl Tenant {
    fn key(&self) -> (u64, u64) {
        (self.due, self.order)
    }
}

impl Replacement for Landlord {
    const LISTS: u8 = 1;
    const MOVES: bool = true;
    /// A note, and a tenant; as a part of a divided cache the heap may have twice the room that it
    /// needs.
    const BYTES_BESIDE: u32 = 8 + 2 * size_of::<Tenant>() as u32;

    fn new(first_list: u8, frames: u32) -> Landlord {
        Landlord { list: ListId(first_list), heap: Vec::with_capacity(frames as usize), rent: 0, references: 0 }
    }

    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let frames = &mut directory.frames;
        frames.move_to_front(slot, self.list);
        // Upon reference of an object in the cache, restore its L value to H. It is due later than
        // before, or as early.
        let at = frames.note(slot) as usize;
        let tenant = self.renewed(slot, self.heap[at].cost);
        self.sink(frames, at, tenant);
    }

    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, _class: Class) -> Option<Slot> {
        let at = self.first_unpinned(&directory.frames, 0)?;
        // Decrement the L value of all remaining objects by the L value of the evicted object.
        let Tenant { due, slot, .. } = self.heap[at];
        self.rent = self.rent.max(due);
        self.leave(&mut directory.frames, at);
        directory.release(slot);
        Some(slot)
    }

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, _class: Class) {
        let frames = &mut directory.frames;
        frames.move_to_front(slot, self.list);
        // When an object enters the cache, set L to H.
        let cost = frames.note(slot).clamp(UNTOLD, DEAREST);
        let tenant = self.renewed(slot, cost);
        self.heap.push(tenant);
        self.rise(frames, self.heap.len() - 1, tenant);
    }

    fn costs<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, nanoseconds: u64) {
        if directory.frames.list(slot) != self.list {
            directory.frames.set_note(slot, nanoseconds);
        }
    }

    fn resize(&mut self, frames: u32) {
        let needed = self.heap.len().max(frames as usize);
        if self.heap.capacity() > 2 * needed {
            self.heap.shrink_to(needed);
        }
    }

    fn footprint(&self) -> usize {
        self.heap.capacity() * size_of::<Tenant>()
    }

    fn remove<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        if directory.frames.list(slot) == self.list {
            let at = directory.frames.note(slot) as usize;
            self.leave(&mut directory.frames, at);
        }
    }
}

impl Landlord {
    /// A block that is referenced now.
    fn renewed(&mut self, slot: Slot, cost: u64) -> Tenant {
        self.references += 1;
        Tenant { due: self.rent.saturating_add(cost), order: self.references, cost, slot }
    }

    /// Where the first block due is, of those that no reader holds, in the part of the heap below
    /// `at`. Held blocks are passed, and no block below an unheld one is looked at: as many steps
    /// as frames are held.
    fn first_unpinned(&self, frames: &impl Slab, at: usize) -> Option<usize> {
        let tenant = self.heap.get(at)?;
        if frames.pins(tenant.slot) == 0 {
            return Some(at);
        }
        let children = CHILDREN * at + 1..CHILDREN * at + 1 + CHILDREN;
        children.filter_map(|child| self.first_unpinned(frames, child)).min_by_key(|&at| self.heap[at].key())
    }

    /// Takes the block at `at` out of the heap.
    fn leave(&mut self, frames: &mut impl Slab, at: usize) {
        frames.set_note(self.heap[at].slot, 0);
        let Some(last) = self.heap.pop() else { return };
        if at < self.heap.len() {
            let at = self.rise(frames, at, last);
            self.sink(frames, at, last);
        }
    }

    /// Puts `tenant` at `at`, or as far above as it is due before others. Returns where.
    fn rise(&mut self, frames: &mut impl Slab, mut at: usize, tenant: Tenant) -> usize {
        while at > 0 {
            let parent = self.heap[(at - 1) / CHILDREN];
            if parent.key() < tenant.key() {
                break;
            }
            self.put(frames, at, parent);
            at = (at - 1) / CHILDREN;
        }
        self.put(frames, at, tenant);
        at
    }

    /// Puts `tenant` at `at`, or as far below as others are due before it.
    fn sink(&mut self, frames: &mut impl Slab, mut at: usize, tenant: Tenant) {
        loop {
            let first = CHILDREN * at + 1;
            let children = self.heap.get(first..).unwrap_or_default().iter().take(CHILDREN).zip(first..);
            let Some((&child, least)) = children.min_by_key(|(child, _)| child.key()) else { break };
            if tenant.key() < child.key() {
                break;
            }
            self.put(frames, at, child);
            at = least;
        }
        self.put(frames, at, tenant);
    }

    fn put(&mut self, frames: &mut impl Slab, at: usize, tenant: Tenant) {
        self.heap[at] = tenant;
        frames.set_note(tenant.slot, at as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{FETCHING, FIRST_POLICY_LIST};
    use crate::index::Hashed;
    use crate::types::{BlockKey, FileId};

    /// At the end of all rents it is LRU; nothing overflows.
    #[test]
    fn a_rent_that_cannot_rise_leaves_lru() {
        let mut directory: Directory<Hashed> = Directory::new(FIRST_POLICY_LIST + 1, 2, 0);
        let mut landlord = Landlord { rent: u64::MAX - 10, ..Landlord::new(FIRST_POLICY_LIST, 2) };
        let key = |block| BlockKey::new(FileId(0), block);
        let mut bring = |landlord: &mut Landlord, block, cost| {
            let gone = directory.assign(key(block), FETCHING).is_none().then(|| {
                landlord.victim(&mut directory, 0);
                let gone = directory.released().key.block();
                directory.assign(key(block), FETCHING);
                gone
            });
            let slot = directory.find(key(block)).unwrap();
            landlord.costs(&mut directory, slot, cost);
            landlord.insert(&mut directory, slot, 0);
            gone
        };
        assert_eq!(bring(&mut landlord, 0, 5), None);
        assert_eq!(bring(&mut landlord, 1, 3), None);
        assert_eq!(bring(&mut landlord, 2, u64::MAX), Some(1));
        assert_eq!(bring(&mut landlord, 3, 1 << 39), Some(0));
        // Dues have come to their end, and so does the rent.
        for block in 4..20 {
            assert_eq!(bring(&mut landlord, block, u64::from(block)), Some(block - 2));
        }
        assert_eq!(landlord.rent, u64::MAX);
    }
}

//! The eviction history of CPEM §4.1. It remembers recently evicted blocks and whether they had
//! been referenced, so that a miss is known as an LRU miss or as a prefetch miss (thrashing).

use alloc::vec;
use alloc::vec::Vec;

use crate::types::BlockKey;

/// The state of a block when it was evicted ("flags that identify their status at the time of
/// eviction").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Was {
    /// Kept by the replacement policy: a miss on it is an LRU miss.
    Referenced,
    /// Prefetched but not yet accessed: a miss on it is a prefetch miss.
    Unread,
}

/// A direct-mapped table of recently evicted blocks. A newer block that maps to the same place
/// overwrites an older one, so that the history is short where there is much of it, and misses are
/// undercounted, never overcounted.
#[derive(Clone, Debug)]
pub struct EvictionHistory {
    /// Keys plus one, shifted left by one, with the status as the lowest bit; zero is empty. The
    /// shift loses a key's highest bit, which is that of its file's number.
    table: Vec<u64>,
    /// How many places blocks of one kind have: all of them, or half, so that unread blocks do not
    /// drive out read ones.
    places: usize,
}

impl EvictionHistory {
    /// A history for a cache of `frames`: a fifth of them (CPEM §4.1: "20% of the total number of
    /// physical pages").
    pub fn new(frames: u32) -> EvictionHistory {
        let places = EvictionHistory::reach(frames) as usize;
        EvictionHistory { table: vec![0; places], places }
    }

    /// A history of twice the size, half of it for each kind of blocks (past the paper).
    pub fn apart(frames: u32) -> EvictionHistory {
        let places = EvictionHistory::reach(frames) as usize;
        EvictionHistory { table: vec![0; places * 2], places }
    }

    /// How many blocks it remembers, at most; of each kind, if they are apart.
    pub fn reach(frames: u32) -> u32 {
        (frames / 5).next_power_of_two()
    }

    /// A block was evicted.
    pub fn evicted(&mut self, key: BlockKey, was: Was) {
        let at = self.place(key, was);
        self.table[at] = entry(key, was);
    }

    /// A block is missed. Returns its state at its eviction, if the history still knows, and
    /// forgets the block.
    pub fn missed(&mut self, key: BlockKey) -> Option<Was> {
        let known = |&was: &Was| self.table[self.place(key, was)] == entry(key, was);
        let was = [Was::Unread, Was::Referenced].into_iter().find(known)?;
        let at = self.place(key, was);
        self.table[at] = 0;
        Some(was)
    }

    /// The bytes that the history takes.
    pub fn footprint(&self) -> usize {
        self.table.len() * 8
    }

    fn place(&self, key: BlockKey, was: Was) -> usize {
        let mixed = (key.raw() ^ key.raw().rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first = if was == Was::Unread { self.table.len() - self.places } else { 0 };
        first + ((mixed >> 32) as usize & (self.places - 1))
    }
}

fn entry(key: BlockKey, was: Was) -> u64 {
    key.raw().wrapping_add(1) << 1 | u64::from(was == Was::Unread)
}

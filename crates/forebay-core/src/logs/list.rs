//! One list: the bits of a log's entries that are its own.

use alloc::boxed::Box;
use alloc::vec;
use core::hint::black_box;

use crate::frames::Slot;

/// The blocks at a list's back whose words are read together, before the first of them goes.
const AHEAD: usize = 16;

/// One list: its entries in the log.
#[derive(Clone, Default, Debug)]
pub(super) struct List {
    /// A bit an entry. Lists that no policy owns have no entries, and are only counted.
    pub(super) own: Box<[u64]>,
    pub(super) len: u32,
    /// Its first entry, if it has any.
    pub(super) back: u32,
    /// Its last one, or one that was.
    pub(super) front: u32,
    /// The last entry whose block's word was read ahead.
    ahead: u32,
}

impl List {
    /// Of so many times 64 bits.
    pub(super) fn of(bits: usize) -> List {
        List { own: vec![0; bits].into_boxed_slice(), ..List::default() }
    }

    /// Adds an entry behind all others.
    #[inline(always)]
    pub(super) fn add(&mut self, at: u32) {
        if self.len == 0 {
            (self.back, self.ahead) = (at, at);
        }
        self.len += 1;
        self.front = at;
        self.own[at as usize / 64] |= bit(at);
    }

    /// Finds the back again, and reads the words of the blocks there, so that these loads run side
    /// by side.
    #[inline(never)]
    pub(super) fn back_left(&mut self, newest: usize, log: &[Slot], words: &[u32]) {
        let Some(back) = next(&self.own, self.back, newest) else { return };
        self.back = back;
        // In a ring, what is less than half of it ahead.
        let size = log.len() as u32;
        let ahead = if self.ahead < back { self.ahead + size - back } else { self.ahead - back };
        if ahead < size / 2 {
            return;
        }
        let mut touched = 0;
        for at in core::iter::successors(Some(back), |&at| next(&self.own, at, newest)).take(AHEAD) {
            touched ^= words[log[at as usize] as usize];
            self.ahead = at;
        }
        black_box(touched);
    }
}

pub(super) fn bit(at: u32) -> u64 {
    1 << (at % 64)
}

/// The first bit that is set after `at`, in a ring whose newest bits are at `newest`.
#[inline]
pub(super) fn next(bits: &[u64], at: u32, newest: usize) -> Option<u32> {
    let mut place = at as usize / 64;
    let mut here = bits.get(place)? & (u64::MAX << (at % 64) << 1);
    while here == 0 {
        if place == newest {
            return None;
        }
        place = if place + 1 == bits.len() { 0 } else { place + 1 };
        here = bits[place];
    }
    Some(place as u32 * 64 + here.trailing_zeros())
}

/// The last bit that is set before `at`.
pub(super) fn last(bits: &[u64], at: u32, newest: usize) -> Option<u32> {
    let mut place = at as usize / 64;
    let mut here = bits.get(place)? & (bit(at) - 1);
    while here == 0 {
        place = if place == 0 { bits.len() - 1 } else { place - 1 };
        if place == newest {
            return None;
        }
        here = bits[place];
    }
    Some(place as u32 * 64 + here.ilog2())
}

//! Rules for one step up the stack, and the cache of those that were needed.

use std::sync::atomic::{AtomicU64, Ordering};

/// The base of the caller's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// Nothing: the walk ends here.
    End = 0,
    /// The stack pointer.
    Stack = 1,
    /// `rbp`.
    Frame = 2,
    /// The word where `rbp`, with the offset, points to.
    Deref = 3,
}

/// Where the caller's `rbp` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saved {
    /// In `rbp`.
    Same = 0,
    /// At an offset from the caller's frame.
    Frame = 1,
    /// At an offset from `rbp`.
    Base = 2,
}

/// One step up: `base + offset` is the caller's frame, the return address is just below it. One
/// word:
///
/// ```text
/// 63 … 32 offset | 31 … 16 where rbp was saved | 4 end | 3 2 saved | 1 0 base
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule(u64);

impl Rule {
    /// There is no way up from here. (Not 0, which is no rule.)
    pub(crate) const END: Rule = Rule(1 << 4);

    pub(crate) fn new(base: Base, offset: i32, saved: Saved, at: i16) -> Rule {
        Rule((offset as u32 as u64) << 32 | (at as u16 as u64) << 16 | (saved as u64) << 2 | base as u64)
    }

    /// The form for the cache; not 0.
    pub(crate) fn word(self) -> u64 {
        self.0
    }

    /// The rule that [`Rule::word`] gave.
    #[inline(always)]
    pub(crate) fn kept(word: u64) -> Rule {
        Rule(word)
    }

    #[inline(always)]
    pub(crate) fn base(self) -> Base {
        match self.0 & 3 {
            1 => Base::Stack,
            2 => Base::Frame,
            3 => Base::Deref,
            _ => Base::End,
        }
    }

    #[inline(always)]
    pub(crate) fn offset(self) -> isize {
        (self.0 as i64 >> 32) as isize
    }

    #[inline(always)]
    pub(crate) fn saved(self) -> Saved {
        match self.0 >> 2 & 3 {
            1 => Saved::Frame,
            2 => Saved::Base,
            _ => Saved::Same,
        }
    }

    #[inline(always)]
    pub(crate) fn at(self) -> isize {
        (self.0 >> 16) as i16 as isize
    }
}

/// A cache from one word to another that threads share without locks. An entry is two words, of
/// which the first is the key made unreadable without the second: a half-written entry fits no key.
pub(crate) struct Cache<const N: usize>([[AtomicU64; 2]; N]);

impl<const N: usize> Cache<N> {
    pub(crate) const fn new() -> Cache<N> {
        Cache([const { [const { AtomicU64::new(0) }; 2] }; N])
    }

    #[inline(always)]
    fn place(&self, key: u64) -> &[AtomicU64; 2] {
        let at = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - N.trailing_zeros());
        &self.0[at as usize % N]
    }

    #[inline(always)]
    const fn veil(value: u64) -> u64 {
        value.wrapping_mul(0xd6e8_feb8_6659_fd93)
    }

    /// The value for `key`; values are not 0.
    #[inline(always)]
    pub(crate) fn get(&self, key: u64) -> Option<u64> {
        let [veiled, value] = self.place(key);
        let value = value.load(Ordering::Relaxed);
        (value != 0 && veiled.load(Ordering::Relaxed) ^ Self::veil(value) == key).then_some(value)
    }

    pub(crate) fn put(&self, key: u64, value: u64) {
        let place = self.place(key);
        place[1].store(value, Ordering::Relaxed);
        place[0].store(key ^ Self::veil(value), Ordering::Relaxed);
    }
}

/// Rules by address.
pub(crate) static RULES: Cache<8192> = Cache::new();

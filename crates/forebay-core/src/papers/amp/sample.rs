//! Block sampling (AMP §3.1): which blocks are looked at.
//!
//! A block counts if the hash of its number is below Q; with adaptive sampling Q "is halved
//! whenever |L| grows over the limit N_L and doubled when |L| drops below N_L/2" and Q is below Q₀.
//! (The paper prints "Q > Q₀", which would never bring Q back. And a list that was just halved has
//! about N_L/2 blocks, so every other halving would be taken back at once: here Q is doubled below
//! N_L/4.)
//!
//! Once a context is known, a shorter list and a lower Q₀ will do to notice a change
//! ([`Sample::watch`]): detection "should be viewed as a 'tuning' operation" (AMP §3). Looking at
//! all blocks of a small context would cost more than its hits. A full sample then decides whether
//! it has changed ([`Sample::look_closer`]), since a few blocks may lack the very ones that are
//! accessed most.
//!
//! For |L| to drop, blocks must leave the list, of which the paper says nothing; the owner of the
//! list says when they do.

use super::order::Order;
use crate::random::hash;

/// Which blocks are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Sampling {
    /// All of them.
    Off,
    /// One in this many, at least 1.
    Fixed(u32),
    /// As many as keep the list at no more than this many blocks: N_L. Q₀ is all.
    Adaptive(u32),
}

/// Q, and how it moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Q: blocks whose hash is below this are looked at. 2^32 is all.
    bound: u64,
    /// N_L, and Q₀.
    most: u32,
    first: u64,
    /// N_L, as it was chosen.
    full: u32,
}

/// Q₀.
pub(super) const ALL: u64 = 1 << 32;

impl Sample {
    pub(super) fn new(sampling: Sampling) -> Sample {
        let (bound, most) = match sampling {
            Sampling::Off => (ALL, u32::MAX),
            Sampling::Fixed(one_in) => (ALL / u64::from(one_in.max(1)), u32::MAX),
            Sampling::Adaptive(most) => (ALL, most.max(1)),
        };
        Sample { bound, most, first: bound, full: most }
    }

    /// Q.
    pub(super) fn bound(&self) -> u64 {
        self.bound
    }

    /// If sampling is adaptive, keeps the list to N_L / 8 blocks (but no fewer than sixteen), and
    /// looks at no more than one block in sixteen.
    pub(super) fn watch<T: Copy>(&mut self, order: &mut Order<T>) {
        if self.is_full() && self.full < u32::MAX {
            (self.most, self.first) = ((self.full / 8).max(16).min(self.full), ALL / 16);
            self.adapt(order);
        }
    }

    /// From now on the list is as long as it may be.
    pub(super) fn look_closer(&mut self) {
        if self.full < u32::MAX {
            (self.most, self.first) = (self.full, ALL);
            self.bound = (self.bound * 8).min(ALL);
        }
    }

    /// Whether this is a full sample, not only a watch.
    pub(super) fn is_full(&self) -> bool {
        self.full == u32::MAX || self.first == ALL
    }

    /// Whether the list is as long as it gets.
    pub(super) fn is_filled<T: Copy>(&self, order: &Order<T>) -> bool {
        self.full == u32::MAX || self.bound == ALL || order.len() >= self.most / 4
    }

    /// How many blocks `blocks` of the sample stand for.
    pub(super) fn all(&self, blocks: u64) -> u64 {
        blocks.saturating_mul(ALL) / self.bound.max(1)
    }

    /// The list has grown or shrunk.
    pub(super) fn adapt<T: Copy>(&mut self, order: &mut Order<T>) {
        while (order.len() > self.most || self.bound > self.first) && self.bound > 1 {
            self.bound /= 2;
            let bound = self.bound;
            order.retain(|block| hash(block) < bound);
        }
        if order.len() < self.most / 4 && self.bound < self.first {
            self.bound *= 2;
        }
    }
}

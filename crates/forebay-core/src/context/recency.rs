//! Mean reference recency (AMP §3.1): where among all blocks seen so far, in the order of their last access, is the one that is accessed?
//!
//! R_i = p_i / (|L_i| − 1), 0.5 if there is but one, undefined at a first access. R̄ is the mean over all defined R_i: 0 for a pure loop,
//! close to 1 where what was accessed lately is accessed again, 0.5 at random. Either over everything since the last look (the paper's
//! periodic detector), or as an exponential mean that forgets (its continuous one).
//!
//! Not every block is looked at. A block counts if the hash of its number is below Q; with adaptive sampling Q "is halved whenever |L|
//! grows over the limit N_L and doubled when |L| drops below N_L/2" and Q is below Q₀. (The paper prints "Q > Q₀", which would never
//! bring Q back. And a list that was just halved has about N_L/2 blocks, so every other halving would be taken back at once: here Q is doubled
//! below N_L/4.)

use super::order::Order;

/// R of the newest block.
pub const ONE: u32 = 1 << 16;

/// Which blocks are looked at. The default is the adaptive one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Sampling {
    /// All of them.
    Off,
    /// One in so many, at least 1.
    Fixed(u32),
    /// As many as keep the list at no more than so many blocks: N_L. Q₀ is all.
    Adaptive(u32),
}

/// How R̄ is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Mean {
    /// Over everything since [`Recency::forget`].
    Periodic,
    /// Exponential, the newest R with this weight in 65,536ths.
    Continuous(u32),
}

/// What is known of one sequence of accesses.
#[derive(Clone, Debug)]
pub struct Recency {
    sampling: Sampling,
    mean: Mean,
    order: Order,
    /// Q: blocks whose hash is below this are looked at. 2^32 is all.
    bound: u64,
    /// The sum of the R of the period, or R̄ itself.
    sum: u64,
    /// Accesses looked at: all of them, and those that had a defined R.
    accesses: u64,
    defined: u64,
}

/// Q₀.
const ALL: u64 = 1 << 32;

impl Recency {
    /// Nothing is known.
    pub fn new(sampling: Sampling, mean: Mean) -> Recency {
        let bound = match sampling {
            Sampling::Fixed(one_in) => ALL / u64::from(one_in.max(1)),
            Sampling::Off | Sampling::Adaptive(_) => ALL,
        };
        Recency { sampling, mean, order: Order::default(), bound, sum: 0, accesses: 0, defined: 0 }
    }

    /// A block is accessed, named by a number. Returns its R, in parts of [`ONE`]; `None` if it is not looked at, or this is its first
    /// access.
    pub fn access(&mut self, block: u64) -> Option<u32> {
        if hash(block) >= self.bound {
            return None;
        }
        let others = self.order.len().saturating_sub(1);
        let position = self.order.access(block);
        self.accesses += 1;
        let recency = position.map(|position| match others {
            0 => ONE / 2,
            others => (u64::from(position) * u64::from(ONE) / u64::from(others)) as u32,
        });
        if let Some(recency) = recency {
            self.learn(recency);
        } else {
            self.adapt();
        }
        recency
    }

    fn learn(&mut self, recency: u32) {
        self.defined += 1;
        match self.mean {
            Mean::Periodic => self.sum += u64::from(recency),
            // The first ones count alike, else the very first would for long.
            Mean::Continuous(weight) => {
                let weight = u64::from(weight.clamp(1, ONE)).max(u64::from(ONE) / self.defined);
                self.sum = (self.sum * (u64::from(ONE) - weight) + u64::from(recency) * weight) / u64::from(ONE);
            }
        }
    }

    fn adapt(&mut self) {
        let Sampling::Adaptive(most) = self.sampling else { return };
        while self.order.len() > most.max(1) && self.bound > 1 {
            self.bound /= 2;
            let bound = self.bound;
            self.order.retain(|block| hash(block) < bound);
        }
        if self.order.len() < most / 4 && self.bound < ALL {
            self.bound *= 2;
        }
    }

    /// R̄, in parts of [`ONE`]; `None` if nothing was accessed twice.
    pub fn mean(&self) -> Option<u32> {
        match self.mean {
            Mean::Periodic => self.sum.checked_div(self.defined).map(|mean| mean as u32),
            Mean::Continuous(_) => (self.defined > 0).then_some(self.sum as u32),
        }
    }

    /// How many accesses were looked at, and how many of these were not the first of their block.
    pub fn seen(&self) -> (u64, u64) {
        (self.accesses, self.defined)
    }

    /// How many blocks there are, as far as one can tell from the sample.
    pub fn blocks(&self) -> u64 {
        u64::from(self.order.len()) * ALL / self.bound.max(1)
    }

    /// A period is over. The order of blocks stays.
    pub fn forget(&mut self) {
        (self.sum, self.accesses, self.defined) = (0, 0, 0);
    }

    /// The bytes that it takes.
    pub fn footprint(&self) -> usize {
        size_of::<Recency>() + self.order.footprint()
    }
}

/// "One hashes the block number to a 32-bit integer": the upper half of a product, folded once before, so that runs and strides spread.
fn hash(block: u64) -> u64 {
    (block ^ block.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

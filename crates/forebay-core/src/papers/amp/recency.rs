//! Mean reference recency (AMP §3.1): where among all blocks seen so far, in the order of their
//! last access, is the one that is accessed?
//!
//! R_i = p_i / (|L_i| − 1), 0.5 if there is but one, undefined at a first access. R̄ is the mean
//! over all defined R_i: 0 for a pure loop, close to 1 where recently accessed blocks are accessed
//! again, 0.5 at random. Either over everything since the last look (the paper's periodic
//! detector), or as an exponential mean that forgets (its continuous one).
//!
//! Not every block is looked at ([`Sampling`]). The same list tells the [`Rhythm`] of a loop: how
//! many accesses there were since the last one to the same block, and how long ago that was. In a
//! loop each block is accessed once a round, so a round has as many blocks as accesses. Accesses
//! can be counted, blocks of a sample only estimated; and the coupons of AMP Fig. 4 are given for
//! accesses.

use super::order::Order;
use super::sample::Sample;
use crate::hint::Rhythm;
use crate::random::hash;

pub use super::sample::Sampling;

/// R of the newest block.
pub const ONE: u32 = 1 << 16;

/// How R̄ is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Mean {
    /// Over everything since [`Recency::forget`].
    Periodic,
    /// Exponential, the newest R with this weight in 65,536ths.
    Continuous(u32),
}

/// The recency of one sequence of accesses.
#[derive(Clone, Debug)]
pub struct Recency {
    sample: Sample,
    mean: Mean,
    order: Order<When>,
    /// The sum of the R of the period, or R̄ itself.
    sum: u64,
    /// Accesses looked at: all of them, and those that had a defined R.
    accesses: u64,
    defined: u64,
    /// All accesses, also those not looked at.
    turn: u64,
    rounds: Rounds,
}

/// When a block was accessed.
#[derive(Clone, Copy, Debug)]
struct When {
    /// In virtual time, which accesses of others move on as well.
    time: u64,
    /// In accesses of this sequence.
    turn: u64,
}

/// Sums over the accesses of a period that had a defined R.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    count: u64,
    /// Sums of accesses of the sequence, and of time.
    turns: u64,
    time: u64,
    squares: u128,
}

/// A block leaves the list after this many times as many accesses without it as there are blocks.
/// Random accesses to n blocks leave one out for 4n accesses once in e⁴ = 55 cases, a loop never
/// does. If blocks stayed, long past accesses would fill the list for ever, and with adaptive
/// sampling Q would never rise again.
const STALE: u64 = 4;
/// No block leaves before this many accesses, so that short sequences keep their blocks.
const YOUNG: u64 = 4096;

impl Recency {
    /// A recency without accesses.
    pub fn new(sampling: Sampling, mean: Mean) -> Recency {
        Recency {
            sample: Sample::new(sampling),
            mean,
            order: Order::default(),
            sum: 0,
            accesses: 0,
            defined: 0,
            turn: 0,
            rounds: Rounds::default(),
        }
    }

    /// A block is accessed, named by a number; virtual time is the number of these accesses.
    /// Returns its R, in parts of [`ONE`]; `None` if it is not looked at, or this is its first
    /// access.
    pub fn access(&mut self, block: u64) -> Option<u32> {
        let turn = self.turn + 1;
        self.turn = turn;
        (hash(block) < self.bound()).then(|| self.look(block, turn, turn))?
    }

    /// Q: the hash of a block that is looked at is below it.
    pub(super) fn bound(&self) -> u64 {
        self.sample.bound()
    }

    /// A block that is looked at is accessed at this virtual time, by the access of this number
    /// among those of the sequence. Returns its R.
    pub(super) fn look(&mut self, block: u64, time: u64, turn: u64) -> Option<u32> {
        let others = self.order.len().saturating_sub(1);
        self.turn = turn;
        self.accesses += 1;
        let Some((position, before)) = self.order.access(block, When { time, turn }) else {
            self.sample.adapt(&mut self.order);
            return None;
        };
        let recency = match others {
            0 => ONE / 2,
            others => (u64::from(position) * u64::from(ONE) / u64::from(others)) as u32,
        };
        self.learn(recency);
        self.rounds.learn(turn - before.turn, time - before.time);
        Some(recency)
    }

    fn learn(&mut self, recency: u32) {
        self.defined += 1;
        match self.mean {
            Mean::Periodic => self.sum += u64::from(recency),
            // The first ones count alike, else the very first would outweigh others for long.
            Mean::Continuous(weight) => {
                let weight = u64::from(weight.clamp(1, ONE)).max(u64::from(ONE) / self.defined);
                self.sum = (self.sum * (u64::from(ONE) - weight) + u64::from(recency) * weight) / u64::from(ONE);
            }
        }
    }

    /// R̄, in parts of [`ONE`]; `None` if no block was accessed twice.
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

    /// How many blocks are in the list, |L|.
    pub fn listed(&self) -> u32 {
        self.order.len()
    }

    /// How many blocks there are, as far as one can tell from the sample.
    pub fn blocks(&self) -> u64 {
        self.sample.all(self.order.len().into())
    }

    /// How many accesses of the period the rhythm is taken from, and the rhythm if there are any.
    pub fn rhythm(&self) -> (u64, Option<Rhythm>) {
        (self.rounds.count, self.rounds.rhythm())
    }

    /// Enough is known: with adaptive sampling, a smaller sample will do to notice a change.
    pub fn watch(&mut self) {
        self.sample.watch(&mut self.order);
    }

    /// The pattern may have changed: the sample is as large as may be again.
    pub fn look_closer(&mut self) {
        self.sample.look_closer();
    }

    /// Whether the list has as many blocks as it gets.
    pub fn is_filled(&self) -> bool {
        self.sample.is_filled(&self.order)
    }

    /// Whether the sample is as large as may be.
    pub fn is_full(&self) -> bool {
        self.sample.is_full()
    }

    /// A period is over. The order of blocks stays, and so does an exponential mean.
    pub fn forget(&mut self) {
        self.rounds = Rounds::default();
        if self.mean == Mean::Periodic {
            (self.sum, self.accesses, self.defined) = (0, 0, 0);
        }
    }

    /// Lets go of blocks that have not been accessed for long, `turn` accesses of the sequence
    /// after its beginning.
    pub fn age(&mut self, turn: u64) {
        let oldest = turn.saturating_sub(STALE.saturating_mul(self.blocks()).max(YOUNG));
        while self.order.forget_oldest(|when| when.turn < oldest).is_some() {}
        self.sample.adapt(&mut self.order);
    }

    /// The bytes that it takes beyond itself.
    pub fn footprint(&self) -> usize {
        self.order.footprint()
    }
}

impl Rounds {
    fn learn(&mut self, turns: u64, time: u64) {
        self.count += 1;
        self.turns = self.turns.saturating_add(turns);
        self.time = self.time.saturating_add(time);
        self.squares = self.squares.saturating_add(u128::from(time) * u128::from(time));
    }

    fn rhythm(&self) -> Option<Rhythm> {
        let time = self.time.checked_div(self.count)?;
        let variance = (self.squares / u128::from(self.count)).saturating_sub(u128::from(time) * u128::from(time));
        Some(Rhythm {
            size: u32::try_from(self.turns / self.count).unwrap_or(u32::MAX),
            time,
            deviation: variance.isqrt() as u64,
        })
    }
}

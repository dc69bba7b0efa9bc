//! Draws of one participant: those of others do not change them, so that a scenario stays the same
//! while it is made smaller.

use forebay_core::random::Random;

/// The participants of a life that draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    /// The scenario itself.
    Scenario,
    /// The order of simultaneous work.
    Agenda,
    /// A device of this number.
    Device(u64),
    /// A reader of this number.
    Reader(u64),
    /// The author, who changes files.
    Author,
    /// The disk tier: its limits, and its disk.
    Tier,
}

/// Seeded draws.
#[derive(Clone, Debug)]
pub(crate) struct Dice(Random);

impl Dice {
    /// Those of a participant in the life of a seed.
    pub(crate) fn of(seed: u64, who: Who) -> Dice {
        let salt = match who {
            Who::Scenario => 1,
            Who::Agenda => 2,
            Who::Author => 3,
            Who::Tier => 4,
            Who::Device(number) => 0x100 + number,
            Who::Reader(number) => 0x1_0000 + number,
        };
        let mixed = mix(seed ^ mix(salt));
        Dice(Random::new((mixed >> 32) as u32 ^ mixed as u32))
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// A number from `least` to `most`.
    pub(crate) fn from(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.below(most.saturating_sub(least) + 1)
    }

    /// Whether something happens that does so `permille` times of a thousand.
    pub(crate) fn chance(&mut self, permille: u64) -> bool {
        self.below(1000) < permille
    }

    /// A number from `least` to `most`, each power of two as likely as the next.
    pub(crate) fn scale(&mut self, least: u64, most: u64) -> u64 {
        let least = least.max(1);
        let steps = u64::from((most / least).max(1).ilog2());
        let low = least << self.from(0, steps);
        self.from(low, low.saturating_mul(2).min(most.max(low)))
    }

    /// One of several, of which there is at least one.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }
}

/// SplitMix64's finish: every bit of the answer depends on every bit of the question.
pub(crate) fn mix(value: u64) -> u64 {
    let mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

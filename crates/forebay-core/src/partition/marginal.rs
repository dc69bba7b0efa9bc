//! Marginal benefit instead of the linear assumption (past the paper; SAC §7: "the algorithm should recognize instances where
//! increasing the cache size does not decrease wait time").
//!
//! What a partition would have hit with more frames, and would not with fewer, is known by [`Distances`], and what a miss there costs
//! by the epochs before. Pages go from where they are missed least to where they gain most, in pairs, as long as one gains more
//! than the other loses.
//!
//! ```text
//!   hits │            ____ b     gain: the steepest way up from the size, over at least a 32nd of the cache: also what a loop
//!        │      _____╱                 would gain that does not fit yet
//!        │   a ╱                 loss: the way down over a 32nd of the cache
//!        └────────size──────▶
//! ```
//!
//! Where loops have partitions of their own, curves are taken for their concave hull. A loop that is longer than its partition has no hit under
//! LRU, and under AMP as many as blocks: partitioned, hits grow in proportion from corner to corner of the curve (Beckmann and Sanchez,
//! "Talus", HPCA 2015). So a loop that is held is not given away as worthless, and one that is not is worth what its next page brings.
//!
//! ```text
//!   hits │        ┌──── LRU          hull: a page fewer costs a hit a round, not all of them
//!        │     ╱  │
//!        │  ╱     │
//!        └────────┴─────▶ size
//! ```
//!
//! Waits are to be few, and "the cumulative delay for each device […] equal" (SAC §2.2): gained and lost is the sum of their squares,
//! which is less if there is less of them, and least if they are equal. With a price there is nothing to balance, so it is the sum of
//! prices.

use super::distances::Distances;
use super::share::Share;

/// Over which part of the cache a loss is measured, and a gain at least: less is too little to tell from chance.
const PART: u32 = 32;

/// What counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Aim {
    /// The least sum of squares.
    Even,
    /// The least sum.
    Least,
}

/// What a page more would gain and a page fewer lose, in whatever costs are, for comparison only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Worth {
    pub(super) gain: u128,
    pub(super) loss: u128,
}

/// A device's hits by size, in the sample, at multiples of a part; and what a hit more saves.
pub(super) struct Curve {
    part: u32,
    frames: u32,
    at: [u64; PART as usize + 1],
    /// References of the sample, hits or not.
    references: u64,
    /// What so many of them were lately, and what they cost.
    lately: u128,
    missed: u128,
    cost: u128,
    /// The size that it was measured at.
    measured: u32,
}

impl Curve {
    /// Of a device that has `size` of `frames`. With `loops` its concave hull.
    pub(super) fn of(
        distances: &Distances,
        (device, share): (usize, &Share),
        size: u32,
        frames: u32,
        loops: bool,
    ) -> Curve {
        let part = part(frames);
        let references = distances.references(device);
        let served = distances.served_by(device);
        let mut curve = Curve {
            part,
            frames,
            at: core::array::from_fn(|step| served(step as u32 * part)),
            references,
            lately: distances.lately(device, references).into(),
            missed: share.recent.missed.max(1).into(),
            cost: share.recent.cost.into(),
            measured: size,
        };
        if loops {
            straighten(&mut curve.at);
        }
        curve
    }

    /// The hits of a partition of `size`.
    fn at(&self, size: u32) -> u64 {
        let (step, rest) = ((size / self.part) as usize, size % self.part);
        match (self.at.get(step), self.at.get(step + 1)) {
            (Some(&below), Some(&above)) => below + (above - below) * u64::from(rest) / u64::from(self.part),
            _ => self.at[PART as usize],
        }
    }

    /// What pages are worth to a partition of `size`. Of another one than was measured, as far as that is known: who is asked for less waits
    /// less for each of it, since a queue is as long as there are misses that stand in it.
    pub(super) fn worth(&self, size: u32, aim: Aim) -> Worth {
        let misses = |size: u32| u128::from(self.references.saturating_sub(self.at(size)).max(1));
        let (then, now) = (misses(self.measured), misses(size));
        // What so many hits of the sample save. A miss costs `now` for `then` of what it did.
        let of = |sampled: u64| {
            let hits = u128::from(sampled) * self.lately / u128::from(self.references.max(1));
            (hits * self.cost / self.missed).saturating_mul(now) / then
        };
        let cost = self.cost.saturating_mul(now) / then * now / then;
        // cost² - (cost - less)² and (cost + more)² - cost².
        let saved = |less: u128| match aim {
            Aim::Even => less.min(cost).saturating_mul(2 * cost - less.min(cost)),
            Aim::Least => less,
        };
        let spent = |more: u128| match aim {
            Aim::Even => more.saturating_mul(2 * cost + more),
            Aim::Least => more,
        };
        // A count varies by its root: a gain is certain up to that, and a loss possible.
        let fewer = size.saturating_sub(self.part);
        let hits = self.at(size);
        let lost = hits - self.at(fewer);
        let gain = |more: u32| {
            let gained = self.at(size + more) - hits;
            saved(of(gained - gained.isqrt())) / u128::from(more)
        };
        let steps = (1..=PART).map(|step| step * self.part).filter(|more| size.saturating_add(*more) <= self.frames);
        Worth {
            gain: steps.map(gain).max().unwrap_or(0),
            loss: spent(of(lost + lost.isqrt())) / u128::from((size - fewer).max(1)),
        }
    }
}

/// The concave hull of a curve, by the monotone chain: a corner goes that is below the line from the one before it to the next one.
pub(super) fn straighten<const POINTS: usize>(hits: &mut [u64; POINTS]) {
    let (mut corners, mut count) = ([0; POINTS], 0);
    let is_below = |hits: &[u64; POINTS], corner: usize, before: usize, next: usize| {
        let rise = |from: usize, to: usize| hits[to] - hits[from];
        rise(before, corner) * (next - before) as u64 <= rise(before, next) * (corner - before) as u64
    };
    for next in 0..POINTS {
        while count >= 2 && is_below(hits, corners[count - 1], corners[count - 2], next) {
            count -= 1;
        }
        corners[count] = next;
        count += 1;
    }
    for pair in corners[..count].windows(2) {
        let (from, to) = (pair[0], pair[1]);
        for step in from + 1..to {
            hits[step] = hits[from] + (hits[to] - hits[from]) * (step - from) as u64 / (to - from) as u64;
        }
    }
}

/// Frames of the part over which a loss is measured.
pub(super) fn part(frames: u32) -> u32 {
    (frames / PART).max(1)
}

/// Who gets pages from whom: the largest gain from the least loss, if the gain is worth `threshold` thousandths of the loss. `may_get`,
/// `may_give`: whether a partition may have more, or has pages to give.
pub(super) fn pair(
    worths: &[Worth],
    threshold: impl Fn(usize, usize) -> u32,
    may_get: impl Fn(usize) -> bool,
    may_give: impl Fn(usize) -> bool,
) -> Option<(usize, usize)> {
    // Of equals the first.
    let all = || 0..worths.len();
    let consumer = all().filter(|&at| may_get(at)).max_by_key(|&at| (worths[at].gain, core::cmp::Reverse(at)))?;
    let supplier = all().filter(|&at| at != consumer && may_give(at)).min_by_key(|&at| (worths[at].loss, at))?;
    let (gain, loss) = (worths[consumer].gain, worths[supplier].loss);
    let worth_it =
        gain > 0 && gain.saturating_mul(1000) > loss.saturating_mul(u128::from(threshold(consumer, supplier)));
    worth_it.then_some((consumer, supplier))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{BlockKey, FileId};

    /// A loop over 64 blocks in a cache of 128: under LRU no hit with 63 frames, and 64 with as many; held in a partition, a hit a frame.
    fn looping() -> Distances {
        let mut distances = Distances::new(1, 128, 1);
        (0..640).for_each(|nth| distances.referenced(0, BlockKey::new(FileId(1), nth % 64)));
        distances.epoch(1);
        distances
    }

    #[test]
    fn a_loop_in_its_partition_is_worth_as_much_as_it_has() {
        let distances = looping();
        let hull = Curve::of(&distances, (0, &Share::default()), 0, 128, true);
        let all = distances.served(0, 128);
        assert_eq!([0, 63, 64].map(|size| distances.served(0, size)), [0, 0, all]);
        assert_eq!([0, 16, 32, 48, 64, 128].map(|size| hull.at(size)), [0, all / 4, all / 2, all * 3 / 4, all, all]);
        assert_eq!(hull.at(34), all / 2 + all / 32);
    }

    /// Half of the loop is there. LRU would lose nothing by a page, and gain by no fewer than 32.
    #[test]
    fn so_it_is_not_given_away_as_worthless() {
        let distances = looping();
        let mut share = Share::default();
        (share.recent.cost, share.recent.missed) = (1_000_000, 1000);
        let [lru, amp] =
            [false, true].map(|loops| Curve::of(&distances, (0, &share), 32, 128, loops).worth(32, Aim::Least));
        assert!(lru.loss == 0 && amp.loss > 0, "{lru:?} {amp:?}");
        assert!(
            amp.gain > 0 && amp.gain <= amp.loss,
            "a page more gains what a page fewer loses, less what is chance: {amp:?}"
        );
    }
}

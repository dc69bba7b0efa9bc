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
    Cheap,
}

/// What a page more would gain and a page fewer lose, in whatever costs are, for comparison only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Worth {
    pub(super) gain: u128,
    pub(super) loss: u128,
}

/// Frames of the part over which a loss is measured.
pub(super) fn part(frames: u32) -> u32 {
    (frames / PART).max(1)
}

/// What pages are worth to the partition of `device`, which has `size` of `frames` now.
pub(super) fn worth(
    distances: &Distances,
    (device, share): (usize, &Share),
    size: u32,
    frames: u32,
    aim: Aim,
) -> Worth {
    let part = part(frames);
    let cost = u128::from(share.recent.cost);
    let missed = u128::from(share.recent.missed.max(1));
    // What so many misses of the sample cost.
    let of = |sampled: u64| u128::from(distances.lately(device, sampled)) * cost / missed;
    // cost² - (cost - less)² and (cost + more)² - cost².
    let saved = |less: u128| match aim {
        Aim::Even => less.min(cost).saturating_mul(2 * cost - less.min(cost)),
        Aim::Cheap => less,
    };
    let spent = |more: u128| match aim {
        Aim::Even => more.saturating_mul(2 * cost + more),
        Aim::Cheap => more,
    };
    // A count varies by its root: a gain is certain up to that, and a loss possible.
    let fewer = size.saturating_sub(part);
    let now = distances.served(device, size);
    let lost = now - distances.served(device, fewer);
    let gain = |more: u32| {
        let gained = distances.served(device, size + more) - now;
        saved(of(gained - gained.isqrt())) / u128::from(more)
    };
    let steps = (1..=PART).map(|step| step * part).filter(|more| size.saturating_add(*more) <= frames);
    Worth {
        gain: steps.map(gain).max().unwrap_or(0),
        loss: spent(of(lost + lost.isqrt())) / u128::from((size - fewer).max(1)),
    }
}

/// Who gets pages from whom: the largest gain from the least loss, as long as the gain is worth `threshold` thousandths of the loss.
/// Nobody takes part twice. `may_give`: whether a partition has pages to give.
pub(super) fn pairs(
    worths: &[Worth],
    threshold: impl Fn(usize) -> u32,
    may_give: impl Fn(usize) -> bool,
) -> impl Iterator<Item = (usize, usize)> {
    let mut free: alloc::vec::Vec<usize> = (0..worths.len()).collect();
    core::iter::from_fn(move || {
        // Of equals the first.
        let consumer = free.iter().copied().max_by_key(|&at| (worths[at].gain, core::cmp::Reverse(at)))?;
        let others = free.iter().copied().filter(|&at| at != consumer && may_give(at));
        let supplier = others.min_by_key(|&at| (worths[at].loss, at))?;
        let (gain, loss) = (worths[consumer].gain, worths[supplier].loss);
        let worth_it = gain > 0 && gain.saturating_mul(1000) > loss.saturating_mul(u128::from(threshold(consumer)));
        free.retain(|&at| at != consumer && at != supplier);
        worth_it.then_some((consumer, supplier))
    })
}

//! The cost of a block that was not kept, by device.
//!
//! Requests vary: one that goes on where the last one ended takes a hundredth of the time of one
//! that does not. By their last few requests, some of sixteen equal disks always seem twice as slow
//! as others, and frames that follow this are lost. So devices that cannot be told apart have one
//! cost, and only those that can have their own: where means are further from each other than twice
//! the standard error of their difference.
//!
//! ```text
//!   a  ├────x────┤            a and b have one cost,
//!   b     ├────x────┤         c has its own
//!   c                           ├──x──┤
//!   ─────────────────────────────────────▶ a block's cost
//! ```
//!
//! All devices forget together. Otherwise a device that was slow would count as slow for long: it
//! has most of the frames by then, so few of its blocks are fetched that could tell.

use alloc::vec::Vec;

/// How many blocks are remembered of each device, in the mean of all. With 64, sixteen equal disks
/// lose 4 % more; with 1024, the cache must be read more than twice until a disk's slowness is
/// forgotten.
const BLOCKS: u64 = 512;

/// A device of which no more blocks than these are known forgets nothing, however many blocks
/// others have.
const FEW: u64 = 64;

/// How far means may be from each other: in standard errors of their difference, squared.
const ERRORS: u128 = 4;

/// The cost of a block of a device that was not kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockCost {
    /// The cost, in nanoseconds of waiting.
    pub(super) nanoseconds: u64,
    /// How many frames the device held when that was measured, if it was.
    pub(super) held: Option<u32>,
}

/// The counts of a device, as its divider finds them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    /// The frames that it holds.
    pub(super) held: u32,
    /// Blocks that had not been kept for its readers since the beginning, prefetched or missed.
    pub(super) unkept: u64,
}

/// The costs of all devices.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    of: Vec<Cost>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Cost {
    lately: Sample,
    /// Blocks that had not been kept since the beginning.
    counted: u64,
    /// The cost of a block on the devices that are alike.
    mean: u64,
}

/// Blocks that had not been kept.
#[derive(Clone, Copy, Default, Debug)]
struct Sample {
    blocks: u64,
    /// The cost of requests for them: nanoseconds of waiting.
    cost: u64,
    squares: u128,
    /// The frames that the device held at each of the blocks, added up.
    held: u64,
}

impl Costs {
    pub(super) fn new(devices: usize) -> Costs {
        Costs { of: alloc::vec![Cost::default(); devices] }
    }

    /// A request to a device has cost so much.
    pub(super) fn request(&mut self, device: usize, cost: u64) {
        let Some(Cost { lately, .. }) = self.of.get_mut(device) else { return };
        lately.cost = lately.cost.saturating_add(cost);
        lately.squares = lately.squares.saturating_add(u128::from(cost).pow(2));
    }

    /// Learns from the counts of all devices, in their order.
    pub(super) fn look(&mut self, devices: impl Iterator<Item = Counts>) {
        for (cost, counts) in self.of.iter_mut().zip(devices) {
            cost.learn(u64::from(counts.held), counts.unkept);
        }
        self.forget();
        for device in 0..self.of.len() {
            let own = self.of[device].lately;
            let alike = self.of.iter().map(|cost| cost.lately).filter(|other| own.is_like(other));
            let (blocks, cost) =
                alike.fold((0, 0u64), |(blocks, cost), other| (blocks + other.blocks, cost.saturating_add(other.cost)));
            self.of[device].mean = cost.checked_div(blocks).unwrap_or(0);
        }
    }

    /// The cost of a block of a device, and how many frames the device held, in the mean, when that
    /// was measured; `None` as long as it was not.
    pub(super) fn of(&self, device: usize) -> BlockCost {
        let Some(Cost { lately, mean, .. }) = self.of.get(device) else { return BlockCost::default() };
        let held = lately.held.checked_div(lately.blocks).map(|held| held as u32);
        BlockCost { nanoseconds: *mean, held }
    }

    /// The bytes that it takes.
    pub(super) fn footprint(&self) -> usize {
        self.of.capacity() * size_of::<Cost>()
    }

    fn forget(&mut self) {
        let blocks = |of: &[Cost]| of.iter().map(|cost| cost.lately.blocks).fold(0, u64::saturating_add);
        while blocks(&self.of) > BLOCKS * self.of.len() as u64 {
            // More than this many in the mean: at least one device has more than few.
            let known = self.of.iter_mut().map(|cost| &mut cost.lately).filter(|lately| lately.blocks > FEW);
            known.for_each(Sample::halve);
        }
    }
}

impl Cost {
    fn learn(&mut self, held: u64, unkept: u64) {
        let new = unkept.saturating_sub(core::mem::replace(&mut self.counted, unkept));
        self.lately.blocks = self.lately.blocks.saturating_add(new);
        self.lately.held = self.lately.held.saturating_add(new.saturating_mul(held));
    }
}

impl Sample {
    fn halve(&mut self) {
        let Sample { blocks, cost, squares, held } = *self;
        *self = Sample { blocks: blocks / 2, cost: cost / 2, squares: squares / 2, held: held / 2 };
    }

    /// Whether a block costs the same here and there, as far as is known. The number of requests is
    /// chance, too: their total cost has the sum of their squares for its variance (a compound
    /// Poisson distribution).
    fn is_like(&self, other: &Sample) -> bool {
        // Both means times the blocks of both.
        let (own, others) = (u128::from(self.blocks), u128::from(other.blocks));
        let apart = (u128::from(self.cost) * others).abs_diff(u128::from(other.cost) * own);
        let variance = |squares: u128, blocks: u128| squares.saturating_mul(blocks).saturating_mul(blocks);
        let variance = variance(self.squares, others).saturating_add(variance(other.squares, own));
        apart.saturating_mul(apart) <= variance.saturating_mul(ERRORS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This many requests to each device for a block each, which cost in turn half of the given
    /// cost and one and a half times that.
    fn costs(devices: &[(u64, u64)]) -> Costs {
        let mut costs = Costs::new(devices.len());
        for (device, &(requests, cost)) in devices.iter().enumerate() {
            (0..requests).for_each(|nth| costs.request(device, cost / 2 + nth % 2 * cost));
        }
        costs.look(devices.iter().map(|&(requests, _)| Counts { held: 32, unkept: requests }));
        costs
    }

    fn means(costs: &Costs) -> Vec<u64> {
        (0..costs.of.len()).map(|device| costs.of(device).nanoseconds).collect()
    }

    /// By 40 requests each 1000 and 1200 are 200 apart, with a standard error of √(1.25 · (1000² +
    /// 1200²) / 40) = 276; 3000 is 1800 from the nearest, with one of 571.
    #[test]
    fn what_cannot_be_told_apart_is_one() {
        assert_eq!(means(&costs(&[(40, 1000), (40, 1200), (40, 3000)])), [1100, 1100, 3000]);
    }

    /// The same with ten times as many.
    #[test]
    fn what_is_known_well_is_its_own() {
        assert_eq!(means(&costs(&[(400, 1000), (400, 1200), (400, 3000)])), [1000, 1200, 3000]);
    }

    /// Nothing is known of the third device, so it has the cost of all.
    #[test]
    fn who_was_not_asked_is_like_all() {
        let costs = costs(&[(100, 1000), (300, 5000), (0, 0)]);
        assert_eq!(means(&costs), [1000, 5000, 4000]);
        assert_eq!([1, 2, 3].map(|device| costs.of(device).held), [Some(32), None, None]);
    }

    /// A disk that was slow has all frames, and a hundredth of the misses: its cost is forgotten as
    /// fast as if it had half.
    #[test]
    fn all_forget_together() {
        let mut costs = costs(&[(500, 1000), (500, 10_000)]);
        for round in 1..=30 {
            (0..99).for_each(|_| costs.request(0, 1000));
            costs.request(1, 1000);
            let fast = Counts { held: 0, unkept: 500 + 99 * round };
            let slow = Counts { held: 64, unkept: 500 + round };
            costs.look([fast, slow].into_iter());
        }
        assert!(costs.of[1].lately.blocks < 2 * FEW, "{:?}", costs.of[1]);
        assert!(costs.of[1].lately.blocks > FEW / 2, "what little is known is kept: {:?}", costs.of[1]);
    }

    /// Years of the dearest requests: sums stay where they end.
    #[test]
    fn nothing_overflows() {
        let mut costs = Costs::new(2);
        for round in 1..=8u64 {
            (0..2).for_each(|device| costs.request(device, u64::MAX));
            let unkept = [u64::MAX / 8 * round, round];
            costs.look(unkept.into_iter().map(|unkept| Counts { held: u32::MAX, unkept }));
        }
        assert!(costs.of(0).held.is_some());
    }
}

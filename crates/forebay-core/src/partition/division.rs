//! How large each partition shall be (SAC §3.1).
//!
//! "Repartitioning occurs in four steps": the wait time of each device over the last W requests, and their mean; relative wait times;
//! page consumers, whose relative wait is above the threshold; page suppliers, whose relative wait is below the mean.
//!
//! ```text
//!   relative │             ╱╲
//!   wait     │           ╱    ╲                        cool     below the threshold: no action
//!        1+T ├ ─ ─ ─ ─ ╱ ─ ─ ─ ─╲─ ─ ─ ─ ─ ─ ─ ─       warming  above and rising: I pages, 2I, 4I …
//!            │       ╱            ╲▁▁▁▁▁▁▁             cooling  above and falling: none
//!          1 ┼──────────────────────────────▶          warm     above and constant: I pages
//!              cool    warming   cooling  cool
//! ```

use alloc::vec::Vec;

use super::{Increment, Lottery, Scheme, Settings, Threshold};
use crate::device::DeviceCost;

/// A relative wait time of 1, "the mean wait time across devices".
const MEAN: u32 = 1000;

/// How a partition is classified (SAC §3.1, Fig. 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum State {
    /// "Wait time below the threshold. The wait time is within the normal operating regime."
    #[default]
    Cool,
    /// "Wait time above threshold and increasing."
    Warming,
    /// "Wait time above threshold and decreasing."
    Cooling,
    /// "Wait time above threshold and constant."
    Warm,
}

/// What is known of a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Share {
    /// The desired size in frames. The sizes of all partitions add up to the cache.
    pub size: u32,
    /// Its device's wait time in the last epoch, nanoseconds.
    pub wait: u64,
    /// The same relative to the mean of all devices, in thousandths.
    pub relative: u32,
    /// What that was taken for.
    pub state: State,
    /// Wait time of the epoch that is under way, nanoseconds.
    pub waiting: u64,
    /// For how many epochs it has been warming.
    warming: u32,
}

/// The sizes of all partitions.
#[derive(Clone, Debug)]
pub struct Division {
    settings: Settings,
    frames: u32,
    shares: Vec<Share>,
    /// Requests of the epoch that is under way.
    requests: u32,
    epochs: u64,
    pub(crate) lottery: Lottery,
}

impl Division {
    /// `frames` divided among `devices`, of which there is at least one.
    pub fn new(frames: u32, devices: &[DeviceCost], settings: Settings) -> Division {
        let sizes = settings.weights.sizes(frames, devices);
        let mut lottery = Lottery::new(sizes.len(), settings.seed);
        lottery.issue(sizes.iter().copied(), frames);
        let shares = sizes.into_iter().map(|size| Share { size, ..Share::default() }).collect();
        Division { settings, frames, shares, requests: 0, epochs: 0, lottery }
    }

    /// What was chosen.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The partitions, by device.
    pub fn shares(&self) -> &[Share] {
        &self.shares
    }

    /// How many epochs are over.
    pub fn epochs(&self) -> u64 {
        self.epochs
    }

    /// The bytes that it takes.
    pub fn footprint(&self) -> usize {
        self.shares.capacity() * size_of::<Share>() + self.lottery.footprint()
    }

    /// A request to a device is over, for which readers waited so many nanoseconds. "A new epoch begins after W device requests
    /// complete and between epochs the cache is repartitioned." Says whether a size has changed.
    pub fn waited(&mut self, device: usize, nanoseconds: u64) -> bool {
        if let Some(share) = self.shares.get_mut(device) {
            share.waiting = share.waiting.saturating_add(nanoseconds);
        }
        self.requests += 1;
        if self.requests < self.settings.window.max(1) {
            return false;
        }
        self.requests = 0;
        self.epochs += 1;
        self.observe();
        let changed = self.settings.scheme != Scheme::Static && self.repartition();
        // Also without a change: whoever sat out because readers held all of its frames is asked again.
        self.lottery.issue(self.shares.iter().map(|share| share.size), self.frames);
        changed
    }

    /// Steps 1 and 2: wait times, relative wait times; and what they are taken for.
    fn observe(&mut self) {
        let partitions = self.shares.len() as u128;
        let total: u128 = self.shares.iter().map(|share| u128::from(share.waiting)).sum();
        let mut before = Vec::with_capacity(self.shares.len());
        for share in &mut self.shares {
            before.push(share.relative);
            share.wait = core::mem::take(&mut share.waiting);
            let relative = (u128::from(share.wait) * partitions * u128::from(MEAN)).checked_div(total);
            share.relative = relative.map_or(MEAN, |relative| u32::try_from(relative).unwrap_or(u32::MAX));
        }
        let threshold = self.threshold();
        for (share, before) in self.shares.iter_mut().zip(before) {
            share.state = match share.relative.cmp(&before) {
                _ if share.relative <= threshold => State::Cool,
                core::cmp::Ordering::Greater => State::Warming,
                core::cmp::Ordering::Less => State::Cooling,
                core::cmp::Ordering::Equal => State::Warm,
            };
            // "A reclassification of a partition as warming from any other state restarts exponential correction."
            share.warming = if share.state == State::Warming { share.warming + 1 } else { 0 };
        }
    }

    fn threshold(&self) -> u32 {
        match self.settings.threshold {
            Threshold::Percent(percent) => MEAN.saturating_add(u32::from(percent).saturating_mul(MEAN / 100)),
            Threshold::Variance => {
                let squares = self.shares.iter().map(|share| u128::from(share.relative.abs_diff(MEAN)).pow(2));
                let variance = squares.sum::<u128>() / self.shares.len().max(1) as u128 / u128::from(MEAN);
                MEAN.saturating_add(u32::try_from(variance).unwrap_or(u32::MAX))
            }
        }
    }

    /// Steps 3 and 4. Says whether a size has changed.
    fn repartition(&mut self) -> bool {
        let wanted: Vec<u64> = self.shares.iter().map(|share| self.correction(share)).collect();
        let consumed: u64 = wanted.iter().sum();
        if consumed == 0 {
            return false;
        }
        let taken = self.supply(consumed);
        // If suppliers don't have as much, consumers get their part of what there is.
        let (mut before, mut given) = (0u128, 0u64);
        for (share, wanted) in self.shares.iter_mut().zip(wanted) {
            before += u128::from(wanted);
            let up_to = (before * u128::from(taken) / u128::from(consumed)) as u64;
            share.size += (up_to - given) as u32;
            given = up_to;
        }
        taken > 0
    }

    /// Step 3: how many pages a partition shall have more.
    fn correction(&self, share: &Share) -> u64 {
        let base = match self.settings.increment {
            Increment::PerMille(parts) => u64::from(self.frames) * u64::from(parts) / 1000,
            Increment::Adaptive => u64::from(self.frames) * u64::from(share.relative.saturating_sub(MEAN)) / 1_000_000,
        };
        match share.state {
            State::Cool | State::Cooling => 0,
            State::Warm => base.max(1),
            // "The increase in cache size grows exponentially." More than the cache there is not.
            State::Warming => (base.max(1) << (share.warming - 1).min(31)).min(u64::from(self.frames)),
        }
    }

    /// Step 4: takes `consumed` pages from the partitions "with below-average wait times", from each in proportion to its inverse
    /// relative wait time, 1 - relative wait time. A frame remains to each. Returns how many could be had.
    fn supply(&mut self, consumed: u64) -> u64 {
        let mut left = consumed;
        loop {
            let inverse = |share: &Share| u64::from(MEAN.saturating_sub(share.relative)) * u64::from(share.size > 1);
            let sum: u64 = self.shares.iter().map(inverse).sum();
            if left == 0 || sum == 0 {
                return consumed - left;
            }
            // One that has less than its part leaves the rest to the others, in the next round.
            let (mut before, mut asked, mut taken) = (0u128, 0u64, 0u64);
            for share in &mut self.shares {
                before += u128::from(inverse(share));
                let up_to = (before * u128::from(left) / u128::from(sum)) as u64;
                let part = (up_to - asked).min(u64::from(share.size.saturating_sub(1)));
                asked = up_to;
                share.size -= part as u32;
                taken += part;
            }
            left -= taken;
        }
    }
}

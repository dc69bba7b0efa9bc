//! How large each partition shall be (SAC §3.1).
//!
//! "Repartitioning occurs in four steps": the wait time of each device over the last W requests,
//! and their mean; relative wait times; page consumers, whose relative wait is above the threshold;
//! page suppliers, whose relative wait is below the mean. [`Epochs`] takes the first two steps, and
//! says which of the states below each partition is in; the other two are here.
//!
//! ```text
//!   relative │             ╱╲
//!   wait     │           ╱    ╲                        cool     below the threshold: no action
//!        1+T ├ ─ ─ ─ ─ ╱ ─ ─ ─ ─╲─ ─ ─ ─ ─ ─ ─ ─       warming  above and rising: I pages, 2I, 4I …
//!            │       ╱            ╲▁▁▁▁▁▁▁             cooling  above and falling: none
//!          1 ┼──────────────────────────────▶          warm     above and constant: I pages
//!              cool    warming   cooling  cool
//! ```
//!
//! The trend is that of the relative wait, "relative to the mean wait time" as Fig. 1 has it. A
//! request is a fetch, whether a reader waits for it or not. In an epoch without waits each wait
//! equals the mean: all partitions are cool, and later rises count from there. (So sizes never
//! change with a device model without service times.) A device without requests has the least wait,
//! and its partition supplies.

use alloc::vec::Vec;

use super::epochs::{Epochs, MEAN};
use super::{Lottery, Scheme, Settings};
use crate::device::DeviceCost;
use crate::devices::Device;
use crate::seams::{Divider, Wait};
use crate::share::{Cause, Share, State};

/// The sizes of all partitions.
#[derive(Clone, Debug)]
pub struct Division {
    settings: Settings,
    frames: u32,
    epochs: Epochs,
    lottery: Lottery,
}

impl Division {
    /// `frames` divided among `devices`, of which there is at least one.
    pub fn new(frames: u32, devices: &[DeviceCost], settings: Settings) -> Division {
        let sizes = settings.weights.sizes(frames, devices);
        let mut lottery = Lottery::new(sizes.len(), settings.seed);
        lottery.issue(sizes.iter().copied(), frames);
        let epochs = Epochs::new(sizes, settings.window, settings.threshold);
        Division { settings, frames, epochs, lottery }
    }

    /// A request to a device is over; readers waited this many nanoseconds for it. Returns whether
    /// a size has changed.
    pub fn has_waited(&mut self, device: usize, nanoseconds: u64) -> bool {
        if !self.epochs.waited(device, nanoseconds) {
            return false;
        }
        let changed = match self.settings.scheme {
            Scheme::Static => false,
            Scheme::Eager | Scheme::Lazy => self.repartition(),
        };
        self.epochs.note_changes(Cause::Wait);
        // Also without a change: a partition that sat out because readers held all of its frames is
        // asked again.
        self.lottery.issue(self.epochs.shares.iter().map(|share| share.size), self.frames);
        changed
    }

    /// Steps 3 and 4. Returns whether a size has changed.
    fn repartition(&mut self) -> bool {
        let corrections: Vec<u64> = self.epochs.shares.iter().map(|share| self.correction(share)).collect();
        let supplied = self.supply(corrections.iter().sum());
        // If suppliers don't have as much, consumers share the supplied pages.
        self.consume(supplied, &corrections);
        supplied > 0
    }

    /// Step 3: how many pages a partition shall have more. "The increase in cache size grows
    /// exponentially" while it is warming; it is at most the cache.
    fn correction(&self, share: &Share) -> u64 {
        match share.state {
            State::Cool | State::Cooling => 0,
            State::Warm => self.increment(),
            State::Warming => (self.increment() << share.streak.saturating_sub(1).min(31)).min(u64::from(self.frames)),
        }
    }

    /// Step 4: takes `consumed` pages from the partitions "with below-average wait times", from
    /// each in proportion to its inverse relative wait time, 1 - relative wait time. Each keeps a
    /// frame. Returns how many pages were taken.
    fn supply(&mut self, consumed: u64) -> u64 {
        let mut wanting = consumed;
        loop {
            let inverse = |share: &Share| u64::from(MEAN.saturating_sub(share.relative)) * u64::from(share.size > 1);
            let sum: u64 = self.epochs.shares.iter().map(inverse).sum();
            if wanting == 0 || sum == 0 {
                return consumed - wanting;
            }
            // A partition with less than its part leaves the rest to the others, in the next round.
            let (mut before, mut asked, mut taken) = (0u128, 0u64, 0u64);
            for share in &mut self.epochs.shares {
                before += u128::from(inverse(share));
                let up_to = (before * u128::from(wanting) / u128::from(sum)) as u64;
                let part = (up_to - asked).min(u64::from(share.size.saturating_sub(1)));
                asked = up_to;
                share.size -= part as u32;
                taken += part;
            }
            wanting -= taken;
        }
    }

    /// Gives the pages that were supplied to consumers, to each in proportion to its correction.
    fn consume(&mut self, supplied: u64, corrections: &[u64]) {
        let all: u128 = corrections.iter().map(|&pages| u128::from(pages)).sum();
        let (mut before, mut given) = (0u128, 0u64);
        for (share, &pages) in self.epochs.shares.iter_mut().zip(corrections) {
            before += u128::from(pages);
            let up_to = (before * u128::from(supplied)).checked_div(all).unwrap_or(0) as u64;
            share.size += (up_to - given) as u32;
            given = up_to;
        }
    }

    /// I: the base correction amount, at least one page.
    fn increment(&self) -> u64 {
        (u64::from(self.frames) * u64::from(self.settings.increment) / 1000).max(1)
    }

    /// The partition that is furthest over its size.
    fn over_size(&self, devices: &[Device]) -> Option<usize> {
        let excess = |number: usize| devices[number].frames.saturating_sub(self.epochs.shares[number].size);
        (0..devices.len()).max_by_key(|&number| excess(number)).filter(|&number| excess(number) > 0)
    }
}

impl Divider for Division {
    fn shares(&self) -> &[Share] {
        &self.epochs.shares
    }

    fn epochs(&self) -> u64 {
        self.epochs.over()
    }

    fn keeps_to_sizes(&self) -> bool {
        matches!(self.settings.scheme, Scheme::Static | Scheme::Eager)
    }

    /// "The algorithm immediately reallocates pages."
    fn reallocates(&self) -> bool {
        self.settings.scheme == Scheme::Eager
    }

    fn waited(&mut self, wait: &Wait, _: &[Device]) -> bool {
        self.has_waited(wait.device, wait.nanoseconds)
    }

    /// "A lottery is held by selecting a random ticket; the partition holding that ticket is picked
    /// as the victim."
    fn gives(&mut self, _: usize, devices: &[Device]) -> Option<usize> {
        match self.settings.scheme {
            Scheme::Lazy => self.lottery.draw(),
            Scheme::Static | Scheme::Eager => self.over_size(devices),
        }
    }

    fn has_none(&mut self, partition: usize) -> bool {
        let drawn = self.settings.scheme == Scheme::Lazy;
        if drawn {
            self.lottery.sits_out(partition);
        }
        drawn
    }

    fn takes_part(&mut self, partition: usize) {
        self.lottery.takes_part(partition);
    }

    fn footprint(&self) -> usize {
        self.epochs.footprint() + self.lottery.footprint()
    }
}

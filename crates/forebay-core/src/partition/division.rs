//! How large each partition shall be (SAC §3.1).
//!
//! "Repartitioning occurs in four steps": the wait time of each device over the last W requests,
//! and their mean; relative wait times; page consumers, whose relative wait is above the threshold;
//! page suppliers, whose relative wait is below the mean.
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
//! request is a fetch, whether anybody waits for it or not. In an epoch in which nobody waits all
//! waits are equal, and so is each to the mean: all are cool, and what rises afterwards rises from
//! there. (With a model of no service times sizes thus never change.) A device of which nothing was
//! asked has waited least, and supplies.
//!
//! Under [`Scheme::Worth`] there are no sizes to decide: `Worths` says whose frame goes, and waits
//! are measured to be shown.

use alloc::vec::Vec;
use core::cmp::Ordering;

use super::worth::Worths;
use super::{Cause, Change, Lottery, Prospect, Scheme, Settings, Share, State};
use crate::device::DeviceCost;
use crate::types::{BlockKey, Instant};

/// A relative wait time of 1, "the mean wait time across devices".
const MEAN: u32 = 1000;

/// The sizes of all partitions.
#[derive(Clone, Debug)]
pub struct Division {
    settings: Settings,
    frames: u32,
    shares: Vec<Share>,
    /// Requests of the epoch that is under way.
    requests: u32,
    epochs: u64,
    /// What frames are worth, where that alone decides.
    worths: Option<Worths>,
    pub(crate) lottery: Lottery,
}

impl Division {
    /// `frames` divided among `devices`, of which there is at least one.
    pub fn new(frames: u32, devices: &[DeviceCost], settings: Settings) -> Division {
        let sizes = settings.weights.sizes(frames, devices);
        let mut lottery = Lottery::new(sizes.len(), settings.seed);
        lottery.issue(sizes.iter().copied(), frames);
        let share = |size| Share { size, before: size, relative: MEAN, ..Share::default() };
        let shares: Vec<Share> = sizes.into_iter().map(share).collect();
        let worths = (settings.scheme == Scheme::Worth).then(|| Worths::new(shares.len(), frames));
        Division { settings, frames, shares, requests: 0, epochs: 0, worths, lottery }
    }

    /// Within partitions there are others for loops, so that hits grow evenly from corner to corner
    /// of their curve.
    #[must_use]
    pub fn with_loops(mut self, loops: bool) -> Division {
        if let Some(worths) = &mut self.worths {
            worths.set_loops(loops);
        }
        self
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
        self.shares.capacity() * size_of::<Share>()
            + self.lottery.footprint()
            + self.worths.as_ref().map_or(0, Worths::footprint)
    }

    /// A request to a device is over, for which readers waited so many nanoseconds. "A new epoch
    /// begins after W device requests complete and between epochs the cache is repartitioned." Says
    /// whether a size has changed.
    pub fn waited(&mut self, device: usize, nanoseconds: u64) -> bool {
        if let Some(share) = self.shares.get_mut(device) {
            share.waiting = share.waiting.saturating_add(nanoseconds);
        }
        if let Some(worths) = &mut self.worths {
            worths.waited(device, nanoseconds);
        }
        self.requests += 1;
        if self.requests < self.settings.window.max(1) {
            return false;
        }
        self.requests = 0;
        self.epochs += 1;
        self.observe();
        let changed = match self.settings.scheme {
            Scheme::Static | Scheme::Worth => false,
            Scheme::Eager | Scheme::Lazy => self.repartition(),
        };
        self.note_changes();
        // Also without a change: a partition that sat out because readers held all of its frames is
        // asked again.
        self.lottery.issue(self.shares.iter().map(|share| share.size), self.frames);
        changed
    }

    /// Steps 1 and 2, and how each partition is classified by them.
    fn observe(&mut self) {
        // Step 1: the wait time of each device over the last W requests, and their mean.
        for share in &mut self.shares {
            share.wait = core::mem::take(&mut share.waiting);
        }
        let total: u128 = self.shares.iter().map(|share| u128::from(share.wait)).sum();
        if let Some(worths) = &mut self.worths {
            worths.end_epoch(self.shares.iter().map(|share| share.wait));
        }
        // Step 2: relative wait times, the wait time divided by the mean.
        let (partitions, threshold) = (self.shares.len() as u128, self.threshold());
        for share in &mut self.shares {
            let relative = (u128::from(share.wait) * partitions * u128::from(MEAN)).checked_div(total);
            let relative = relative.map_or(MEAN, |relative| u32::try_from(relative).unwrap_or(u32::MAX));
            let before = core::mem::replace(&mut share.relative, relative);
            share.classify(before, threshold);
        }
    }

    /// Steps 3 and 4. Says whether a size has changed.
    fn repartition(&mut self) -> bool {
        let corrections: Vec<u64> = self.shares.iter().map(|share| self.correction(share)).collect();
        let supplied = self.supply(corrections.iter().sum());
        // If suppliers don't have as much, consumers get their part of what there is.
        self.consume(supplied, &corrections);
        supplied > 0
    }

    /// Step 3: how many pages a partition shall have more. "The increase in cache size grows
    /// exponentially" while it is warming; more than the cache there is not.
    fn correction(&self, share: &Share) -> u64 {
        match share.state {
            State::Cool | State::Cooling => 0,
            State::Warm => self.increment(),
            State::Warming => (self.increment() << share.streak.saturating_sub(1).min(31)).min(u64::from(self.frames)),
        }
    }

    /// Step 4: takes `consumed` pages from the partitions "with below-average wait times", from
    /// each in proportion to its inverse relative wait time, 1 - relative wait time. A frame
    /// remains to each. Returns how many could be had.
    fn supply(&mut self, consumed: u64) -> u64 {
        let mut wanting = consumed;
        loop {
            let inverse = |share: &Share| u64::from(MEAN.saturating_sub(share.relative)) * u64::from(share.size > 1);
            let sum: u64 = self.shares.iter().map(inverse).sum();
            if wanting == 0 || sum == 0 {
                return consumed - wanting;
            }
            // One that has less than its part leaves the rest to the others, in the next round.
            let (mut before, mut asked, mut taken) = (0u128, 0u64, 0u64);
            for share in &mut self.shares {
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
        for (share, &pages) in self.shares.iter_mut().zip(corrections) {
            before += u128::from(pages);
            let up_to = (before * u128::from(supplied)).checked_div(all).unwrap_or(0) as u64;
            share.size += (up_to - given) as u32;
            given = up_to;
        }
    }

    /// T: the relative wait time above which a partition is a page consumer, in thousandths.
    fn threshold(&self) -> u32 {
        MEAN.saturating_add(u32::from(self.settings.threshold).saturating_mul(MEAN / 100))
    }

    /// I: the base correction amount, at least one page.
    fn increment(&self) -> u64 {
        (u64::from(self.frames) * u64::from(self.settings.increment) / 1000).max(1)
    }

    /// Notes what has become of sizes at the end of an epoch.
    fn note_changes(&mut self) {
        let cause = if self.settings.scheme == Scheme::Worth { Cause::Worth } else { Cause::Wait };
        for share in &mut self.shares {
            let blocks = i64::from(share.size) - i64::from(core::mem::replace(&mut share.before, share.size));
            if blocks != 0 {
                share.change = Some(Change { blocks, epoch: self.epochs, cause });
            }
        }
    }
}

impl Share {
    /// Cool, warming, cooling or warm, by Fig. 1, from the relative wait time before and now. "A
    /// reclassification of a partition as warming from any other state restarts exponential
    /// correction."
    fn classify(&mut self, before: u32, threshold: u32) {
        let was = self.state;
        self.state = match self.relative.cmp(&before) {
            _ if self.relative <= threshold => State::Cool,
            Ordering::Greater => State::Warming,
            Ordering::Less => State::Cooling,
            Ordering::Equal => State::Warm,
        };
        self.streak = match self.state {
            State::Warming if was == State::Warming => self.streak + 1,
            State::Warming => 1,
            _ => 0,
        };
    }
}

/// What frames are worth, where that alone decides.
impl Division {
    /// Whether [`referenced`](Self::referenced) wants to hear of every reference.
    pub fn wants_references(&self) -> bool {
        self.worths.is_some()
    }

    /// Somebody refers to a block of a device, wherever it is.
    pub fn referenced(&mut self, device: usize, key: BlockKey) {
        if let Some(worths) = &mut self.worths {
            worths.referenced(device, key);
        }
    }

    /// Blocks whose hash is below this are in a sample.
    pub fn bound(&self) -> u64 {
        self.worths.as_ref().map_or(0, Worths::bound)
    }

    /// Whether the next request is the last one of its epoch, and somebody wants to know what was
    /// missed in it: the time to [`count`](Self::count).
    pub(crate) fn counts_next(&self) -> bool {
        self.worths.is_some() && self.requests.saturating_add(1) >= self.settings.window
    }

    /// What readers had to wait for since the beginning, by device. The epoch will have taken until
    /// now.
    pub(crate) fn count(&mut self, now: Instant, missed: impl Iterator<Item = u64>) {
        if let Some(worths) = &mut self.worths {
            worths.count(now, missed);
        }
    }

    /// A frame is to be given up. Says whether it is time to [`look`](Self::look) at partitions
    /// first.
    pub(crate) fn looks(&mut self) -> bool {
        self.worths.as_mut().is_some_and(Worths::is_due)
    }

    /// What frames are worth, by what each device holds and how many blocks had not been kept for
    /// its readers since the beginning. Sizes are what is held, in proportion.
    pub(crate) fn look(&mut self, devices: impl Iterator<Item = (u32, u64)> + Clone) {
        if let Some(worths) = &mut self.worths {
            worths.look(devices.clone());
        }
        let all = devices.clone().map(|(held, _)| u64::from(held)).sum::<u64>();
        let (mut before, mut given) = (0, 0);
        for (share, (held, _)) in self.shares.iter_mut().zip(devices).filter(|_| all > 0) {
            before += u64::from(held);
            let up_to = before * u64::from(self.frames) / all;
            share.size = (up_to - given) as u32;
            given = up_to;
        }
    }

    /// Whose frame goes for a block of `taker`: one of those that are worth least.
    pub(crate) fn least(&mut self, taker: usize, held: impl Fn(usize) -> u32) -> Option<usize> {
        self.worths.as_mut()?.least(taker, held)
    }

    /// What a block is worth to the partition of a device; `None` if nobody measures that, or
    /// nothing is known yet.
    pub fn prospect(&self, device: usize) -> Option<Prospect> {
        self.worths.as_ref()?.prospect(device, self.shares.get(device)?.size)
    }
}

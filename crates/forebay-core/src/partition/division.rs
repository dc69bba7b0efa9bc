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
//!
//! The trend is that of the relative wait, "relative to the mean wait time" as Fig. 1 has it. A request is a fetch, whether anybody
//! waits for it or not. In an epoch in which nobody waits all waits are equal, and so is each to the mean: all are cool, and what rises
//! afterwards rises from there. (With a model of no service times sizes thus never change.) A device of which nothing was asked has
//! waited least, and supplies.

mod increment;
mod prospect;
mod reuse;
mod trade;

use alloc::vec::Vec;

use super::distances::Distances;
use super::share::{Counted, Share, State};
use super::worth::Worths;
use super::{Benefit, Cost, Lottery, Scheme, Settings, Threshold, noise};
use crate::context::hash;
use crate::device::{DeviceCost, Price};
use crate::types::{BlockKey, Instant};

pub use prospect::{Cause, Change, Prospect};

/// A relative wait time of 1, "the mean wait time across devices".
const MEAN: u32 = 1000;

/// How many times W an epoch is that goes by marginal benefit. With W = 1000 requests to sixteen disks sizes follow chance: 7 % of the
/// throughput are lost where nothing is to be gained.
const GHOST_WINDOWS: u32 = 4;

/// Of how many epochs waits and misses are remembered that tell what a page gains.
const MEMORY: u64 = 8;

/// What is left to a partition that has no reuse, or to which pages are worth nothing: one part in so many of an equal share. That is
/// next to nothing, and enough for what is read from it at the moment.
const LEFT: u32 = 16;

/// The sizes of all partitions.
#[derive(Clone, Debug)]
pub struct Division {
    settings: Settings,
    frames: u32,
    shares: Vec<Share>,
    /// Requests of the epoch that is under way.
    requests: u32,
    epochs: u64,
    /// When the one under way began, and how long the last ones took, nanoseconds, each with seven eighths of the weight of the next.
    epoch_began: Instant,
    lasted: u64,
    /// What is known of reuse, if it matters; …
    distances: Option<Distances>,
    /// … and which blocks show it: those whose hash is below this.
    sampled: u64,
    /// What frames are worth, where that alone decides.
    worths: Option<Worths>,
    /// Whether loops have partitions of their own.
    hull: bool,
    pub(crate) lottery: Lottery,
}

impl Division {
    /// `frames` divided among `devices`, of which there is at least one. Where prices shall count and none has one, waits do.
    pub fn new(frames: u32, devices: &[DeviceCost], mut settings: Settings) -> Division {
        if devices.iter().all(|device| device.price.is_nothing()) {
            settings.cost = Cost::Wait;
        }
        let sizes = settings.weights.sizes(frames, devices);
        let mut lottery = Lottery::new(sizes.len(), settings.seed);
        lottery.issue(sizes.iter().copied(), frames);
        let share = |size| Share { size, before: size, relative: MEAN, variance: noise::FIRST, ..Share::default() };
        let shares: Vec<Share> = sizes.into_iter().map(share).collect();
        let worths = (settings.scheme == Scheme::Worth).then(|| Worths::new(shares.len(), frames));
        let matters = worths.is_some()
            || settings.scheme != Scheme::Static && (settings.reuse || settings.benefit != Benefit::Linear);
        let distances = matters.then(|| Distances::new(shares.len(), frames, left(frames, shares.len())));
        let sampled = distances.as_ref().map_or(0, Distances::bound);
        Division {
            settings,
            frames,
            shares,
            requests: 0,
            epochs: 0,
            epoch_began: Instant(0),
            lasted: 0,
            distances,
            sampled,
            worths,
            hull: false,
            lottery,
        }
    }

    /// Within partitions there are others for loops, so that hits grow evenly from corner to corner of their curve.
    #[must_use]
    pub fn with_loops(mut self, loops: bool) -> Division {
        self.hull = loops;
        self
    }

    /// What was chosen. Where prices were to count and no device has one, it says that waits do.
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
            + self.distances.as_ref().map_or(0, Distances::footprint)
            + self.worths.as_ref().map_or(0, Worths::footprint)
    }

    /// Whether [`referenced`](Self::referenced) wants to hear of every reference.
    pub fn wants_references(&self) -> bool {
        self.distances.is_some()
    }

    /// Somebody refers to a block of a device, wherever it is.
    pub fn referenced(&mut self, device: usize, key: BlockKey) {
        if let Some(distances) = self.distances.as_mut().filter(|_| hash(key.raw()) < self.sampled) {
            distances.sampled(device, key);
            if let Some(worths) = &mut self.worths {
                worths.asked(device);
            }
        }
    }

    /// Blocks whose hash is below this are in a sample.
    pub fn bound(&self) -> u64 {
        self.sampled
    }

    /// Whether the next request is the last one of its epoch: the time to [`count`](Self::count).
    pub fn ends_next(&self) -> bool {
        self.requests.saturating_add(1) >= self.window()
    }

    /// Requests of an epoch. What a page gains is told from fewer references than what a device waits, so that takes longer.
    fn window(&self) -> u32 {
        let window = self.settings.window;
        let requests = match self.settings.benefit {
            Benefit::Linear => window,
            Benefit::Ghosts => window.saturating_mul(GHOST_WINDOWS),
        };
        requests.max(1)
    }

    /// What was counted of a device since the beginning.
    pub fn count(&mut self, device: usize, counted: Counted) {
        if let Some(share) = self.shares.get_mut(device) {
            share.count(counted);
        }
    }

    /// A device bills a request of so many bytes. Said before [`waited`](Self::waited).
    pub fn billed(&mut self, device: usize, price: &Price, bytes: u64) {
        if self.settings.cost == Cost::Price
            && let Some(share) = self.shares.get_mut(device)
        {
            share.billing = share.billing.saturating_add(price.of(bytes));
            if let Some(worths) = &mut self.worths {
                worths.costs(device, price.of(bytes));
            }
        }
    }

    /// A request to a device is over, for which readers waited so many nanoseconds. "A new epoch begins after W device requests
    /// complete and between epochs the cache is repartitioned." Says whether a size has changed.
    pub fn waited(&mut self, device: usize, nanoseconds: u64) -> bool {
        if let Some(share) = self.shares.get_mut(device) {
            share.waiting = share.waiting.saturating_add(nanoseconds);
        }
        if self.settings.cost == Cost::Wait
            && let Some(worths) = &mut self.worths
        {
            worths.costs(device, nanoseconds);
        }
        self.requests += 1;
        if self.requests < self.window() {
            return false;
        }
        self.requests = 0;
        self.epochs += 1;
        self.observe();
        let changed = match (self.settings.scheme, self.settings.benefit) {
            (Scheme::Static | Scheme::Worth, _) => false,
            (_, Benefit::Linear) => self.repartition(),
            (_, Benefit::Ghosts) => self.trade(),
        };
        self.note_changes();
        // Also without a change: whoever sat out because readers held all of its frames is asked again. What streams gives up whatever
        // it has beyond its size.
        let sizes = self.shares.iter().map(|share| if share.streaming { 1 } else { share.size });
        self.lottery.issue(sizes, self.frames);
        changed
    }

    /// Whether a partition keeps the frames that it has, however the lottery goes: one without reuse has next to nothing, and needs that
    /// for what is read from it at the moment.
    pub(crate) fn keeps(&self, device: usize, frames: u32) -> bool {
        self.shares.get(device).is_some_and(|share| share.streaming && frames <= share.size)
    }

    /// Steps 1 and 2: wait times, relative wait times; and what they are taken for. Says whether a device has begun to stream, or to
    /// have reuse again.
    fn observe(&mut self) -> bool {
        let priced = self.settings.cost == Cost::Price;
        let costs: Vec<u64> = self.shares.iter_mut().map(|share| share.close(priced, MEMORY)).collect();
        let streamed = self.look_for_reuse();
        // What streams has no part in the mean: it would have the others wait little.
        let taking_part = || self.shares.iter().zip(&costs).filter(|(share, _)| !share.streaming);
        let partitions = taking_part().count() as u128;
        let total: u128 = taking_part().map(|(_, &cost)| u128::from(cost)).sum();
        for (number, cost) in costs.into_iter().enumerate() {
            let relative = (u128::from(cost) * partitions * u128::from(MEAN)).checked_div(total);
            let relative = relative.map_or(MEAN, |relative| u32::try_from(relative).unwrap_or(u32::MAX));
            let threshold = self.threshold(number);
            let share = &mut self.shares[number];
            let before = core::mem::replace(&mut share.relative, relative);
            if total > 0 {
                share.variance = noise::learn(share.variance, before, relative);
            }
            let was = share.state;
            share.state = match relative.cmp(&before) {
                _ if relative <= threshold || share.streaming => State::Cool,
                core::cmp::Ordering::Greater => State::Warming,
                core::cmp::Ordering::Less => State::Cooling,
                core::cmp::Ordering::Equal => State::Warm,
            };
            // "A reclassification of a partition as warming from any other state restarts exponential correction."
            if self.settings.benefit == Benefit::Linear && !share.streaming {
                share.streak = match share.state {
                    State::Warming if was == State::Warming => share.streak + 1,
                    State::Warming => 1,
                    _ => 0,
                };
            }
        }
        streamed
    }

    /// From which relative wait time on a partition wants more, in thousandths.
    fn threshold(&self, device: usize) -> u32 {
        match self.settings.threshold {
            Threshold::Percent(percent) => MEAN.saturating_add(u32::from(percent).saturating_mul(MEAN / 100)),
            Threshold::Variance => MEAN.saturating_add(noise::spread(self.shares[device].variance)),
        }
    }

    /// Steps 3 and 4. Says whether a size has changed.
    fn repartition(&mut self) -> bool {
        let wanted: Vec<u64> = self.shares.iter().map(|share| self.correction(share)).collect();
        let consumed: u64 = wanted.iter().sum();
        let freed = self.free_streaming();
        // What streams gives first.
        let taken = freed.min(consumed) + self.supply(consumed - freed.min(consumed));
        // If suppliers don't have as much, consumers get their part of what there is.
        self.give(taken, |number, _| wanted[number]);
        // What streams gives beyond that the others get, the more the longer they wait.
        if freed > consumed {
            self.give(freed - consumed, |_, share| u64::from(!share.streaming) * (1 + u64::from(share.relative)));
        }
        taken > 0 || freed > 0
    }

    /// Step 3: how many pages a partition shall have more.
    fn correction(&self, share: &Share) -> u64 {
        match share.state {
            State::Cool | State::Cooling => 0,
            State::Warm => self.increment(share).min(self.enough(share)),
            State::Warming => self.grown(share, self.increment(share)).min(self.enough(share)),
        }
    }

    /// Step 4: takes `consumed` pages from the partitions "with below-average wait times", from each in proportion to its inverse
    /// relative wait time, 1 - relative wait time. A frame remains to each. Returns how many could be had.
    fn supply(&mut self, consumed: u64) -> u64 {
        let mut wanting = consumed;
        loop {
            let inverse = |share: &Share| {
                u64::from(MEAN.saturating_sub(share.relative)) * u64::from(share.size > 1 && !share.streaming)
            };
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

    /// Gives `pages` to partitions, to each in proportion to its weight; all of them, if any has a weight.
    fn give(&mut self, pages: u64, weight: impl Fn(usize, &Share) -> u64) {
        let all: u128 = self.shares.iter().enumerate().map(|(number, share)| u128::from(weight(number, share))).sum();
        let (mut before, mut given) = (0u128, 0u64);
        for (number, share) in self.shares.iter_mut().enumerate() {
            before += u128::from(weight(number, share));
            let up_to = (before * u128::from(pages)).checked_div(all).unwrap_or(0) as u64;
            share.size += (up_to - given) as u32;
            given = up_to;
        }
    }
}

impl Division {
    /// A frame is to be given up. Says whether it is time to [`look`](Self::look) at partitions first.
    pub(crate) fn looks(&mut self) -> bool {
        self.worths.as_mut().is_some_and(Worths::is_due)
    }

    /// What frames are worth, by what each device holds and how many blocks had not been kept for its readers since the beginning. Sizes are what
    /// is held, in proportion.
    pub(crate) fn look(&mut self, devices: impl Iterator<Item = (u32, u64)> + Clone) {
        if let (Some(worths), Some(distances)) = (&mut self.worths, &self.distances) {
            worths.look(distances, self.hull, devices.clone());
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
}

/// The frames that are left to a partition in any case, where more than one frame is.
pub(super) fn left(frames: u32, partitions: usize) -> u32 {
    (frames / LEFT / u32::try_from(partitions).unwrap_or(u32::MAX).max(1)).max(1)
}

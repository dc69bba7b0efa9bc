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

use alloc::vec::Vec;

use super::distances::Distances;
use super::marginal::{self, Aim};
use super::share::{Counted, Share, State};
use super::{Benefit, Cost, Increment, Lottery, Scheme, Settings, Threshold, noise};
use crate::device::{DeviceCost, Price};
use crate::types::BlockKey;

/// A relative wait time of 1, "the mean wait time across devices".
const MEAN: u32 = 1000;

/// I of the paper, in thousandths of the cache.
const PAPERS_INCREMENT: u64 = 2;

/// How many times W an epoch is that goes by marginal benefit. With W = 1000 requests to sixteen disks sizes follow chance: 7 % of the
/// throughput are lost where nothing is to be gained.
const GHOST_WINDOWS: u32 = 4;

/// What is left to a partition that has no reuse, or to which pages are worth nothing: one part in so many of an equal share. That is
/// next to nothing, and enough for what is read from it at the moment.
const LEFT: u32 = 16;

/// Of a device without reuse fewer references than this are reuse, in thousandths; from the second on it has some again.
const STREAMING: (u32, u32) = (31, 62);

/// The sizes of all partitions.
#[derive(Clone, Debug)]
pub struct Division {
    settings: Settings,
    frames: u32,
    shares: Vec<Share>,
    /// Requests of the epoch that is under way.
    requests: u32,
    epochs: u64,
    /// What is known of reuse, if it matters.
    distances: Option<Distances>,
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
        let share = |size| Share { size, relative: MEAN, variance: noise::FIRST, ..Share::default() };
        let shares: Vec<Share> = sizes.into_iter().map(share).collect();
        let matters = settings.scheme != Scheme::Static && (settings.reuse || settings.benefit == Benefit::Ghosts);
        let distances = matters.then(|| Distances::new(shares.len(), frames, left(frames, shares.len())));
        Division { settings, frames, shares, requests: 0, epochs: 0, distances, lottery }
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
    }

    /// Whether [`referenced`](Self::referenced) wants to hear of every reference.
    pub fn wants_references(&self) -> bool {
        self.distances.is_some()
    }

    /// Somebody refers to a block of a device, wherever it is.
    #[inline]
    pub fn referenced(&mut self, device: usize, key: BlockKey) {
        if let Some(distances) = &mut self.distances {
            distances.referenced(device, key);
        }
    }

    /// Whether the next request is the last one of its epoch: the time to [`count`](Self::count).
    pub fn ends_next(&self) -> bool {
        self.requests.saturating_add(1) >= self.window()
    }

    /// Requests of an epoch. What a page gains is told from fewer references than what a device waits, so that takes longer.
    fn window(&self) -> u32 {
        let windows = if self.settings.benefit == Benefit::Ghosts { GHOST_WINDOWS } else { 1 };
        self.settings.window.saturating_mul(windows).max(1)
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
        }
    }

    /// A request to a device is over, for which readers waited so many nanoseconds. "A new epoch begins after W device requests
    /// complete and between epochs the cache is repartitioned." Says whether a size has changed.
    pub fn waited(&mut self, device: usize, nanoseconds: u64) -> bool {
        if let Some(share) = self.shares.get_mut(device) {
            share.waiting = share.waiting.saturating_add(nanoseconds);
        }
        self.requests += 1;
        if self.requests < self.window() {
            return false;
        }
        self.requests = 0;
        self.epochs += 1;
        self.observe();
        let changed = match (self.settings.scheme, self.settings.benefit) {
            (Scheme::Static, _) => false,
            (_, Benefit::Linear) => self.repartition(),
            (_, Benefit::Ghosts) => self.trade(),
        };
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
        let costs: Vec<u64> = self.shares.iter_mut().map(|share| share.close(priced)).collect();
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

    /// Which devices have no reuse (past the paper; SAC §3.1: "streaming accesses that do not fit in the cache are problematic as
    /// the algorithm does not currently detect this type of access").
    fn look_for_reuse(&mut self) -> bool {
        let Some(distances) = &mut self.distances else { return false };
        distances.epoch();
        if !self.settings.reuse {
            return false;
        }
        let streams = |(number, share): (usize, &Share)| {
            // Until enough is known it stays what it was.
            let least = if share.streaming { STREAMING.1 } else { STREAMING.0 };
            distances.reuse(number, share.size).map_or(share.streaming, |reuse| reuse < least)
        };
        let mut streaming: Vec<bool> = self.shares.iter().enumerate().map(streams).collect();
        // If all of them do, nobody is there to have the pages.
        if streaming.iter().all(|&streaming| streaming) {
            streaming.fill(false);
        }
        let mut any = false;
        for (share, streaming) in self.shares.iter_mut().zip(streaming) {
            if share.streaming != streaming {
                share.streaming = streaming;
                share.streak = 0;
                any = true;
            }
        }
        any
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

    /// "The increase in cache size grows exponentially." More than the cache there is not.
    fn grown(&self, share: &Share, base: u64) -> u64 {
        (base << share.streak.saturating_sub(1).min(31)).min(u64::from(self.frames))
    }

    /// I, at least one page.
    fn increment(&self, share: &Share) -> u64 {
        match self.settings.increment {
            Increment::PerMille(parts) => self.per_mille(parts.into()),
            // Small as long as devices are alike, as the paper's if one waits twice as long as those that supply, and up to eight
            // times that: half of the devices that wait twice as long are as far off as a single one, though nearer to the mean
            // (SAC §5.5). Of the last epochs, since in one of them alone waits differ by chance.
            Increment::Adaptive => {
                let shares = || self.shares.iter().filter(|share| !share.streaming).map(|share| share.recent.cost);
                let all = mean(shares());
                let supplying = mean(shares().filter(|&cost| u128::from(cost) <= all)).max(1);
                let excess = u128::from(share.recent.cost).saturating_sub(supplying) * 1000 / supplying;
                self.adapted(u64::try_from(excess).unwrap_or(u64::MAX))
            }
        }
    }

    /// I for so many thousandths more than with others.
    fn adapted(&self, excess: u64) -> u64 {
        (u64::from(self.frames) * PAPERS_INCREMENT * excess.min(8_000) / 1_000_000).max(1)
    }

    fn per_mille(&self, parts: u64) -> u64 {
        (u64::from(self.frames) * parts / 1000).max(1)
    }

    /// The adaptive increment overshoots no more than the paper's own assumption does, that hits grow with the size: with `h` of them
    /// and `m` misses, a size of s, and r times the mean to wait, s · m/h · (1 - 1/r) pages more are enough. One at least.
    fn enough(&self, share: &Share) -> u64 {
        let (hits, misses) = share.last();
        if self.settings.increment != Increment::Adaptive || hits == 0 {
            return u64::MAX;
        }
        let excess = u128::from(share.relative.saturating_sub(MEAN));
        let pages = u128::from(share.size) * u128::from(misses) * excess
            / (u128::from(hits) * u128::from(share.relative.max(1)));
        u64::try_from(pages).unwrap_or(u64::MAX).max(1)
    }

    /// Takes pages from the partitions whose devices have no reuse: I, 2I, 4I…, until next to nothing remains. Says how many.
    fn free_streaming(&mut self) -> u64 {
        let left = left(self.frames, self.shares.len());
        let mut freed = 0;
        for number in 0..self.shares.len() {
            let share = self.shares[number];
            if share.streaming {
                self.shares[number].streak += 1;
                let base = match self.settings.increment {
                    Increment::PerMille(parts) => self.per_mille(parts.into()),
                    Increment::Adaptive => self.per_mille(PAPERS_INCREMENT),
                };
                let pages = self.grown(&self.shares[number], base).min(share.size.saturating_sub(left).into());
                self.shares[number].size -= pages as u32;
                freed += pages;
            }
        }
        freed
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

    /// Steps 3 and 4 by marginal benefit: see [`marginal`].
    fn trade(&mut self) -> bool {
        let Some(distances) = &self.distances else { return false };
        let aim = if self.settings.cost == Cost::Price { Aim::Cheap } else { Aim::Even };
        let worth = |(device, share): (usize, &Share)| {
            // A lazy partition's size is what it tends to, at whatever pace.
            let held = if self.settings.scheme == Scheme::Lazy { share.counted.frames } else { share.size };
            marginal::worth(distances, (device, share), held, self.frames, aim)
        };
        let worths: Vec<marginal::Worth> = self.shares.iter().enumerate().map(worth).collect();
        // The lottery takes the sooner the less is left, whatever that is.
        let left = if self.settings.scheme == Scheme::Lazy { 1 } else { left(self.frames, self.shares.len()) };
        let may_give = |device: usize| self.shares[device].size > left;
        let pairs: Vec<(usize, usize)> = marginal::pairs(&worths, |device| self.threshold(device), may_give).collect();
        let gaining = |device: usize| pairs.iter().any(|&(consumer, _)| consumer == device);
        for number in 0..self.shares.len() {
            self.shares[number].streak = if gaining(number) { self.shares[number].streak + 1 } else { 0 };
        }
        for &(consumer, supplier) in &pairs {
            let base = match self.settings.increment {
                Increment::PerMille(parts) => self.per_mille(parts.into()),
                Increment::Adaptive => {
                    let (gain, loss) = (worths[consumer].gain, worths[supplier].loss.max(1));
                    self.adapted(u64::try_from((gain - loss.min(gain)).saturating_mul(1000) / loss).unwrap_or(u64::MAX))
                }
            };
            // Waits of the last eight epochs tell what is gained; in these it is not to be more than that was measured for.
            let most = self.shares[supplier].size.saturating_sub(left).min((marginal::part(self.frames) / 8).max(1));
            let pages = self.grown(&self.shares[consumer], base).min(most.into()) as u32;
            self.shares[supplier].size -= pages;
            self.shares[consumer].size += pages;
        }
        !pairs.is_empty()
    }
}

/// The mean of costs.
fn mean(costs: impl Iterator<Item = u64> + Clone) -> u128 {
    let sum: u128 = costs.clone().map(u128::from).sum();
    sum / (costs.count() as u128).max(1)
}

/// The frames that are left to a partition in any case, where more than one frame is.
fn left(frames: u32, partitions: usize) -> u32 {
    (frames / LEFT / u32::try_from(partitions).unwrap_or(u32::MAX).max(1)).max(1)
}

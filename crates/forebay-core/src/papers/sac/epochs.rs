//! Epochs: how long readers waited for each device over the last W requests (SAC §3.1, steps 1 and
//! 2).

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::share::{Cause, Change, Share, State};

/// A relative wait time of 1, "the mean wait time across devices".
pub(super) const MEAN: u32 = 1000;

/// The partitions, and the epoch that is under way.
#[derive(Clone, Debug)]
pub struct Epochs {
    /// The partitions, by device.
    pub shares: Vec<Share>,
    /// W.
    window: u32,
    /// T, in thousandths.
    threshold: u32,
    /// Requests of the epoch that is under way.
    requests: u32,
    over: u64,
}

impl Epochs {
    /// Epochs of partitions of these sizes. T is in per cent above the mean.
    pub fn new(sizes: Vec<u32>, window: u32, threshold: u16) -> Epochs {
        let share = |size| Share { size, before: size, relative: MEAN, ..Share::default() };
        let threshold = MEAN.saturating_add(u32::from(threshold).saturating_mul(MEAN / 100));
        Epochs { shares: sizes.into_iter().map(share).collect(), window, threshold, requests: 0, over: 0 }
    }

    /// How many are over.
    pub fn over(&self) -> u64 {
        self.over
    }

    /// Whether the next request is the last one of its epoch.
    pub fn ends_next(&self) -> bool {
        self.requests.saturating_add(1) >= self.window
    }

    /// A request to a device is over; readers waited this many nanoseconds for it. "A new epoch
    /// begins after W device requests complete and between epochs the cache is repartitioned."
    /// Returns whether one has ended; then steps 1 and 2 are done.
    pub fn waited(&mut self, device: usize, nanoseconds: u64) -> bool {
        if let Some(share) = self.shares.get_mut(device) {
            share.waiting = share.waiting.saturating_add(nanoseconds);
        }
        self.requests += 1;
        if self.requests < self.window.max(1) {
            return false;
        }
        self.requests = 0;
        self.over += 1;
        self.observe();
        true
    }

    /// Steps 1 and 2, and the state of each partition by them.
    fn observe(&mut self) {
        // Step 1: the wait time of each device over the last W requests, and their mean.
        for share in &mut self.shares {
            share.wait = core::mem::take(&mut share.waiting);
        }
        let total: u128 = self.shares.iter().map(|share| u128::from(share.wait)).sum();
        // Step 2: relative wait times, the wait time divided by the mean.
        let partitions = self.shares.len() as u128;
        for share in &mut self.shares {
            let relative = (u128::from(share.wait) * partitions * u128::from(MEAN)).checked_div(total);
            let relative = relative.map_or(MEAN, |relative| u32::try_from(relative).unwrap_or(u32::MAX));
            let before = core::mem::replace(&mut share.relative, relative);
            share.classify(before, self.threshold);
        }
    }

    /// Notes the changes of sizes at the end of an epoch.
    pub fn note_changes(&mut self, cause: Cause) {
        for share in &mut self.shares {
            let blocks = i64::from(share.size) - i64::from(core::mem::replace(&mut share.before, share.size));
            if blocks != 0 {
                share.change = Some(Change { blocks, epoch: self.over, cause });
            }
        }
    }

    /// The bytes that it takes.
    pub fn footprint(&self) -> usize {
        self.shares.capacity() * size_of::<Share>()
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

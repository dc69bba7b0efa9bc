//! No sizes: whenever a frame is wanted, the partition whose frames are worth least gives one (past
//! the paper, whose epochs take thousands of requests to know a device; with fewer, memory is
//! divided by chance).
//!
//! Frames are worth the wait that they save: their share of a device's references, times how often
//! it is asked, times how long readers wait for a block that is not kept. SAC would have "the
//! cumulative delay for each device" equal (§2.2). Here the sum of delays is least: where frames
//! are worth as much in every partition, none is better elsewhere.
//!
//! ```text
//!   hits │            ____         worth = slope × how often asked × wait for a block
//!        │      _____╱
//!        │    ╱│     │             the slope is that over the half of the frames that goes first
//!        │  ╱  │     │
//!        └─────┴─────┴────────▶ frames
//!            half   held
//! ```
//!
//! Hits are those of the device's curve ([`Distances`]), its concave hull where loops have
//! partitions of their own ([`straighten`]). A wait was measured with the frames held then. Frames
//! that came since have made the queue shorter, and by more than the misses that no longer stand in
//! it. Without this correction, a queue that stands now here, now there would draw frames after it,
//! too late each time.

use alloc::vec::Vec;

use super::costs::{BlockCost, Costs, Counts};
use super::distances::{Distances, ONE, PARTS};
use super::hull::straighten;
use super::prospect::{MEMORY, Prospects};
use crate::share::Prospect;
use crate::types::{BlockKey, Instant};

/// Curves are looked at again after one part in this many of the cache was given up.
const LOOKS: u32 = PARTS;

/// This many references of the sample count as hits unseen, so that frames of a little-known device
/// are not worth nothing.
const UNSEEN: u64 = 16;

/// When devices were asked for this many blocks of the sample each, in the mean, all counts of it
/// are halved.
const ASKED: u64 = 256;

/// A wait grows with this power of the misses: by the queue, and by how much of the time there is
/// one.
const QUEUE: u32 = 2;

/// Each partition whose device is read keeps one part in this many of an equal share, whatever its
/// frames are worth. That is next to nothing, and enough for the blocks read from it at the moment.
const LEFT: u32 = 16;

/// The worth of the frames of all partitions.
#[derive(Clone, Debug)]
pub(super) struct Worths {
    frames: u32,
    /// The frames that each keeps, at least one.
    left: u32,
    /// Whether loops have partitions of their own.
    loops: bool,
    of: Vec<Worth>,
    /// How far back reuse lies.
    distances: Distances,
    /// The cost of blocks that were not kept.
    costs: Costs,
    /// References to all devices, in blocks of the sample.
    asked: u64,
    /// Frames to give up until curves are looked at again.
    due: u32,
    /// The partition that gave the last one.
    last: usize,
    /// The figures that are shown.
    prospects: Prospects,
}

/// The figures of a device.
#[derive(Clone, Copy, Debug)]
struct Worth {
    /// Hits by frames, in steps of a part of the cache, among `references`; both in parts of
    /// [`ONE`].
    hits: [u64; PARTS as usize + 1],
    references: u64,
    /// References lately, in blocks of the sample.
    asked: u64,
    /// The worth of a frame, for comparison only.
    worth: u128,
}

impl Worths {
    /// For `devices` partitions of a cache of `frames`. `loops` says whether loops have partitions
    /// of their own.
    pub(super) fn new(devices: usize, frames: u32, loops: bool) -> Worths {
        let (hits, references) = ([0; PARTS as usize + 1], u64::from(ONE));
        let worth = Worth { hits, references, asked: 0, worth: 0 };
        let left = (frames / LEFT / u32::try_from(devices).unwrap_or(u32::MAX).max(1)).max(1);
        Worths {
            frames: frames.max(1),
            left,
            loops,
            of: alloc::vec![worth; devices],
            distances: Distances::new(devices, frames, left),
            costs: Costs::new(devices),
            asked: 0,
            due: 0,
            last: 0,
            prospects: Prospects::new(devices, frames),
        }
    }

    /// Blocks whose hash is below this are in the sample.
    pub(super) fn bound(&self) -> u64 {
        self.distances.bound()
    }

    /// A block of a device is referenced.
    pub(super) fn referenced(&mut self, device: usize, key: BlockKey) {
        if self.distances.referenced(device, key) {
            self.asked(device);
        }
    }

    fn asked(&mut self, device: usize) {
        let Some(worth) = self.of.get_mut(device) else { return };
        worth.asked += 1;
        self.asked += 1;
        if self.asked > ASKED * self.of.len() as u64 {
            self.of.iter_mut().for_each(|worth| worth.asked /= 2);
            self.asked = self.of.iter().map(|worth| worth.asked).sum();
        }
    }

    /// A request to a device is over; readers waited this many nanoseconds for it.
    pub(super) fn waited(&mut self, device: usize, nanoseconds: u64) {
        self.costs.request(device, nanoseconds);
    }

    /// The epoch under way will have taken until now. `missed` has the references of each device
    /// that readers had to wait for since the beginning.
    pub(super) fn count(&mut self, now: Instant, missed: impl Iterator<Item = u64>) {
        self.prospects.count(now, missed);
    }

    /// An epoch is over; `waits` has how long readers waited for each device.
    pub(super) fn end_epoch(&mut self, waits: impl Iterator<Item = u64>) {
        self.distances.end_epoch(MEMORY);
        self.prospects.end_epoch(waits);
    }

    /// The worth of a block to a partition of `size`; `None` as long as nothing is known.
    pub(super) fn prospect(&self, device: usize, size: u32) -> Option<Prospect> {
        self.prospects.of(device, size, &self.distances, self.loops)
    }

    /// A frame is to be given up. Returns whether it is time to [`look`](Self::look) first.
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.due == 0;
        self.due = if is_due { self.frames / LOOKS } else { self.due - 1 };
        is_due
    }

    /// Looks at curves and costs of blocks again. `devices` has the counts of each.
    pub(super) fn look(&mut self, devices: impl Iterator<Item = Counts> + Clone) {
        self.costs.look(devices.clone());
        for (device, worth) in self.of.iter_mut().enumerate() {
            worth.hits = self.distances.hits(device);
            worth.references = (self.distances.references(device) + 1) * u64::from(ONE);
            if self.loops {
                straighten(&mut worth.hits);
            }
        }
        for (device, counts) in devices.enumerate() {
            self.weigh(device, counts.held);
        }
    }

    /// The partition whose frames are worth least, of those that have any to give, for a block of
    /// `taker`.
    pub(super) fn least(&mut self, taker: usize, held: impl Fn(usize) -> u32) -> Option<usize> {
        // The others hold as many as before.
        for device in [taker, self.last] {
            self.weigh(device, held(device));
        }
        let left = |device: usize| if self.of[device].asked > 0 { self.left } else { 0 };
        let gives = |&device: &usize| held(device) > left(device);
        self.last = (0..self.of.len()).filter(gives).min_by_key(|&device| self.of[device].worth)?;
        Some(self.last)
    }

    fn weigh(&mut self, device: usize, held: u32) {
        if let Some(worth) = self.of.get_mut(device) {
            worth.worth = worth.of(held, self.frames, self.costs.of(device));
        }
    }

    /// The bytes that it takes.
    pub(super) fn footprint(&self) -> usize {
        self.of.capacity() * size_of::<Worth>()
            + self.distances.footprint()
            + self.costs.footprint()
            + self.prospects.footprint()
    }
}

impl Worth {
    /// The worth of each of `held` frames, if a block costs `cost`.
    fn of(&self, held: u32, frames: u32, cost: BlockCost) -> u128 {
        let half = held / 2;
        let saves = self.hits(held, frames) - self.hits(half, frames) + UNSEEN * u64::from(ONE);
        // The cost of a block as soon as queues are as long as these frames make them.
        let misses = |held: u32| u128::from(self.references - self.hits(held, frames).min(self.references - 1));
        let then = cost.held.unwrap_or(held);
        let cost = (0..QUEUE).fold(u128::from(cost.nanoseconds.max(1)), |cost, _| cost * misses(held) / misses(then));
        let saved = u128::from(saves) * u128::from(self.asked + 1) * cost;
        (saved << 8) / (u128::from(self.references) * u128::from((held - half).max(1)))
    }

    /// Hits of this many frames.
    fn hits(&self, held: u32, frames: u32) -> u64 {
        let place = u64::from(held.min(frames)) * u64::from(PARTS);
        let (whole, rest) = ((place / u64::from(frames)) as usize, place % u64::from(frames));
        let (below, above) = (self.hits[whole], self.hits[(whole + 1).min(PARTS as usize)]);
        below + (above - below) * rest / u64::from(frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::FileId;

    /// Two devices, a cache of 128. References to `sets` blocks of each at random; each device
    /// holds `held` of them, and a block of it costs `costs`.
    fn worths(sets: [u32; 2], held: [u32; 2], costs: [u64; 2]) -> Worths {
        let mut worths = Worths::new(2, 128, false);
        let mut state = 1u64;
        for nth in 0..4000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let device = nth % 2;
            worths.referenced(device, BlockKey::new(FileId(device as u32), (state >> 33) as u32 % sets[device]));
        }
        for unkept in (10..=1000).step_by(10) {
            (0..2).for_each(|device| worths.waited(device, costs[device] * 10));
            worths.look(held.into_iter().map(|held| Counts { held, unkept }));
        }
        worths
    }

    fn gives(worths: &mut Worths, held: [u32; 2]) -> Option<usize> {
        worths.least(0, |device| held[device])
    }

    #[test]
    fn who_waits_less_for_the_same_gives() {
        assert_eq!(gives(&mut worths([100, 100], [64, 64], [1000, 4000]), [64, 64]), Some(0));
        assert_eq!(gives(&mut worths([100, 100], [64, 64], [4000, 1000]), [64, 64]), Some(1));
    }

    /// A slow device, whose blocks do not come again, has nothing to lose but the frames that it
    /// keeps as long as it is read.
    #[test]
    fn who_has_no_reuse_gives_whatever_it_costs() {
        let mut worths = worths([1_000_000, 200], [64, 64], [2000, 1000]);
        assert_eq!(gives(&mut worths, [64, 64]), Some(0));
        assert_eq!(gives(&mut worths, [4, 124]), Some(1), "a sixteenth of an equal share is left");
        assert_eq!(gives(&mut worths, [4, 4]), None);
        worths.of[0].asked = 0;
        assert_eq!(gives(&mut worths, [4, 124]), Some(0));
    }

    /// A block cost four times as much when the device held 32 frames. With 96 it is missed half as
    /// often, and costs a quarter as much soon, if it does not yet.
    #[test]
    fn what_was_given_counts_before_it_is_felt() {
        let worths = worths([110, 110], [32, 96], [4000, 1000]);
        let of = |held| worths.of[0].of(held, 128, worths.costs.of(0));
        assert!(of(32) > 3 * of(96), "{} {}", of(32), of(96));
    }

    /// No device was asked, and none has a frame.
    #[test]
    fn nothing_is_known_at_first() {
        let mut worths = Worths::new(2, 128, false);
        assert_eq!([gives(&mut worths, [0, 0]), gives(&mut worths, [0, 8])], [None, Some(1)]);
    }
}

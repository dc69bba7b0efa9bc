//! The waiting that a block more would save, and a block fewer would cost, in each second. This is
//! only shown; [`Worths`](super::worths::Worths) decides which partition gives up a frame.
//!
//! [`Distances`] knows the hits that a partition would have with more frames, or fewer, and the
//! last epochs tell the cost of a miss there.
//!
//! ```text
//!   hits │            ____ b     gain: the steepest way up from the size, over at least a 32nd
//!        │      _____╱                 of the cache: also what a loop would gain that does not fit
//!        │   a ╱                 loss: the way down over a 32nd of the cache
//!        └────────size──────▶
//! ```

use alloc::vec::Vec;

use super::distances::{Distances, aged};
use super::hull::straighten;
use crate::share::Prospect;
use crate::types::Instant;

/// The part of the cache over which a loss is measured, and a gain at least: less is too little to
/// tell from chance.
const PART: u32 = 32;

/// How many epochs of waits and misses are remembered.
pub(super) const MEMORY: u64 = 8;

/// The figures of the last epochs, of which each weighs seven eighths of the next one.
#[derive(Clone, Debug)]
pub(super) struct Prospects {
    frames: u32,
    /// When the one under way began, and how long the last ones took, nanoseconds.
    began: Instant,
    lasted: u64,
    of: Vec<Recent>,
}

/// The figures of a device.
#[derive(Clone, Copy, Default, Debug)]
struct Recent {
    /// References to blocks that readers had to wait for, since the beginning; in the latest epoch;
    /// and in the last ones.
    counted: u64,
    latest: u64,
    missed: u64,
    /// For how long they waited in the last ones, nanoseconds.
    waited: u64,
}

impl Prospects {
    /// For `devices` partitions of a cache of `frames`.
    pub(super) fn new(devices: usize, frames: u32) -> Prospects {
        Prospects { frames, began: Instant(0), lasted: 0, of: alloc::vec![Recent::default(); devices] }
    }

    /// The epoch under way will have taken until now. `missed` has the references of each device
    /// that readers had to wait for since the beginning.
    pub(super) fn count(&mut self, now: Instant, missed: impl Iterator<Item = u64>) {
        let took = now.since(core::mem::replace(&mut self.began, now));
        self.lasted = aged(self.lasted, MEMORY).saturating_add(took);
        for (recent, missed) in self.of.iter_mut().zip(missed) {
            recent.latest = missed.saturating_sub(core::mem::replace(&mut recent.counted, missed));
        }
    }

    /// An epoch is over; `waits` has how long readers waited for each device.
    pub(super) fn end_epoch(&mut self, waits: impl Iterator<Item = u64>) {
        for (recent, wait) in self.of.iter_mut().zip(waits) {
            recent.missed = aged(recent.missed, MEMORY).saturating_add(recent.latest);
            recent.waited = aged(recent.waited, MEMORY).saturating_add(wait);
        }
    }

    /// The worth of a block to a partition of `size`; `None` as long as no epoch is over. With
    /// `loops`, these have partitions of their own.
    pub(super) fn of(&self, device: usize, size: u32, distances: &Distances, loops: bool) -> Option<Prospect> {
        let recent = self.of.get(device).filter(|_| self.lasted > 0)?;
        let curve = Curve::of(distances, device, self.frames, loops);
        let references = distances.references(device);
        let lately = u128::from(distances.lately(device, references));
        // The waiting in each second, by the last epochs, that `sampled` hits of the sample save
        // for each of the `blocks` that bring them.
        let a_second = |sampled: u64, blocks: u32| {
            let hits = u128::from(sampled) * lately / u128::from(references.max(1));
            let waited =
                hits * u128::from(recent.waited) / u128::from(recent.missed.max(1)) / u128::from(blocks.max(1));
            u64::try_from(waited.saturating_mul(1_000_000_000) / u128::from(self.lasted)).unwrap_or(u64::MAX)
        };
        // A count varies by its root: a gain is certain up to that, and a loss possible.
        let hits = curve.at(size);
        let gain = |more: u32| {
            let gained = curve.at(size + more) - hits;
            a_second(gained - gained.isqrt(), more)
        };
        let steps = (1..=PART).map(|step| step * curve.part);
        let steps = steps.filter(|more| size.saturating_add(*more) <= self.frames);
        let fewer = size.saturating_sub(curve.part);
        let lost = hits - curve.at(fewer);
        Some(Prospect { gain: steps.map(gain).max().unwrap_or(0), loss: a_second(lost + lost.isqrt(), size - fewer) })
    }

    /// The bytes that it takes.
    pub(super) fn footprint(&self) -> usize {
        self.of.capacity() * size_of::<Recent>()
    }
}

/// A device's hits by size, in the sample, at multiples of a part.
struct Curve {
    part: u32,
    hits: [u64; PART as usize + 1],
}

impl Curve {
    /// The curve of a device, in a cache of `frames`. With `loops` its concave hull.
    fn of(distances: &Distances, device: usize, frames: u32, loops: bool) -> Curve {
        let part = (frames / PART).max(1);
        let served = distances.served(device);
        let mut hits = core::array::from_fn(|step| served(step as u32 * part));
        if loops {
            straighten(&mut hits);
        }
        Curve { part, hits }
    }

    /// The hits of a partition of `size`.
    fn at(&self, size: u32) -> u64 {
        let (step, rest) = ((size / self.part) as usize, size % self.part);
        match (self.hits.get(step), self.hits.get(step + 1)) {
            (Some(&below), Some(&above)) => below + (above - below) * u64::from(rest) / u64::from(self.part),
            _ => self.hits[PART as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{BlockKey, FileId};

    /// A loop over 64 blocks in a cache of 128: under LRU no hit with 63 frames, and 64 with as
    /// many; held in a partition, a hit a frame.
    fn looping() -> Distances {
        let mut distances = Distances::new(1, 128, 1);
        (0..640).for_each(|nth| _ = distances.referenced(0, BlockKey::new(FileId(1), nth % 64)));
        distances.end_epoch(MEMORY);
        distances
    }

    #[test]
    fn a_loop_in_its_partition_is_worth_as_much_as_it_has() {
        let distances = looping();
        let hull = Curve::of(&distances, 0, 128, true);
        let served = distances.served(0);
        let all = served(128);
        assert_eq!([0, 63, 64].map(served), [0, 0, all]);
        assert_eq!([0, 16, 32, 48, 64, 128].map(|size| hull.at(size)), [0, all / 4, all / 2, all * 3 / 4, all, all]);
        assert_eq!(hull.at(34), all / 2 + all / 32);
    }

    /// Half of the loop is there. LRU would lose nothing by a page, and gain by no fewer than 32.
    #[test]
    fn so_it_is_not_shown_as_worthless() {
        let distances = looping();
        let mut prospects = Prospects::new(1, 128);
        assert_eq!(prospects.of(0, 32, &distances, true), None, "no epoch is over");
        prospects.count(Instant(1_000_000_000), [1000].into_iter());
        prospects.end_epoch([1_000_000].into_iter());
        let [lru, amp] = [false, true].map(|loops| prospects.of(0, 32, &distances, loops).unwrap());
        assert!(lru.loss == 0 && lru.gain > 0 && amp.loss > 0, "{lru:?} {amp:?}");
        assert!(
            amp.gain > 0 && amp.gain <= amp.loss,
            "a page more gains what a page fewer loses, less what is chance: {amp:?}"
        );
        assert_eq!(prospects.of(1, 32, &distances, true), None, "there is no such device");
    }
}

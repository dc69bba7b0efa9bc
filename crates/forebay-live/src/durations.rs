//! How long things took: a histogram that many threads add to.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The upper bounds of the buckets, in nanoseconds: 100 µs to 30 s.
pub const BOUNDS: [u64; 17] = [
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
];

/// A histogram of durations, all over at some time.
#[derive(Debug, Default)]
pub(crate) struct Durations {
    /// By bucket, those beyond all bounds last.
    counts: [AtomicU64; BOUNDS.len() + 1],
    /// Nanoseconds in all.
    sum: AtomicU64,
}

/// A histogram of durations at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    /// By bucket of [`BOUNDS`], those beyond all bounds last.
    pub counts: [u64; BOUNDS.len() + 1],
    /// Nanoseconds in all.
    pub sum: u64,
}

impl Durations {
    pub(crate) fn add(&self, nanoseconds: u64) {
        let bucket = BOUNDS.partition_point(|&bound| bound < nanoseconds);
        self.counts[bucket].fetch_add(1, Relaxed);
        self.sum.fetch_add(nanoseconds, Relaxed);
    }

    pub(crate) fn read(&self) -> Histogram {
        Histogram { counts: self.counts.each_ref().map(|count| count.load(Relaxed)), sum: self.sum.load(Relaxed) }
    }
}

impl Histogram {
    /// How many durations there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

impl std::ops::AddAssign<&Histogram> for Histogram {
    fn add_assign(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.sum += other.sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_is_in_the_first_bucket_that_holds_it() {
        let durations = Durations::default();
        for nanoseconds in [0, 100_000, 100_001, 30_000_000_000, 30_000_000_001, u64::MAX / 8] {
            durations.add(nanoseconds);
        }
        let mut seen = durations.read();
        assert_eq!((seen.counts[0], seen.counts[1], seen.counts[16], seen.counts[17]), (2, 1, 1, 2));
        assert_eq!(seen.count(), 6);
        let twice = seen;
        seen += &twice;
        assert_eq!(seen.count(), 12);
    }
}

//! A histogram of response times: fine, and of fixed size.

use std::fmt;

/// Each power of two is cut into so many parts: a quantile is at most 1/128 off.
const PARTS: u32 = 128;
const SHIFT: u32 = PARTS.trailing_zeros();

/// A histogram of times in nanoseconds. Its size is fixed; the mean is exact, quantiles are at most
/// 0.8 % off.
#[derive(Clone, PartialEq, Eq)]
pub struct Times {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
}

impl Default for Times {
    fn default() -> Times {
        Times { counts: vec![0; Self::place(u64::MAX) + 1], count: 0, sum: 0 }
    }
}

impl Times {
    /// The bucket of a value: the value itself below `PARTS`, then `PARTS` buckets for every power
    /// of two.
    fn place(nanos: u64) -> usize {
        let power = (nanos | 1).ilog2().saturating_sub(SHIFT);
        (power * PARTS) as usize + (nanos >> power) as usize
    }

    /// The middle of a bucket.
    fn middle(place: usize) -> f64 {
        let power = (place as u32 / PARTS).saturating_sub(1);
        let low = ((place as u32 - power * PARTS) as f64) * f64::from(power).exp2();
        low + (f64::from(power).exp2() - 1.0) / 2.0
    }

    /// Another one.
    pub fn add(&mut self, nanos: u64) {
        self.counts[Self::place(nanos)] += 1;
        self.count += 1;
        self.sum += u128::from(nanos);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.count, self.sum) = (0, 0);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean, nanoseconds; zero if there is none.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The time that `share` (0 to 1) of them do not exceed, nanoseconds; zero if there is none.
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = ((share * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.counts.iter().position(|&count| {
            seen += count;
            seen >= wanted
        });
        found.map_or(0.0, Self::middle)
    }
}

impl fmt::Debug for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} times, mean {} ns", self.count, self.mean())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the sorted list.
        #[test]
        fn quantiles_are_within_a_bucket(
            mut times in proptest::collection::vec((0u32..64, any::<u64>()).prop_map(|(s, x)| x >> s), 1..200),
            share in 0.0f64..=1.0,
        ) {
            let mut histogram = Times::default();
            times.iter().for_each(|&nanos| histogram.add(nanos));
            times.sort_unstable();
            let exact = times[((share * times.len() as f64).ceil() as usize).max(1) - 1] as f64;
            let got = histogram.quantile(share);
            prop_assert!((got - exact).abs() <= exact / 128.0, "{} for {}", got, exact);
            let mean = times.iter().map(|&nanos| nanos as f64).sum::<f64>() / times.len() as f64;
            prop_assert!((histogram.mean() - mean).abs() <= mean * 1e-9);
        }
    }
}

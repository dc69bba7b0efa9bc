//! Histograms: of response times, fine and of fixed size, and of request sizes, in powers of two.

/// Each power of two is cut into so many parts: a quantile is at most 1/128 off.
const PARTS: u32 = 128;
const SHIFT: u32 = PARTS.trailing_zeros();

/// A histogram of times in nanoseconds. Its size is fixed; the mean is exact, quantiles are at most 0.8 % off.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// The bucket of a value: the value itself below `PARTS`, then `PARTS` buckets for every power of two.
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

    /// What `share` (0 to 1) of them do not exceed, nanoseconds; zero if there is none.
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

/// A histogram of sizes in bytes, by powers of two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sizes {
    counts: [u64; 64],
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { counts: [0; 64] }
    }
}

impl Sizes {
    /// Another one.
    pub fn add(&mut self, bytes: u64) {
        self.counts[(bytes | 1).ilog2() as usize] += 1;
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// The buckets that are not empty: (least size, how many), the size being less than twice the least.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(power, &count)| (1 << power, count))
    }
}

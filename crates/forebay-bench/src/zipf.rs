//! Zipf's references, for replays.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// The popularity of blocks of rank 1, 2, …: 1 / rank^s, by rejection-inversion (Hörmann and
/// Derflinger, 1996, §3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zipf {
    s: f64,
    low: f64,
    high: f64,
}

impl Zipf {
    /// A distribution of ranks 1 to `ranks`; s is above 0 and not 1.
    pub(crate) fn new(ranks: u32, s: f64) -> Zipf {
        let zipf = Zipf { s, low: 0.0, high: 0.0 };
        Zipf { low: zipf.area(1.5) - 1.0, high: zipf.area(f64::from(ranks) + 0.5), ..zipf }
    }

    /// The integral of x^-s.
    fn area(&self, x: f64) -> f64 {
        x.powf(1.0 - self.s) / (1.0 - self.s)
    }

    /// A rank, drawn.
    pub(crate) fn rank(&self, rng: &mut SmallRng) -> u32 {
        loop {
            let u = rng.random_range(self.low..self.high);
            let x = (u * (1.0 - self.s)).powf(1.0 / (1.0 - self.s));
            let rank = x.round().max(1.0);
            if u >= self.area(rank + 0.5) - rank.powf(-self.s) {
                return rank as u32;
            }
        }
    }
}

/// `count` references to blocks `0..blocks`, skewed by `s`. Lower numbers are more popular.
pub(crate) fn references(count: usize, blocks: u32, s: f64, seed: u64) -> Vec<u32> {
    let zipf = Zipf::new(blocks, s);
    let mut rng = SmallRng::seed_from_u64(seed);
    (0..count).map(|_| zipf.rank(&mut rng) - 1).collect()
}

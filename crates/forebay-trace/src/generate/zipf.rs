//! Zipf's law, by rejection-inversion (Hörmann and Derflinger, ACM TOMACS 6(3), 1996): exact for
//! any number of objects, with no table and few rejections.

use super::random::Random;

/// Ranks from 1 to n, rank k with a probability proportional to k^-alpha.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    objects: u64,
    alpha: f64,
    /// H(1.5) - h(1) and H(n + 0.5): the range of the uniform numbers.
    first: f64,
    last: f64,
    /// Within this distance a rank is accepted without a further test.
    sure: f64,
}

impl Zipf {
    /// At least one object; `alpha` from zero (uniform) on.
    pub(crate) fn new(objects: u64, alpha: f64) -> Zipf {
        let mut zipf = Zipf { objects: objects.max(1), alpha, first: 0.0, last: 0.0, sure: 0.0 };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(zipf.objects as f64 + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// A rank, counted from zero.
    #[inline]
    pub(crate) fn rank(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.last + random.fraction() * (self.first - self.last);
            let x = self.inverse(u);
            let k = (x + 0.5).floor().clamp(1.0, self.objects as f64);
            if k - x <= self.sure || u >= self.integral(k + 0.5) - self.density(k) {
                return (k as u64 - 1).min(self.objects - 1);
            }
        }
    }

    /// h(x) = x^-alpha.
    fn density(&self, x: f64) -> f64 {
        (-self.alpha * x.ln()).exp()
    }

    /// H(x), an integral of h: (x^(1 - alpha) - 1) / (1 - alpha), and ln x for alpha = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let exponent = (1.0 - self.alpha) * log;
        // Near zero (e^t - 1) / t is taken from its series, since the division loses all digits.
        let factor = if exponent.abs() > 1e-8 { exponent.exp_m1() / exponent } else { 1.0 + exponent / 2.0 };
        factor * log
    }

    /// The inverse of H.
    fn inverse(&self, y: f64) -> f64 {
        let t = (y * (1.0 - self.alpha)).max(-1.0);
        let factor = if t.abs() > 1e-8 { t.ln_1p() / t } else { 1.0 - t / 2.0 };
        (factor * y).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pearson's chi square of samples against the exact probabilities must stay below a bound that
    /// chance passes about once in ten thousand seeds; the seeds are fixed.
    #[test]
    fn ranks_are_as_frequent_as_the_law_says() {
        for (objects, alpha) in [(1u64, 0.9), (2, 0.5), (20, 0.0), (20, 0.7), (20, 1.0), (20, 1.3), (50, 2.5)] {
            let zipf = Zipf::new(objects, alpha);
            let mut random = Random::new(7);
            const SAMPLES: u64 = 200_000;
            let mut counts = vec![0u64; objects as usize];
            for _ in 0..SAMPLES {
                counts[zipf.rank(&mut random) as usize] += 1;
            }
            let weights: Vec<f64> = (1..=objects).map(|k| (k as f64).powf(-alpha)).collect();
            let sum: f64 = weights.iter().sum();
            let square: f64 = counts
                .iter()
                .zip(&weights)
                .map(|(&count, weight)| {
                    let expected = weight / sum * SAMPLES as f64;
                    (count as f64 - expected).powi(2) / expected
                })
                .sum();
            let freedom = (objects - 1) as f64;
            assert!(square <= freedom + 4.0 * (2.0 * freedom).sqrt() + 8.0, "{objects} {alpha}: {square}");
        }
    }

    #[test]
    fn many_objects_are_no_trouble() {
        for alpha in [0.0, 0.9, 1.0, 1.5] {
            let zipf = Zipf::new(1 << 50, alpha);
            let mut random = Random::new(1);
            assert!((0..10_000).map(|_| zipf.rank(&mut random)).all(|rank| rank < 1 << 50));
        }
    }
}

//! The time to the first byte of devices that have nothing to turn.

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// The time to the first byte: log-normal with this median and this 99th percentile; constant if no
/// percentile is given.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstByte {
    /// Milliseconds that half of the requests stay below.
    pub median_ms: f64,
    /// Milliseconds that 99 of 100 stay below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
}

/// The 99th percentile of the standard normal distribution.
const Z99: f64 = 2.326_347_874;

/// A distribution of times, nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Latency {
    median: f64,
    /// The standard deviation of the logarithm; zero is constant.
    sigma: f64,
}

impl Latency {
    /// With this median and 99th percentile, milliseconds; `None` if they are impossible.
    pub(crate) fn new(median_ms: f64, p99_ms: Option<f64>) -> Option<Latency> {
        let fine = median_ms.is_finite() && median_ms >= 0.0;
        if !fine || p99_ms.is_some_and(|p99| !p99.is_finite() || p99 < median_ms) {
            return None;
        }
        let sigma = p99_ms.filter(|_| median_ms > 0.0).map_or(0.0, |p99| (p99 / median_ms).ln() / Z99);
        Some(Latency { median: median_ms * 1e6, sigma })
    }

    /// One time; a constant one takes no random number.
    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        if self.sigma == 0.0 { self.median } else { self.at(random.normal()) }
    }

    /// The time `z` standard deviations of its logarithm above the median.
    fn at(&self, z: f64) -> f64 {
        self.median * (self.sigma * z).exp()
    }

    /// Half of the times are below.
    pub(crate) fn median(&self) -> f64 {
        self.median
    }
}

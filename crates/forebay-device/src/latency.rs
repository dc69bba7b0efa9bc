//! The time to the first byte of devices that have nothing to turn.

use serde::{Deserialize, Serialize};

use crate::curve::{Point, interpolate};
use crate::random::Random;

/// The time to the first byte: log-normal with this median and this 99th percentile, constant if no
/// percentile is given; or measured quantiles.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstByte {
    /// Milliseconds that half of the requests stay below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_ms: Option<f64>,
    /// Milliseconds that 99 of 100 stay below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// Measured points (share of the requests, ms that they stay below), ascending; straight lines
    /// between, level outside. Instead of the two above, whose tail is thinner than a measured one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<Point>,
    /// A request that is slow to answer is asked again; absent: it is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
}

/// A client that calls a slow request off and asks again, as AWS advises ("Timeouts and retries for
/// latency-sensitive applications", in "Best practices design patterns: optimizing Amazon S3
/// performance"). The second answer takes a time of its own.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Milliseconds without a first byte after which the request is asked again; each further time
    /// twice as long as the time before.
    pub after_ms: f64,
    /// How often it is asked again at the most. The last answer is waited for.
    #[serde(default = "once")]
    pub times: u32,
}

fn once() -> u32 {
    1
}

/// More are beyond any use, and doubled as often, a time is no number.
const MOST_RETRIES: u32 = 16;

/// The 99th percentile of the standard normal distribution.
const Z99: f64 = 2.326_347_874;

/// A distribution of times, nanoseconds.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Latency {
    /// Log-normal. `sigma` is the standard deviation of the logarithm; zero is constant.
    Normal { median: f64, sigma: f64 },
    /// Milliseconds by share.
    Measured(Vec<Point>),
}

impl Latency {
    /// With this median and 99th percentile, milliseconds; `None` if they are impossible.
    pub(crate) fn new(median_ms: f64, p99_ms: Option<f64>) -> Option<Latency> {
        let fine = median_ms.is_finite() && median_ms >= 0.0;
        if !fine || p99_ms.is_some_and(|p99| !p99.is_finite() || p99 < median_ms) {
            return None;
        }
        let sigma = p99_ms.filter(|_| median_ms > 0.0).map_or(0.0, |p99| (p99 / median_ms).ln() / Z99);
        Some(Latency::Normal { median: median_ms * 1e6, sigma })
    }

    /// With these quantiles; `None` if they are none or impossible.
    fn measured(quantiles: &[Point]) -> Option<Latency> {
        let possible = |point: &Point| (0.0..=1.0).contains(&point.at) && point.value.is_finite() && point.value >= 0.0;
        let ascend = quantiles.is_sorted_by(|a, b| a.at < b.at && a.value <= b.value);
        let fine = !quantiles.is_empty() && quantiles.iter().all(possible) && ascend;
        fine.then(|| Latency::Measured(quantiles.to_vec()))
    }

    /// One time; a constant one takes no random number.
    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        match self {
            Latency::Normal { median, sigma: 0.0 } => *median,
            Latency::Normal { median, sigma } => median * (sigma * random.normal()).exp(),
            Latency::Measured(points) => interpolate(points, random.unit()) * 1e6,
        }
    }

    /// Half of the times are below.
    pub(crate) fn median(&self) -> f64 {
        match self {
            Latency::Normal { median, .. } => *median,
            Latency::Measured(points) => interpolate(points, 0.5) * 1e6,
        }
    }
}

/// The time to a first byte as a model draws it.
#[derive(Clone, Debug)]
pub(crate) struct FirstByteTime {
    one: Latency,
    retry: Option<Retry>,
}

impl FirstByteTime {
    /// Of a description; or the fault in it.
    pub(crate) fn new(described: &FirstByte) -> Result<FirstByteTime, &'static str> {
        let one = match (described.median_ms, described.p99_ms, described.quantiles.as_slice()) {
            (Some(median), p99, []) => {
                Latency::new(median, p99).ok_or("`first_byte` needs 0 ≤ `median_ms` ≤ `p99_ms`")?
            }
            (None, None, quantiles) if !quantiles.is_empty() => Latency::measured(quantiles)
                .ok_or("`first_byte.quantiles` must ascend: shares of 0 to 1, and times from 0 that never fall")?,
            _ => return Err("`first_byte` needs `median_ms`, or `quantiles` and neither `median_ms` nor `p99_ms`"),
        };
        let possible = |retry: Retry| {
            retry.after_ms.is_finite() && retry.after_ms > 0.0 && (1..=MOST_RETRIES).contains(&retry.times)
        };
        match described.retry.is_none_or(possible) {
            true => Ok(FirstByteTime { one, retry: described.retry }),
            false => Err("`first_byte.retry` needs a positive `after_ms`, and `times` of 1 to 16"),
        }
    }

    /// One time.
    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        let mut waited = 0.0;
        if let Some(retry) = self.retry {
            let mut patience = retry.after_ms * 1e6;
            for _ in 0..retry.times {
                let time = self.one.draw(random);
                if time <= patience {
                    return waited + time;
                }
                waited += patience;
                patience *= 2.0;
            }
        }
        waited + self.one.draw(random)
    }

    /// Half of the answers are there by then, repeated ones aside.
    pub(crate) fn median(&self) -> f64 {
        self.one.median()
    }
}

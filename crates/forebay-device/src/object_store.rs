//! An object store: a time to the first byte that varies, a rate on each connection, a bound on connections and on all of
//! them together.

use forebay_core::{DeviceCost, Instant};
use serde::{Deserialize, Serialize};

use crate::pipe::Pipe;
use crate::random::Random;
use crate::{Model, Request};

/// An object store as it is written in a description.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// How long until the first byte.
    pub first_byte: FirstByte,
    /// Megabytes (10⁶) a second on one connection.
    pub rate_mb_s: f64,
    /// Requests served at once; more wait.
    pub connections: u32,
    /// Megabytes a second on all connections together; absent: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_mb_s: Option<f64>,
}

/// The time to the first byte: log-normal with this median and this 99th percentile, or constant without the latter.
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

/// The model of an object store.
#[derive(Clone, Debug)]
pub struct ObjectStore {
    /// Nanoseconds.
    median: f64,
    /// Of the logarithm; zero is constant.
    sigma: f64,
    /// Bytes a second.
    rate: f64,
    connections: u32,
    effective_channels: u32,
    pipe: Pipe,
    random: Random,
}

impl ObjectStore {
    /// The store of a description, its latencies fixed by `seed`; or what is wrong with the description.
    pub fn new(description: &Description, seed: u64) -> Result<ObjectStore, &'static str> {
        let d = description;
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if !positive(d.rate_mb_s) || d.connections == 0 || !d.total_mb_s.is_none_or(positive) {
            return Err("`rate_mb_s`, `connections` and `total_mb_s` must be positive");
        }
        let FirstByte { median_ms, p99_ms } = d.first_byte;
        if !median_ms.is_finite() || median_ms < 0.0 || p99_ms.is_some_and(|p99| !p99.is_finite() || p99 < median_ms) {
            return Err("`first_byte` needs 0 ≤ `median_ms` ≤ `p99_ms`");
        }
        let sigma = p99_ms.filter(|_| median_ms > 0.0).map_or(0.0, |p99| (p99 / median_ms).ln() / Z99);
        Ok(ObjectStore {
            median: median_ms * 1e6,
            sigma,
            rate: d.rate_mb_s * 1e6,
            connections: d.connections,
            effective_channels: sharing(d.connections, d.rate_mb_s, d.total_mb_s),
            pipe: Pipe::new(d.total_mb_s),
            random: Random::new(seed),
        })
    }
}

/// How many of `channels` get their full `rate` out of `total`.
pub(crate) fn sharing(channels: u32, rate: f64, total: Option<f64>) -> u32 {
    total.map_or(channels, |total| channels.min((total / rate).round().max(1.0) as u32))
}

impl Model for ObjectStore {
    fn serve(&mut self, at: Instant, request: Request) -> Instant {
        let first =
            if self.sigma == 0.0 { self.median } else { self.median * (self.sigma * self.random.normal()).exp() };
        let start = at.0 as f64;
        let own = start + first + request.len as f64 * 1e9 / self.rate;
        Instant(own.max(self.pipe.book(start, request.len)).ceil() as u64)
    }

    fn channels(&self) -> u32 {
        self.connections
    }

    fn capacity(&self) -> u64 {
        0
    }

    fn cost(&self) -> DeviceCost {
        DeviceCost::flat(self.median as u64, self.rate as u64, self.effective_channels)
    }
}

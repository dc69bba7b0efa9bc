//! A flash drive, simply: a constant latency, a rate for one request, several requests at once, a rate for all together.
//! No garbage collection, no cache, no writes.

use forebay_core::{DeviceCost, Instant};
use serde::{Deserialize, Serialize};

use crate::object_store::sharing;
use crate::pipe::Pipe;
use crate::{Model, Request};

/// A flash drive as it is written in a description.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Gigabytes (10⁹).
    pub capacity_gb: f64,
    /// Milliseconds until the first byte.
    pub latency_ms: f64,
    /// Megabytes (10⁶) a second for one request.
    pub rate_mb_s: f64,
    /// Requests served at once.
    pub channels: u32,
    /// Megabytes a second for all together; absent: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_mb_s: Option<f64>,
}

/// The model of a flash drive.
#[derive(Clone, Debug)]
pub struct Ssd {
    capacity: u64,
    latency: f64,
    /// Bytes a second.
    rate: f64,
    channels: u32,
    effective_channels: u32,
    pipe: Pipe,
}

impl Ssd {
    /// The drive of a description; or what is wrong with the description.
    pub fn new(description: &Description) -> Result<Ssd, &'static str> {
        let d = description;
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if !positive(d.capacity_gb) || !positive(d.rate_mb_s) || d.channels == 0 || !d.total_mb_s.is_none_or(positive) {
            return Err("`capacity_gb`, `rate_mb_s`, `channels` and `total_mb_s` must be positive");
        }
        if !d.latency_ms.is_finite() || d.latency_ms < 0.0 {
            return Err("`latency_ms` must be finite and not negative");
        }
        Ok(Ssd {
            capacity: (d.capacity_gb * 1e9) as u64,
            latency: d.latency_ms * 1e6,
            rate: d.rate_mb_s * 1e6,
            channels: d.channels,
            effective_channels: sharing(d.channels, d.rate_mb_s, d.total_mb_s),
            pipe: Pipe::new(d.total_mb_s),
        })
    }
}

impl Model for Ssd {
    fn serve(&mut self, at: Instant, request: Request) -> Instant {
        let start = at.0 as f64;
        let own = start + self.latency + request.len as f64 * 1e9 / self.rate;
        Instant(own.max(self.pipe.book(start, request.len)).ceil() as u64)
    }

    fn channels(&self) -> u32 {
        self.channels
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn cost(&self) -> DeviceCost {
        DeviceCost::flat(self.latency as u64, self.rate as u64, self.effective_channels)
    }
}

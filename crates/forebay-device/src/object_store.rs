//! An object store: a time to the first byte that varies, a rate for each connection, a limit on
//! connections, and a limit on the rate of all together.

use forebay_core::{DeviceCost, Instant};
use serde::{Deserialize, Serialize};

use crate::latency::{FirstByte, FirstByteTime};
use crate::pipe::{Pipe, sharing};
use crate::random::Random;
use crate::{Model, Request, moment};

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

/// The model of an object store.
#[derive(Clone, Debug)]
pub struct ObjectStore {
    first_byte: FirstByteTime,
    /// Bytes a second.
    rate: f64,
    connections: u32,
    effective_channels: u32,
    pipe: Pipe,
    random: Random,
}

impl ObjectStore {
    /// The store of a description, its latencies fixed by `seed`; or the fault in the
    /// description.
    pub fn new(description: &Description, seed: u64) -> Result<ObjectStore, &'static str> {
        let d = description;
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if !positive(d.rate_mb_s) || d.connections == 0 || !d.total_mb_s.is_none_or(positive) {
            return Err("`rate_mb_s`, `connections` and `total_mb_s` must be positive");
        }
        Ok(ObjectStore {
            first_byte: FirstByteTime::new(&d.first_byte)?,
            rate: d.rate_mb_s * 1e6,
            connections: d.connections,
            effective_channels: sharing(d.connections, d.rate_mb_s, d.total_mb_s),
            pipe: Pipe::new(d.total_mb_s),
            random: Random::new(seed),
        })
    }
}

impl Model for ObjectStore {
    fn serve(&mut self, at: Instant, request: Request) -> Instant {
        let first = self.first_byte.draw(&mut self.random);
        let start = at.0 as f64;
        let own = start + first + request.len as f64 * 1e9 / self.rate;
        moment(own.max(self.pipe.book(start, request.len)), at)
    }

    fn channels(&self) -> u32 {
        self.connections
    }

    fn capacity(&self) -> u64 {
        0
    }

    fn cost(&self) -> DeviceCost {
        DeviceCost::flat(self.first_byte.median() as u64, self.rate as u64, self.effective_channels)
    }
}

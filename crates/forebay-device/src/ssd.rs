//! A flash drive: a latency that varies, a rate for one request, several requests at once, a rate
//! for all together; for writes other ones. Whole pages are read and written.
//!
//! With `[model.ssd.flash]` the drive collects garbage ([`flash`]): the pages that it copies take
//! their part of the rate that all writes share, and a read may have to wait for a die that is
//! being written.
//!
//! Left out: which die a page is on (random requests meet only in the rate that all share, and
//! reads with writes by chance), garbage collection without that table other than as a rate of
//! writes that lasts, and the buffer that makes a short burst of writes quicker than that.

use forebay_core::{DeviceCost, Instant};
use serde::{Deserialize, Serialize};

use self::flash::Garbage;
use crate::latency::Latency;
use crate::pipe::{Pipe, sharing};
use crate::random::Random;
use crate::{Model, Request, moment};

pub mod flash;

/// A flash drive as it is written in a description.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Gigabytes (10⁹).
    pub capacity_gb: f64,
    /// Milliseconds until the first byte of a read, in the median.
    pub latency_ms: f64,
    /// Milliseconds that 99 of 100 reads stay below until their first byte; absent: all take the
    /// same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// Megabytes (10⁶) a second for one read.
    pub rate_mb_s: f64,
    /// Requests served at once.
    pub channels: u32,
    /// Megabytes a second for all together; absent: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_mb_s: Option<f64>,
    /// Bytes of a page, in kibibytes; absent: requests are served to the byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_kib: Option<u32>,
    /// The figures that differ for writes; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Write>,
    /// Garbage collection; absent: none. It needs `page_kib` and `write.total_mb_s`, the rate at
    /// which pages of the host and copied ones are written together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash: Option<flash::Description>,
}

/// The figures that differ for writes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// Milliseconds until a write begins to flow, in the median.
    pub latency_ms: f64,
    /// Milliseconds that 99 of 100 writes stay below until then; absent: all take the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// Megabytes a second for one write.
    pub rate_mb_s: f64,
    /// Megabytes a second for all writes together, beside the rate that all share; absent: no
    /// bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_mb_s: Option<f64>,
}

/// One direction.
#[derive(Clone, Debug)]
struct Way {
    latency: Latency,
    /// Bytes a second.
    rate: f64,
    /// The rate that the requests of this direction share.
    pipe: Pipe,
}

/// The model of a flash drive.
#[derive(Clone, Debug)]
pub struct Ssd {
    capacity: u64,
    page: u64,
    channels: u32,
    effective_channels: u32,
    read: Way,
    write: Way,
    /// The rate that all requests share.
    pipe: Pipe,
    garbage: Option<Garbage>,
    /// Nanoseconds that a read waits at the longest for a die that is being written.
    program: f64,
    random: Random,
}

impl Ssd {
    /// The drive of a description, its latencies fixed by `seed`; or the fault in the
    /// description.
    pub fn new(description: &Description, seed: u64) -> Result<Ssd, &'static str> {
        let d = description;
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if !positive(d.capacity_gb) || !positive(d.rate_mb_s) || d.channels == 0 || !d.total_mb_s.is_none_or(positive) {
            return Err("`capacity_gb`, `rate_mb_s`, `channels` and `total_mb_s` must be positive");
        }
        if d.page_kib == Some(0)
            || d.write.is_some_and(|w| !positive(w.rate_mb_s) || !w.total_mb_s.is_none_or(positive))
        {
            return Err("`page_kib` and the rates of `write` must be positive");
        }
        if let Some(flash) = d.flash {
            flash.check()?;
            if d.page_kib.is_none() || d.write.is_none_or(|w| w.total_mb_s.is_none()) {
                return Err("`flash` needs `page_kib` and `write.total_mb_s`");
            }
        }
        let latency =
            |median, p99| Latency::new(median, p99).ok_or("`latency_ms` must be finite, 0 ≤ `latency_ms` ≤ `p99_ms`");
        let read = Way { latency: latency(d.latency_ms, d.p99_ms)?, rate: d.rate_mb_s * 1e6, pipe: Pipe::new(None) };
        let write = match d.write {
            Some(w) => Way {
                latency: latency(w.latency_ms, w.p99_ms)?,
                rate: w.rate_mb_s * 1e6,
                pipe: Pipe::new(w.total_mb_s),
            },
            None => read.clone(),
        };
        let capacity = (d.capacity_gb * 1e9) as u64;
        let page = d.page_kib.map_or(1, |kib| u64::from(kib) << 10);
        Ok(Ssd {
            capacity,
            page,
            garbage: d.flash.map(|flash| Garbage::new(flash, capacity / page, seed)),
            program: d.flash.map_or(0.0, |flash| flash.program_ms * 1e6),
            channels: d.channels,
            effective_channels: sharing(d.channels, d.rate_mb_s, d.total_mb_s),
            read,
            write,
            pipe: Pipe::new(d.total_mb_s),
            random: Random::new(seed),
        })
    }

    /// Bytes that the drive writes for a write of the host.
    fn amplified(&mut self, request: Request, bytes: u64) -> u64 {
        let Some(garbage) = &mut self.garbage else { return bytes };
        let first = request.start / self.page;
        (bytes as f64 * garbage.write(first, first + bytes / self.page)) as u64
    }

    /// Bytes of the pages that a request touches.
    fn bytes(&self, request: Request) -> u64 {
        let end = request.start.saturating_add(request.len).div_ceil(self.page);
        if request.len == 0 { 0 } else { (end - request.start / self.page).saturating_mul(self.page) }
    }
}

impl Model for Ssd {
    fn serve(&mut self, at: Instant, request: Request) -> Instant {
        let (start, bytes) = (at.0 as f64, self.bytes(request));
        // Of dies that are being written for some share of the time, a read finds one with that
        // chance, and somewhere in the middle of it.
        let wait = !request.write && self.program > 0.0 && self.write.pipe.busy(start);
        let wait = if wait { self.program * self.random.unit() } else { 0.0 };
        let written = if request.write { self.amplified(request, bytes) } else { bytes };
        let way = if request.write { &mut self.write } else { &mut self.read };
        let own = start + wait + way.latency.draw(&mut self.random) + bytes as f64 * 1e9 / way.rate;
        let shared = way.pipe.book(start, written).max(self.pipe.book(start, bytes));
        moment(own.max(shared), at)
    }

    fn channels(&self) -> u32 {
        self.channels
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn cost(&self) -> DeviceCost {
        DeviceCost::flat(self.read.latency.median() as u64, self.read.rate as u64, self.effective_channels)
    }
}

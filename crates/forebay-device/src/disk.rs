//! A disk: an arm, platters that turn, and a small cache on board that goes on reading after a request.
//!
//! ```text
//!  arrival ── overhead ──▶ ready ── seek or head switch ──▶ settled ── rotation ──▶ sweep over the sectors ──▶ last one
//!                            └─ what is on board already goes straight to the bus
//! ```
//!
//! After a request the head sweeps on, until the segment is full or the next request is ready; a request that continues
//! there joins the sweep and loses no revolution. Left out, so far: sectors read out of order when the head lands in the
//! middle of a request, spare sectors and defects, writes, overlap of a command's overhead with the work before it.

use forebay_core::{DeviceCost, Instant};
use serde::{Deserialize, Serialize};

use crate::rotation::{Rotation, Spindle, Sweep, Switches};
use crate::seek_curve::SeekCurve;
use crate::segment_cache::{Cache, Segments};
use crate::zones::{Geometry, Place, SECTOR, Zones};
use crate::{Model, Request, moment};

/// A disk as it is written in a description.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Revolutions a minute.
    pub rpm: f64,
    /// Surfaces.
    pub heads: u32,
    /// Milliseconds from a request's arrival until the arm may start.
    #[serde(default)]
    pub overhead_ms: f64,
    /// Milliseconds to go to the next surface of the same cylinder.
    #[serde(default)]
    pub head_switch_ms: f64,
    /// Milliseconds to go from the last track of a cylinder to the first one of the next while reading on.
    #[serde(default)]
    pub cylinder_switch_ms: f64,
    /// Megabytes (10⁶) a second from the cache on board.
    pub bus_mb_s: f64,
    /// Commands that it accepts at once: 1, or more with tagged queueing.
    #[serde(default = "one")]
    pub commands: u32,
    /// Where the platters stand, or half a revolution each time.
    #[serde(default)]
    pub rotation: Rotation,
    /// The arm.
    pub seek: SeekCurve,
    /// The cache on board.
    #[serde(default)]
    pub cache: Cache,
    /// Where the sectors are.
    pub zones: Zones,
}

fn one() -> u32 {
    1
}

/// The longest time that a description may give, milliseconds.
pub(crate) const LONGEST_MS: f64 = 1e6;

/// The model of a disk.
#[derive(Clone, Debug)]
pub struct Disk {
    map: Geometry,
    seek: SeekCurve,
    spindle: Spindle,
    switches: Switches,
    commands: u32,
    overhead: f64,
    /// Nanoseconds a byte.
    bus: f64,
    cache: Segments,
    /// What the head is doing; its sector and time are those of the last moment that mattered.
    sweep: Sweep,
}

impl Disk {
    /// The disk of a description, its arm at the rim; or what is wrong with the description.
    pub fn new(description: &Description) -> Result<Disk, &'static str> {
        let d = description;
        // Beyond these bounds is no disk, and arithmetic that nobody wants.
        if !(1.0..=1e6).contains(&d.rpm) || !(1e-3..=1e6).contains(&d.bus_mb_s) {
            return Err("`rpm` must be 1 to 1,000,000, `bus_mb_s` 0.001 to 1,000,000");
        }
        if ![d.overhead_ms, d.head_switch_ms, d.cylinder_switch_ms].iter().all(|ms| (0.0..=LONGEST_MS).contains(ms)) {
            return Err("times must be 0 to 1,000,000 ms");
        }
        d.seek.check()?;
        let revolution = 60e9 / d.rpm;
        let switches = Switches { head: d.head_switch_ms * 1e6, cylinder: d.cylinder_switch_ms * 1e6 };
        let map = Geometry::new(&d.zones, d.heads, switches.head / revolution, switches.cylinder / revolution)?;
        Ok(Disk {
            map,
            seek: d.seek.clone(),
            spindle: Spindle { revolution, rotation: d.rotation },
            switches,
            commands: d.commands.max(1),
            overhead: d.overhead_ms * 1e6,
            bus: 1e3 / d.bus_mb_s,
            cache: Segments::new(d.cache),
            sweep: Sweep { sector: 0, at: 0.0, limit: 0 },
        })
    }

    /// Nanoseconds that the arm takes between the cylinders of two bytes.
    pub fn seek_time(&self, from: u64, to: u64) -> f64 {
        let (from, to) = (self.map.locate(from / SECTOR), self.map.locate(to / SECTOR));
        self.seek.nanos(from.cylinder.abs_diff(to.cylinder), self.map.cylinders())
    }

    /// Nanoseconds of one revolution.
    pub fn revolution(&self) -> f64 {
        self.spindle.revolution
    }

    fn advance(&self, sweep: Sweep, end: u64, until: f64) -> Sweep {
        sweep.advance(&self.map, self.spindle, self.switches, end, until)
    }

    /// When the head, free at `ready`, begins to read `sector`.
    fn position(&self, ready: f64, sector: u64) -> f64 {
        let (here, there) = (self.head(), self.map.locate(sector));
        let travel = match here.cylinder.abs_diff(there.cylinder) {
            0 if here.head == there.head => 0.0,
            0 => self.switches.head,
            distance => self.seek.nanos(distance, self.map.cylinders()),
        };
        ready + travel + self.spindle.wait(ready + travel, there.angle)
    }

    /// The track under the head: that of the last sector it read.
    fn head(&self) -> Place {
        self.map.locate(self.sweep.sector.saturating_sub(1))
    }

    /// Reads `first..end` from the media, the head being free at `ready`; the sweep stands at `end` then.
    fn read(&mut self, ready: f64, first: u64, end: u64) -> f64 {
        let begin = Sweep { sector: first, at: self.position(ready, first), limit: end };
        self.sweep = self.advance(begin, end, f64::INFINITY);
        self.cache.grow(first, end);
        self.sweep.at
    }

    /// The sectors of a request; what lies beyond the disk's end wraps to its start.
    fn sectors(&self, request: Request) -> (u64, u64) {
        let start = request.start % self.capacity();
        let end = start.saturating_add(request.len).min(self.capacity());
        (start / SECTOR, end.div_ceil(SECTOR))
    }
}

impl Model for Disk {
    fn serve(&mut self, at: Instant, request: Request) -> Instant {
        let (first, end) = self.sectors(request);
        let ready = at.0 as f64 + self.overhead;
        // The head has swept on until now.
        let before = self.sweep;
        self.sweep = self.advance(before, before.limit, ready);
        self.cache.grow(before.sector, self.sweep.sector);

        let on_board = self.cache.touch(first);
        let media = match on_board {
            Some(high) if end <= high => ready,
            Some(high) if high == self.sweep.sector && high < self.sweep.limit => {
                // It continues where the head reads: no revolution is lost.
                self.sweep = self.advance(Sweep { limit: end, ..self.sweep }, end, f64::INFINITY);
                self.cache.grow(high, end);
                self.sweep.at
            }
            Some(high) => self.read(ready, high.max(first), end),
            None => self.read(ready, first, end),
        };
        self.read_on(ready, end, on_board);
        let bus = (end - first) as f64 * SECTOR as f64 * self.bus;
        let last = SECTOR as f64 * self.bus;
        moment((media + last).max(ready + bus), at)
    }

    fn channels(&self) -> u32 {
        1
    }

    fn commands(&self) -> u32 {
        self.commands
    }

    fn capacity(&self) -> u64 {
        self.map.sectors() * SECTOR
    }

    fn cost(&self) -> DeviceCost {
        let rate = |bytes_a_turn: f64| (bytes_a_turn * 1e9 / self.spindle.revolution) as u64;
        DeviceCost {
            seek: self.seek_by_bytes(),
            half_revolution: (self.spindle.revolution / 2.0) as u64,
            zones: self.map.pace().map(|(from, pace)| (from, rate(pace))).collect(),
            capacity: self.capacity(),
            channels: 1,
        }
    }
}

impl Disk {
    /// After a request that ended at `end`: lets the head read on, unless the request was answered by an older segment.
    fn read_on(&mut self, ready: f64, end: u64, on_board: Option<u64>) {
        let limit = (end + self.cache.read_ahead()).min(self.map.sectors());
        let current = on_board.is_none_or(|high| end > high || high == self.sweep.sector);
        if !current || limit <= self.sweep.limit || self.cache.read_ahead() == 0 {
            return;
        }
        let stopped = self.sweep.sector == self.sweep.limit && self.sweep.at < ready;
        if stopped {
            // The segment was full and has room again: the head waits for its place to come round.
            self.sweep.at = self.position(ready, self.sweep.sector);
        }
        self.sweep.limit = limit;
    }

    /// f_seek against distance in bytes: for each distance, the mean over the pairs of places that lie so far apart, with
    /// the overhead. A distance in bytes spans more cylinders near the hub, which is why this is a mean.
    fn seek_by_bytes(&self) -> Vec<(u64, u64)> {
        const STARTS: u64 = 64;
        let capacity = self.capacity();
        let mean = |distance: u64| {
            let starts = (0..STARTS).map(|i| (capacity - 1 - distance) / STARTS * i);
            starts.map(|start| self.seek_time(start, start + distance)).sum::<f64>() / STARTS as f64
        };
        // Finer where the curve bends: eight points below 1 %, then every 2 %.
        let shares = (0..8).map(|i| 0.01 * 0.25_f64.powi(8 - i)).chain((0..50).map(|i| 0.01 + 0.0198 * f64::from(i)));
        let mut points = vec![(0, self.overhead as u64)];
        for share in shares {
            let distance = (share * (capacity - 1) as f64) as u64;
            if distance > points[points.len() - 1].0 {
                points.push((distance, (self.overhead + mean(distance)) as u64));
            }
        }
        points
    }
}

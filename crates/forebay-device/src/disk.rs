//! A disk: an arm, platters that turn, and a small cache on board that goes on reading after a
//! request.
//!
//! ```text
//!  arrival ── overhead ──▶ ready ── seek or head switch ──▶ settled ── rotation ──▶ sweep over the sectors ──▶ last one
//!                            └─ data on board already go straight to the bus
//! ```
//!
//! After a read the head sweeps on, until the segment is full or another place is asked for; a
//! request that continues there joins the sweep and loses no revolution. If the disk caches writes,
//! a write is done once its data are on board, and the arm is busy until they are on the media.
//! Left out: several commands on board that the disk would reorder (a queue in front of the model
//! does that), and the arm's start towards the next command before the bus is free.

use forebay_core::{DeviceCost, Instant};
use serde::{Deserialize, Serialize};

use crate::arm::{Arm, Sweep};
use crate::layout::Layout;
use crate::overheads::Overheads;
use crate::random::Random;
use crate::rotation::{Rotation, Spindle};
use crate::seek_curve::SeekCurve;
use crate::segment_cache::{Cache, Segments};
use crate::zones::{Geometry, Place, SECTOR, Zones};
use crate::{Model, Request, moment};

mod age;
mod read;
mod write;

pub(crate) use age::split_age;

/// A disk as it is written in a description.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Revolutions a minute.
    pub rpm: f64,
    /// Surfaces.
    pub heads: u32,
    /// Milliseconds from a request's arrival until the arm may start, or data on board go over the
    /// bus.
    #[serde(default = "plain_overhead_ms")]
    pub overhead_ms: f64,
    /// Milliseconds to go to another surface of the same cylinder.
    #[serde(default)]
    pub head_switch_ms: f64,
    /// Milliseconds to go from the last track of a cylinder to the first one of the next while
    /// reading on; as long as the seek, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cylinder_switch_ms: Option<f64>,
    /// Milliseconds that the arm needs in addition, after a seek or switch, before it may write;
    /// below zero, if the times above are of writes and reads take longer.
    #[serde(default)]
    pub write_settle_ms: f64,
    /// Megabytes (10⁶) a second between cache and host.
    #[serde(default = "plain_bus_mb_s")]
    pub bus_mb_s: f64,
    /// Commands that it accepts at once: 1, or more with tagged queueing.
    #[serde(default = "one")]
    pub commands: u32,
    /// Whether the platters' angle is kept, or a wait is half a revolution, or any part of one.
    #[serde(default)]
    pub rotation: Rotation,
    /// Whether a request on the cylinder of the one before it needs neither seek nor rotation, as
    /// SAC §4.1 assumes.
    #[serde(default)]
    pub sequential_cylinder: bool,
    /// The arm.
    pub seek: SeekCurve,
    /// The controller's times, by kind of request; beside `overhead_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overheads: Option<Overheads>,
    /// The cache on board.
    #[serde(default)]
    pub cache: Cache,
    /// Where the sectors are.
    #[serde(default, skip_serializing_if = "Zones::is_empty")]
    pub zones: Zones,
    /// The same with skews, spares and bad sectors; instead of `zones`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
}

fn one() -> u32 {
    1
}

/// A command's time where a description gives none.
fn plain_overhead_ms() -> f64 {
    0.5
}

/// The bus's rate where a description gives none: SCSI-2's.
fn plain_bus_mb_s() -> f64 {
    10.0
}

/// The longest time that a description may give, milliseconds.
pub(crate) const LONGEST_MS: f64 = 1e6;

/// The model of a disk.
#[derive(Clone, Debug)]
pub struct Disk {
    arm: Arm,
    commands: u32,
    overhead: f64,
    overheads: Overheads,
    /// Nanoseconds a sector.
    bus: f64,
    cache: Cache,
    segments: Segments,
    /// The head's present sweep, or its last.
    sweep: Sweep,
    /// The sector up to which it reads before anything else.
    least: u64,
    /// When the arm has written the data that it still holds of finished requests.
    busy: f64,
    /// Whether the request before this one was a write.
    was_write: bool,
}

impl Disk {
    /// The disk of a description, its arm at the rim; or the fault in the description. Random
    /// rotation begins with seed 0.
    pub fn new(description: &Description) -> Result<Disk, &'static str> {
        let d = description;
        // The limits keep the arithmetic finite; no disk lies beyond them.
        if !(1.0..=1e6).contains(&d.rpm) || !(1e-3..=1e6).contains(&d.bus_mb_s) {
            return Err("`rpm` must be 1 to 1,000,000, `bus_mb_s` 0.001 to 1,000,000");
        }
        let cylinder_switch_ms = d.cylinder_switch_ms.unwrap_or(0.0);
        let times = [d.overhead_ms, d.head_switch_ms, cylinder_switch_ms, d.write_settle_ms.abs()];
        if !times.iter().all(|ms| (0.0..=LONGEST_MS).contains(ms)) {
            return Err("times must be 0 to 1,000,000 ms");
        }
        d.seek.check()?;
        d.cache.check()?;
        let overheads = d.overheads.unwrap_or_default();
        overheads.check()?;
        let revolution = 60e9 / d.rpm;
        let (head_switch, cylinder_switch) = (d.head_switch_ms * 1e6, d.cylinder_switch_ms.map(|ms| ms * 1e6));
        let map = match &d.layout {
            Some(_) if !d.zones.is_empty() => return Err("a disk has `zones` or a `layout`, not both"),
            Some(layout) => Geometry::of(layout, d.heads)?,
            None => {
                let cylinders = d.zones.cylinders.iter().map(|&n| u64::from(n)).sum();
                let next = cylinder_switch.unwrap_or_else(|| d.seek.nanos(1, cylinders).max(head_switch));
                Geometry::new(&d.zones, d.heads, head_switch / revolution, next / revolution)?
            }
        };
        let spindle = Spindle { revolution, rotation: d.rotation, random: Random::new(0) };
        let (seek, settle) = (d.seek.clone(), d.write_settle_ms * 1e6);
        let sequential_cylinder = d.sequential_cylinder;
        Ok(Disk {
            arm: Arm { map, spindle, seek, head_switch, cylinder_switch, settle, sequential_cylinder },
            commands: d.commands.max(1),
            overhead: d.overhead_ms * 1e6,
            overheads,
            bus: 1e3 / d.bus_mb_s * SECTOR as f64,
            cache: d.cache,
            segments: Segments::new(&d.cache),
            sweep: Sweep::default(),
            least: 0,
            busy: 0.0,
            was_write: false,
        })
    }

    /// The same, with its random rotation fixed by `seed`.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Disk {
        self.arm.spindle.random = Random::new(seed);
        self
    }

    /// Nanoseconds that the arm takes between the cylinders of two bytes.
    pub fn seek_time(&self, from: u64, to: u64) -> f64 {
        let map = &self.arm.map;
        let (from, to) = (map.locate(from / SECTOR), map.locate(to / SECTOR));
        self.arm.seek.nanos(from.cylinder.abs_diff(to.cylinder), map.cylinders())
    }

    /// Nanoseconds of one revolution.
    pub fn revolution(&self) -> f64 {
        self.arm.spindle.revolution
    }

    /// The map from sectors to places.
    pub fn geometry(&self) -> &Geometry {
        &self.arm.map
    }

    /// The track under the head: that of the last sector it read or wrote.
    fn head(&self) -> Place {
        self.arm.map.locate(self.sweep.sector.saturating_sub(1))
    }

    /// Lets the head sweep on until `until`, and as far as it must.
    fn catch_up(&mut self, until: f64) {
        let before = self.sweep;
        if before.sector >= before.limit {
            return;
        }
        self.sweep = self.arm.advance(before, before.limit, until);
        if self.sweep.sector < self.least {
            self.sweep = self.arm.advance(self.sweep, self.least, f64::INFINITY);
            self.busy = self.busy.max(self.sweep.done);
        }
        self.segments.grow(before.sector, self.sweep.sector);
    }

    /// Whether the head is on its way at `at`.
    fn sweeping(&self) -> bool {
        !self.sweep.write && self.sweep.sector < self.sweep.limit
    }

    /// The sectors of a request; a place beyond the disk's end wraps to its start.
    fn sectors(&self, request: Request) -> (u64, u64) {
        let start = request.start % self.capacity();
        let end = start.saturating_add(request.len).min(self.capacity());
        (start / SECTOR, end.div_ceil(SECTOR))
    }
}

impl Model for Disk {
    fn serve(&mut self, at: Instant, request: Request) -> Instant {
        let (first, end) = self.sectors(request);
        let now = at.0 as f64 + self.overhead;
        if first >= end {
            return moment(now, at);
        }
        let done = if request.write { self.write(now, first, end) } else { self.read(now, first, end) };
        self.was_write = request.write;
        moment(done, at)
    }

    fn channels(&self) -> u32 {
        1
    }

    fn commands(&self) -> u32 {
        self.commands
    }

    fn capacity(&self) -> u64 {
        self.arm.map.sectors() * SECTOR
    }

    fn cost(&self) -> DeviceCost {
        let revolution = self.revolution();
        // A long read goes at the pace of the media or of the bus, whichever is slower.
        let bus = SECTOR as f64 / self.bus;
        let rate = |bytes_a_turn: f64| ((bytes_a_turn / revolution).min(bus) * 1e9) as u64;
        DeviceCost {
            seek: self.seek_by_bytes(),
            half_revolution: (revolution / 2.0) as u64,
            zones: self.arm.map.pace().map(|(from, pace)| (from, rate(pace))).collect(),
            capacity: self.capacity(),
            channels: 1,
        }
    }
}

impl Disk {
    /// f_seek against distance in bytes: for each distance, the mean over the pairs of places that
    /// lie so far apart, with the overhead. A distance in bytes spans more cylinders near the hub,
    /// which is why this is a mean.
    fn seek_by_bytes(&self) -> Vec<(u64, u64)> {
        const STARTS: u64 = 64;
        let capacity = self.capacity();
        let least = 1e6 * self.overheads.least_read_seek_ms;
        let mean = |distance: u64| {
            let starts = (0..STARTS).map(|i| (capacity - 1 - distance) / STARTS * i);
            starts.map(|start| self.seek_time(start, start + distance).max(least)).sum::<f64>() / STARTS as f64
        };
        // Finer where the curve bends: eight points below 1 %, then every 2 %.
        let shares = (0..8).map(|i| 0.01 * 0.25_f64.powi(8 - i)).chain((0..50).map(|i| 0.01 + 0.0198 * f64::from(i)));
        let overhead = self.overhead + self.overheads.read_miss_ms.nanos(false);
        let mut points = vec![(0, overhead as u64)];
        for share in shares {
            let distance = (share * (capacity - 1) as f64) as u64;
            if distance > points[points.len() - 1].0 {
                points.push((distance, (overhead + mean(distance)) as u64));
            }
        }
        points
    }
}

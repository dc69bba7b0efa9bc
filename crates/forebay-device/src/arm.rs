//! The arm: how long it takes from track to track, and the sweep of a head over sector after
//! sector, track after track.

use crate::rotation::{SAME, Spindle, turn};
use crate::seek_curve::SeekCurve;
use crate::zones::{Geometry, Place};

/// The moving parts. Times are nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    pub(crate) map: Geometry,
    pub(crate) spindle: Spindle,
    pub(crate) seek: SeekCurve,
    /// To another surface of the same cylinder.
    pub(crate) head_switch: f64,
    /// To the next cylinder while reading on; the seek's time if not given.
    pub(crate) cylinder_switch: Option<f64>,
    /// Time in addition to a switch or seek, before the first sector of a track may be written.
    pub(crate) settle: f64,
    /// Whether a request on the cylinder of the one before it needs neither seek nor rotation (SAC
    /// §4.1).
    pub(crate) sequential_cylinder: bool,
}

/// A head that begins to read or write `sector` at `at` and goes on towards `limit`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sweep {
    pub(crate) sector: u64,
    pub(crate) at: f64,
    /// When it had passed the sector before: earlier than `at`, if it goes to another track in
    /// between.
    pub(crate) done: f64,
    pub(crate) limit: u64,
    pub(crate) write: bool,
}

/// Where and when a request's first sector comes under the head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landing {
    /// When its first sector begins.
    pub(crate) begin: f64,
    /// How long the head waited on the track for it.
    pub(crate) wait: f64,
    pub(crate) place: Place,
    /// Nanoseconds a sector of this track.
    pub(crate) sector: f64,
}

/// Before which a landing may not be.
#[derive(Clone, Copy, Default)]
pub(crate) struct Bound {
    /// The way there takes so long at the least.
    pub(crate) least: f64,
    /// The moment before which it may not begin.
    pub(crate) earliest: f64,
}

impl Arm {
    /// From track to track.
    pub(crate) fn travel(&self, from: &Place, to: &Place, write: bool) -> f64 {
        if from.same_track(to) {
            return 0.0;
        }
        let head = if from.head == to.head { 0.0 } else { self.head_switch };
        let seek = self.seek.nanos(from.cylinder.abs_diff(to.cylinder), self.map.cylinders());
        let travel = seek.max(head);
        if write && travel > 0.0 { (travel + self.settle).max(0.0) } else { travel }
    }

    /// From track to track while a sweep goes on.
    fn switch(&self, from: &Place, to: &Place, write: bool) -> f64 {
        match self.cylinder_switch {
            Some(switch) if from.cylinder.abs_diff(to.cylinder) == 1 => {
                if write {
                    (switch + self.settle).max(0.0)
                } else {
                    switch
                }
            }
            _ => self.travel(from, to, write),
        }
    }

    /// The moment at which the head, above `from` and free at `ready`, begins with `sector`: at
    /// `earliest` or later. The way there takes at least `least`.
    pub(crate) fn land(&mut self, from: &Place, ready: f64, sector: u64, write: bool, bound: Bound) -> Landing {
        let Bound { least, earliest } = bound;
        let place = self.map.locate(sector);
        let nanos = self.spindle.revolution / place.sectors as f64;
        if self.sequential_cylinder && from.cylinder == place.cylinder {
            return Landing { begin: ready.max(earliest), wait: 0.0, place, sector: nanos };
        }
        let there = (ready + self.travel(from, &place, write).max(least)).max(earliest);
        let wait = self.spindle.wait(there, place.angle);
        Landing { begin: there + wait, wait, place, sector: nanos }
    }

    /// The sweep once it has reached `end` (at most its limit) or the time is `until`, whichever is
    /// first.
    pub(crate) fn advance(&self, sweep: Sweep, end: u64, until: f64) -> Sweep {
        let end = end.min(sweep.limit).min(self.map.sectors());
        let Sweep { mut sector, mut at, .. } = sweep;
        if sector >= end || at >= until {
            return sweep;
        }
        let revolution = self.spindle.revolution;
        let mut place = self.map.locate(sector);
        loop {
            let nanos = revolution / place.sectors as f64;
            let here = place.left.min(end - sector);
            if at + here as f64 * nanos > until {
                let whole = ((until - at) / nanos).floor().max(0.0) as u64;
                let at = at + whole as f64 * nanos;
                return Sweep { sector: sector + whole, at, done: at, ..sweep };
            }
            (sector, at) = (sector + here, at + here as f64 * nanos);
            if here < place.left || sector >= self.map.sectors() {
                return Sweep { sector, at, done: at, ..sweep };
            }
            let done = at;
            let next = self.map.locate(sector);
            let switch = self.switch(&place, &next, sweep.write);
            let end_angle = place.angle + here as f64 / place.sectors as f64;
            let gap = turn(end_angle, next.angle) * revolution;
            // A skew that is too small for the switch costs whole revolutions.
            at += gap + ((switch - gap) / revolution - SAME).ceil().max(0.0) * revolution;
            place = next;
            if sector >= end || at >= until {
                return Sweep { sector, at, done, ..sweep };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Point;
    use crate::random::Random;
    use crate::rotation::Rotation;
    use crate::zones::Zones;

    fn arm(head: f64, cylinder: f64) -> Arm {
        let zones = Zones { cylinders: vec![2], sectors: vec![10] };
        Arm {
            map: Geometry::new(&zones, 2, 0.1, 0.2).expect("a small disk"),
            spindle: Spindle { revolution: 1000.0, rotation: Rotation::Exact, random: Random::new(0) },
            seek: SeekCurve::through(vec![Point { at: 1.0, value: 1e-4 }]),
            head_switch: head,
            cylinder_switch: Some(cylinder),
            settle: 0.0,
            sequential_cylinder: false,
        }
    }

    #[test]
    fn a_sweep_pays_the_skew_at_the_end_of_each_track() {
        let sweep = Sweep { limit: 40, ..Sweep::default() };
        let at = |end| arm(100.0, 200.0).advance(sweep, end, f64::INFINITY).at.round();
        assert_eq!([5, 15, 25, 35].map(at), [500.0, 1600.0, 2800.0, 3900.0]);
        // At the end of a track the sweep is done before the head has gone to the next one.
        let whole = arm(100.0, 200.0).advance(sweep, 10, f64::INFINITY);
        assert_eq!((whole.done.round(), whole.at.round()), (1000.0, 1100.0));
        let stopped = arm(100.0, 200.0).advance(sweep, 40, 1650.0);
        assert_eq!(stopped.sector, 15);
        // A skew that is too small for the switch costs a whole revolution.
        assert_eq!(arm(150.0, 200.0).advance(sweep, 15, f64::INFINITY).at.round(), 2600.0);
    }

    #[test]
    fn a_write_settles_and_a_bad_sector_is_passed_over() {
        let mut arm = arm(100.0, 200.0);
        arm.settle = 30.0;
        let write = Sweep { limit: 40, write: true, ..Sweep::default() };
        // Settling does not fit into the skew: a revolution is lost.
        assert_eq!(arm.advance(write, 15, f64::INFINITY).at.round(), 2600.0);
        let from = arm.map.locate(0);
        let land = arm.land(&from, 0.0, 10, true, Bound::default());
        assert_eq!((land.begin.round(), land.wait.round()), (1100.0, 970.0));
    }
}

//! What turns: the spindle's angle over time, and the sweep of a head that reads sector after sector, track after track.

use serde::{Deserialize, Serialize};

use crate::zones::Geometry;

/// How the wait for a sector to come round is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rotation {
    /// From the angle at which the platters stand.
    #[default]
    Exact,
    /// Half a revolution, always: what CP §2 assumes.
    Mean,
}

/// The spindle. Times are nanoseconds, as floats: a sector's time is no whole number of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spindle {
    pub(crate) revolution: f64,
    pub(crate) rotation: Rotation,
}

/// Closer than this to a whole turn, in revolutions, two angles are the same: rounding must not cost a revolution.
const SAME: f64 = 1e-7;

impl Spindle {
    /// How long after `at` the angle `angle` passes under the heads.
    pub(crate) fn wait(self, at: f64, angle: f64) -> f64 {
        match self.rotation {
            Rotation::Exact => turn(at / self.revolution, angle) * self.revolution,
            Rotation::Mean => self.revolution / 2.0,
        }
    }
}

/// The part of a turn from the angle `from` forward to `to`, 0 ≤ turn < 1.
fn turn(from: f64, to: f64) -> f64 {
    let part = (to - from).rem_euclid(1.0);
    if part > 1.0 - SAME { 0.0 } else { part }
}

/// Head and cylinder switches, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Switches {
    pub(crate) head: f64,
    pub(crate) cylinder: f64,
}

/// A head that began to read `sector` at `at` and goes on towards `limit`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sweep {
    pub(crate) sector: u64,
    pub(crate) at: f64,
    pub(crate) limit: u64,
}

impl Sweep {
    /// Where the sweep stands, and when, once it has read up to `end` (at most its limit) or it is `until`, whichever is first.
    pub(crate) fn advance(self, map: &Geometry, spindle: Spindle, switches: Switches, end: u64, until: f64) -> Sweep {
        let end = end.min(self.limit).min(map.sectors());
        let Sweep { mut sector, mut at, limit } = self;
        while sector < end && at < until {
            let place = map.locate(sector);
            let nanos = spindle.revolution / place.sectors as f64;
            let here = place.left.min(end - sector);
            if at + here as f64 * nanos > until {
                let whole = ((until - at) / nanos).floor() as u64;
                return Sweep { sector: sector + whole, at: at + whole as f64 * nanos, limit };
            }
            (sector, at) = (sector + here, at + here as f64 * nanos);
            if here == place.left && sector < map.sectors() {
                let next = map.locate(sector);
                let switch = if next.cylinder == place.cylinder { switches.head } else { switches.cylinder };
                let end_angle = place.angle + here as f64 / place.sectors as f64;
                let mut gap = turn(end_angle, next.angle) * spindle.revolution;
                while gap + SAME * spindle.revolution < switch {
                    gap += spindle.revolution;
                }
                at += gap;
            }
        }
        Sweep { sector, at, limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zones::Zones;

    const SPINDLE: Spindle = Spindle { revolution: 1000.0, rotation: Rotation::Exact };

    #[test]
    fn waits_less_than_a_revolution() {
        assert_eq!(SPINDLE.wait(250.0, 0.25), 0.0);
        assert_eq!(SPINDLE.wait(5250.0, 0.75), 500.0);
        assert_eq!(SPINDLE.wait(750.0, 0.25), 500.0);
        assert_eq!(SPINDLE.wait(250.0, 0.25 - 1e-9), 0.0, "rounding costs no revolution");
    }

    #[test]
    fn a_sweep_pays_the_skew_at_the_end_of_each_track() {
        let zones = Zones { cylinders: vec![2], sectors: vec![10] };
        let map = Geometry::new(&zones, 2, 0.1, 0.2).unwrap();
        let switches = Switches { head: 100.0, cylinder: 200.0 };
        let sweep = Sweep { sector: 0, at: 0.0, limit: 40 };
        let at = |end| sweep.advance(&map, SPINDLE, switches, end, f64::INFINITY).at.round();
        assert_eq!([5, 15, 25, 35].map(at), [500.0, 1600.0, 2800.0, 3900.0]);
        let stopped = sweep.advance(&map, SPINDLE, switches, 40, 1650.0);
        assert_eq!(stopped.sector, 15);
        // A skew that is too small for the switch costs a whole revolution.
        let slow = Switches { head: 150.0, cylinder: 200.0 };
        assert_eq!(sweep.advance(&map, SPINDLE, slow, 15, f64::INFINITY).at.round(), 2600.0);
    }
}

//! How long the arm takes, against how far it goes: measured points, or the two-part function of
//! Ruemmler and Wilkes ("An introduction to disk drive modeling", 1994): a + b·√d for short seeks,
//! where the arm accelerates and brakes, c + e·d for long ones, where it coasts; or Lee's curve
//! through three known times (Lee and Katz, "An analytic performance model of disk arrays", 1993).

use serde::{Deserialize, Serialize};

use crate::curve::{Point, interpolate};
use crate::disk::LONGEST_MS;

/// A seek curve as it is written in a description. Distances are in `unit`, times in milliseconds.
/// No distance, no time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeekCurve {
    /// The unit of distances.
    #[serde(default)]
    pub unit: Unit,
    /// The function of Ruemmler and Wilkes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub two_part: Option<TwoPart>,
    /// Lee's function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lee: Option<Lee>,
    /// Milliseconds of seeks over 1, 2, 3 … cylinders, in place of the function's: short seeks are
    /// choppy (Worthington, Ganger and Patt, "Scheduling algorithms for modern disk drives", 1994).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_ms: Vec<f64>,
    /// Measured points (distance, ms), ascending in distance; straight lines between, level
    /// outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Point>,
}

/// The unit of a seek's distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Cylinders.
    #[default]
    Cylinders,
    /// A share of all cylinders, 0 to 1.
    Share,
}

/// `a + b·√d` up to `knee`, `c + e·d` beyond.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TwoPart {
    /// Milliseconds that every short seek costs.
    pub a_ms: f64,
    /// Milliseconds by the root of the distance.
    pub b_ms: f64,
    /// The first distance of the long part.
    pub knee: f64,
    /// Milliseconds that every long seek costs.
    pub c_ms: f64,
    /// Milliseconds by distance.
    pub e_ms: f64,
}

/// `a·√(d − 1) + b·(d − 1) + single`, with a and b such that the mean seek and the longest one come
/// out.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lee {
    /// Milliseconds to the next cylinder.
    pub single_ms: f64,
    /// Milliseconds on average between random places, which are a third of the disk apart.
    pub average_ms: f64,
    /// Milliseconds from rim to hub.
    pub full_ms: f64,
}

impl Lee {
    /// Milliseconds over `distance` of `cylinders`, both in cylinders.
    fn ms(&self, distance: f64, cylinders: f64) -> f64 {
        let Lee { single_ms: single, average_ms: average, full_ms: full } = *self;
        let a = (15.0 * average - 10.0 * single - 5.0 * full) / (3.0 * cylinders.sqrt());
        let b = (7.0 * single - 15.0 * average + 8.0 * full) / (3.0 * cylinders);
        (a * (distance - 1.0).max(0.0).sqrt() + b * (distance - 1.0).max(0.0) + single).max(0.0)
    }
}

impl SeekCurve {
    /// The curve through measured points, distances in cylinders.
    pub fn through(points: Vec<Point>) -> SeekCurve {
        SeekCurve { unit: Unit::Cylinders, two_part: None, lee: None, first_ms: Vec::new(), points }
    }

    /// The same arm, `factor` times as slow.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> SeekCurve {
        let two_part = self.two_part.map(|f| TwoPart {
            a_ms: f.a_ms * factor,
            b_ms: f.b_ms * factor,
            knee: f.knee,
            c_ms: f.c_ms * factor,
            e_ms: f.e_ms * factor,
        });
        let lee = self.lee.map(|f| Lee {
            single_ms: f.single_ms * factor,
            average_ms: f.average_ms * factor,
            full_ms: f.full_ms * factor,
        });
        let first_ms = self.first_ms.iter().map(|ms| ms * factor).collect();
        let points = self.points.iter().map(|point| Point { value: point.value * factor, ..*point }).collect();
        SeekCurve { unit: self.unit, two_part, lee, first_ms, points }
    }

    /// The fault in the description, if any.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let distance = |x: f64| x.is_finite() && x >= 0.0;
        let ms = |x: f64| (0.0..=LONGEST_MS).contains(&x);
        if !self.first_ms.iter().copied().all(ms) {
            return Err("`seek.first_ms` must be times of 0 to 1,000,000 ms");
        }
        if let Some(lee) = self.lee {
            return match self.two_part.is_some() || !self.points.is_empty() {
                true => Err("`seek` has `lee` and another function"),
                false if [lee.single_ms, lee.average_ms, lee.full_ms].into_iter().all(ms) => Ok(()),
                false => Err("the times of `seek.lee` must be 0 to 1,000,000 ms"),
            };
        }
        match (&self.two_part, self.points.as_slice()) {
            (Some(f), []) if distance(f.knee) && [f.a_ms, f.b_ms, f.c_ms, f.e_ms].into_iter().all(ms) => Ok(()),
            (Some(_), []) => Err("the times of `seek.two_part` must be 0 to 1,000,000 ms, its knee not negative"),
            (None, []) => Err("`seek` needs `two_part`, `lee` or `points`"),
            (Some(_), _) => Err("`seek` has both `two_part` and `points`"),
            (None, points) if !points.iter().all(|point| distance(point.at) && ms(point.value)) => {
                Err("`seek.points` must have distances from 0 and times of 0 to 1,000,000 ms")
            }
            (None, points) if !points.is_sorted_by(|a, b| a.at < b.at) => Err("`seek.points` must ascend in distance"),
            _ => Ok(()),
        }
    }

    /// Nanoseconds to go `distance` cylinders on a disk that has `cylinders`.
    pub fn nanos(&self, distance: u64, cylinders: u64) -> f64 {
        if distance == 0 {
            return 0.0;
        }
        if let Some(ms) = self.first_ms.get(usize::try_from(distance - 1).unwrap_or(usize::MAX)) {
            return ms * 1e6;
        }
        if let Some(lee) = &self.lee {
            return lee.ms(distance as f64, cylinders.max(1) as f64) * 1e6;
        }
        let d = match self.unit {
            Unit::Cylinders => distance as f64,
            Unit::Share => distance as f64 / cylinders.max(1) as f64,
        };
        let ms = match &self.two_part {
            Some(f) if d < f.knee => f.a_ms + f.b_ms * d.sqrt(),
            Some(f) => f.c_ms + f.e_ms * d,
            None => interpolate(&self.points, d),
        };
        ms * 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ruemmler and Wilkes, Table 2: the HP C97560, 3.24 + 0.400 √d below 383 cylinders, 8.00 +
    /// 0.008 d beyond.
    #[test]
    fn two_parts_of_the_hp_c97560() {
        let two_part = TwoPart { a_ms: 3.24, b_ms: 0.4, knee: 383.0, c_ms: 8.0, e_ms: 0.008 };
        let curve = SeekCurve { two_part: Some(two_part), ..SeekCurve::through(vec![]) };
        assert_eq!(curve.nanos(0, 1962), 0.0);
        assert!((curve.nanos(100, 1962) - 7.24e6).abs() < 1.0);
        assert!((curve.nanos(1000, 1962) - 16.0e6).abs() < 1.0);
    }

    #[test]
    fn points_are_joined_by_lines() {
        let curve =
            SeekCurve { unit: Unit::Share, ..SeekCurve::through([[0.1, 2.0], [0.5, 6.0]].map(Point::from).to_vec()) };
        let ms = [0, 5, 10, 30, 50, 90].map(|d| curve.nanos(d, 100) / 1e6);
        for (got, want) in ms.iter().zip([0.0, 2.0, 2.0, 4.0, 6.0, 6.0]) {
            assert!((got - want).abs() < 1e-9, "{ms:?}");
        }
    }

    /// Lee's curve takes the three times at one cylinder, at a third of the disk on average, and
    /// across it.
    #[test]
    fn lee_meets_its_three_times() {
        let lee = Lee { single_ms: 1.0, average_ms: 8.0, full_ms: 15.0 };
        let curve = SeekCurve { lee: Some(lee), ..SeekCurve::through(vec![]) };
        let cylinders = 100_000u64;
        let ms = |d| curve.nanos(d, cylinders) / 1e6;
        assert_eq!((ms(0), ms(1)), (0.0, 1.0));
        assert!((ms(cylinders) - 15.0).abs() < 0.01, "{}", ms(cylinders));
        // Random places are d apart with probability 2 (1 − d/C) / C.
        let c = cylinders as f64;
        let mean: f64 = (1..cylinders).map(|d| ms(d) * 2.0 * (1.0 - d as f64 / c) / c).sum();
        assert!((mean - 8.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn first_distances_have_times_of_their_own() {
        let points = [[1.0, 1.0], [10.0, 10.0]].map(Point::from).to_vec();
        let curve = SeekCurve { first_ms: vec![2.5, 3.5], ..SeekCurve::through(points) };
        let ms: Vec<f64> = (0..4).map(|d| curve.nanos(d, 100) / 1e6).collect();
        assert_eq!(ms, [0.0, 2.5, 3.5, 3.0]);
        assert_eq!(curve.scaled(2.0).nanos(2, 100), 7e6);
    }

    #[test]
    fn nonsense_is_refused() {
        let none = SeekCurve { unit: Unit::Share, ..SeekCurve::through(vec![]) };
        let back = SeekCurve { points: [[2.0, 1.0], [1.0, 1.0]].map(Point::from).to_vec(), ..none.clone() };
        let nan = SeekCurve { points: vec![Point { at: f64::NAN, value: 1.0 }], ..none.clone() };
        for curve in [none, back, nan] {
            assert!(curve.check().is_err(), "{curve:?}");
        }
    }
}

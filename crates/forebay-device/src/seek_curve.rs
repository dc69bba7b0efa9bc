//! How long the arm takes, against how far it goes: measured points, or the two-part function of Ruemmler and Wilkes
//! ("An introduction to disk drive modeling", 1994): a + b·√d for short seeks, where the arm accelerates and brakes,
//! c + e·d for long ones, where it coasts.

use serde::{Deserialize, Serialize};

/// A seek curve as it is written in a description. Distances are in `unit`, times in milliseconds. No distance, no time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeekCurve {
    /// What distances are counted in.
    #[serde(default)]
    pub unit: Unit,
    /// The function of Ruemmler and Wilkes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub two_part: Option<TwoPart>,
    /// Measured points (distance, ms), ascending in distance; straight lines between, level outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<(f64, f64)>,
}

/// What a seek's distance is counted in.
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

impl SeekCurve {
    /// What is wrong with the description, if anything.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let finite = |x: f64| x.is_finite() && x >= 0.0;
        match (&self.two_part, self.points.as_slice()) {
            (Some(f), []) if [f.a_ms, f.b_ms, f.knee, f.c_ms, f.e_ms].into_iter().all(finite) => Ok(()),
            (Some(_), []) => Err("the numbers of `seek.two_part` must be finite and not negative"),
            (None, []) => Err("`seek` needs `two_part` or `points`"),
            (Some(_), _) => Err("`seek` has both `two_part` and `points`"),
            (None, points) if !points.iter().all(|&(d, t)| finite(d) && finite(t)) => {
                Err("`seek.points` must be finite and not negative")
            }
            (None, points) if !points.is_sorted_by(|a, b| a.0 < b.0) => Err("`seek.points` must ascend in distance"),
            _ => Ok(()),
        }
    }

    /// Nanoseconds to go `distance` cylinders on a disk that has `cylinders`.
    pub fn nanos(&self, distance: u64, cylinders: u64) -> f64 {
        if distance == 0 {
            return 0.0;
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

/// The straight line between the points around `x`, level outside them; zero without points.
fn interpolate(points: &[(f64, f64)], x: f64) -> f64 {
    let after = points.partition_point(|p| p.0 <= x);
    match (after.checked_sub(1).map(|i| points[i]), points.get(after)) {
        (Some((x0, y0)), Some(&(x1, y1))) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
        (Some((_, y)), None) | (None, Some(&(_, y))) => y,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ruemmler and Wilkes, Table 2: the HP C97560, 3.24 + 0.400 √d below 383 cylinders, 8.00 + 0.008 d beyond.
    #[test]
    fn two_parts_of_the_hp_c97560() {
        let two_part = TwoPart { a_ms: 3.24, b_ms: 0.4, knee: 383.0, c_ms: 8.0, e_ms: 0.008 };
        let curve = SeekCurve { unit: Unit::Cylinders, two_part: Some(two_part), points: vec![] };
        assert_eq!(curve.nanos(0, 1962), 0.0);
        assert!((curve.nanos(100, 1962) - 7.24e6).abs() < 1.0);
        assert!((curve.nanos(1000, 1962) - 16.0e6).abs() < 1.0);
    }

    #[test]
    fn points_are_joined_by_lines() {
        let curve = SeekCurve { unit: Unit::Share, two_part: None, points: vec![(0.1, 2.0), (0.5, 6.0)] };
        let ms = [0, 5, 10, 30, 50, 90].map(|d| curve.nanos(d, 100) / 1e6);
        for (got, want) in ms.iter().zip([0.0, 2.0, 2.0, 4.0, 6.0, 6.0]) {
            assert!((got - want).abs() < 1e-9, "{ms:?}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let none = SeekCurve { unit: Unit::Share, two_part: None, points: vec![] };
        let back = SeekCurve { points: vec![(2.0, 1.0), (1.0, 1.0)], ..none.clone() };
        let nan = SeekCurve { points: vec![(f64::NAN, 1.0)], ..none.clone() };
        for curve in [none, back, nan] {
            assert!(curve.check().is_err(), "{curve:?}");
        }
    }
}

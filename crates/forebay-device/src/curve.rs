//! A curve through points.

use serde::{Deserialize, Serialize};

/// A point of a curve, which is written as a pair.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct Point {
    /// The place on the axis: in a seek curve, the distance.
    pub at: f64,
    /// The value there: in a seek curve, the time.
    pub value: f64,
}

impl From<[f64; 2]> for Point {
    fn from([at, value]: [f64; 2]) -> Point {
        Point { at, value }
    }
}

impl From<Point> for [f64; 2] {
    fn from(point: Point) -> [f64; 2] {
        [point.at, point.value]
    }
}

/// The straight line between the points around `at`, level outside them; zero without points.
pub(crate) fn interpolate(points: &[Point], at: f64) -> f64 {
    let after = points.partition_point(|point| point.at <= at);
    match (after.checked_sub(1).map(|i| points[i]), points.get(after)) {
        (Some(a), Some(b)) => a.value + (b.value - a.value) * (at - a.at) / (b.at - a.at),
        (Some(point), None) | (None, Some(&point)) => point.value,
        (None, None) => 0.0,
    }
}

//! A figure along an axis: by numbers of handlers, by the age of a disk, by whatever varies.

/// A figure at a place.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Point {
    /// The place on the axis.
    pub(crate) at: f64,
    pub(crate) value: f64,
}

/// Stands for the point of a line that has none.
const NOWHERE: Point = Point { at: f64::NAN, value: f64::NAN };

/// The mean in which a factor counts the same wherever it is; not a number if there are none.
pub(crate) fn geometric_mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    (values.clone().map(f64::ln).sum::<f64>() / values.count() as f64).exp()
}

/// Points in the order of the axis.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Line(Vec<Point>);

impl FromIterator<Point> for Line {
    fn from_iter<I: IntoIterator<Item = Point>>(points: I) -> Line {
        Line(points.into_iter().collect())
    }
}

impl Line {
    /// The points, in order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Point> + Clone {
        self.0.iter().copied()
    }

    /// How many points.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The values, in order.
    pub(crate) fn values(&self) -> impl Iterator<Item = f64> + Clone {
        self.iter().map(|point| point.value)
    }

    /// The first point; not numbers if there is none.
    pub(crate) fn first(&self) -> Point {
        self.0.first().copied().unwrap_or(NOWHERE)
    }

    /// The last point.
    pub(crate) fn last(&self) -> Point {
        self.0.last().copied().unwrap_or(NOWHERE)
    }

    /// The point with the largest value.
    pub(crate) fn highest(&self) -> Point {
        self.iter().max_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or(NOWHERE)
    }

    /// The point with the least value.
    pub(crate) fn lowest(&self) -> Point {
        self.iter().min_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or(NOWHERE)
    }

    /// The mean of the values.
    pub(crate) fn mean(&self) -> f64 {
        self.values().sum::<f64>() / self.0.len() as f64
    }

    /// The geometric mean of the values, in which no place outweighs another.
    pub(crate) fn geometric_mean(&self) -> f64 {
        geometric_mean(self.values())
    }

    /// The value at a place; not a number if there is no point.
    pub(crate) fn at(&self, place: f64) -> f64 {
        self.iter().find(|point| point.at == place).map_or(f64::NAN, |point| point.value)
    }

    /// The same places with other values.
    pub(crate) fn map(&self, of: impl Fn(f64) -> f64) -> Line {
        self.iter().map(|point| Point { value: of(point.value), ..point }).collect()
    }

    /// Value by value over another line, which has the same places.
    pub(crate) fn over(&self, other: &Line) -> Line {
        self.with(other, |ours, theirs| ours / theirs)
    }

    /// Value by value with another line, which has the same places.
    pub(crate) fn with(&self, other: &Line, of: impl Fn(f64, f64) -> f64) -> Line {
        let point = |(ours, theirs): (Point, Point)| Point { value: of(ours.value, theirs.value), ..ours };
        self.iter().zip(other.iter()).map(point).collect()
    }

    /// For a chart.
    pub(crate) fn points(&self) -> Vec<(f64, f64)> {
        self.iter().map(|point| (point.at, point.value)).collect()
    }

    /// `2: 1.23, 8: 4.10`: each value as `text` has it, beside its place.
    pub(crate) fn listed(&self, text: impl Fn(f64) -> String) -> String {
        self.iter().map(|point| format!("{}: {}", point.at, text(point.value))).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn line(points: &[(f64, f64)]) -> Line {
        points.iter().map(|&(at, value)| Point { at, value }).collect()
    }

    #[test]
    fn numbers_of_lines() {
        let all = line(&[(1.0, 0.5), (2.0, 2.0), (8.0, 1.0)]);
        assert_eq!((all.highest().at, all.lowest().at, all.first().at, all.last().value), (2.0, 1.0, 1.0, 1.0));
        assert_eq!((all.geometric_mean(), all.at(2.0), all.len()), (1.0, 2.0, 3));
        assert!((all.mean() - 3.5 / 3.0).abs() < 1e-12);
        assert_eq!(all.over(&all.map(|value| value * 2.0)).values().collect::<Vec<_>>(), [0.5; 3]);
        assert_eq!(all.listed(|value| format!("{value:.1} ×")), "1: 0.5 ×, 2: 2.0 ×, 8: 1.0 ×");
    }

    #[test]
    fn nothing_has_no_number() {
        let nothing = Line::default();
        let numbers = [nothing.highest().value, nothing.lowest().at, nothing.mean(), nothing.geometric_mean()];
        assert!(numbers.into_iter().chain([nothing.at(1.0), nothing.first().at]).all(f64::is_nan));
    }
}

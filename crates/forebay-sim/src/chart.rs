//! Pictures of results: lines over an axis.

/// A line.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Series {
    /// What it is.
    pub name: String,
    /// Its points, in the order of x.
    pub points: Vec<(f64, f64)>,
}

/// An axis.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Axis {
    /// What it measures, with its unit.
    pub label: String,
    /// Whether equal ratios, not equal differences, are equally long.
    pub logarithmic: bool,
}

/// A picture.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Chart {
    /// Its heading.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
}

//! Pictures of what was replayed.

use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::untimed::Outcome;

use super::Record;

/// Miss ratios over sizes, a line a policy.
pub(super) fn miss_ratios(records: &[Record<Outcome>], trace: &str) -> Chart {
    let points = records
        .iter()
        .map(|Record { outcome, .. }| (outcome.policy.as_str(), (outcome.capacity_blocks as f64, outcome.miss_ratio)));
    Chart {
        title: format!("Miss ratios of {trace}"),
        x: Axis::logarithmic("blocks in the cache"),
        y: Axis::linear("miss ratio"),
        series: lines(points),
    }
}

/// A line for each name, in order of first appearance, its points from left to right.
pub(super) fn lines<'a>(points: impl Iterator<Item = (&'a str, (f64, f64))>) -> Vec<Series> {
    let mut lines: Vec<Series> = Vec::new();
    for (name, point) in points {
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Series { name: name.to_owned(), points: vec![point] }),
        }
    }
    lines.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    lines
}

//! Pictures of replays.

use forebay_sim::chart::{Axis, Chart, Series};

use super::{Record, timed};

/// A point of a line, by the line's name.
struct Point {
    line: String,
    x: f64,
    y: f64,
}

/// Miss ratios over sizes, a line a policy.
pub(super) fn miss_ratios(records: &[Record], trace: &str) -> Chart {
    let point = |record: &Record| Point {
        line: record.outcome.policy.clone(),
        x: record.outcome.capacity_blocks as f64,
        y: record.outcome.miss_ratio,
    };
    Chart {
        title: format!("Miss ratios of {trace}"),
        x: Axis::logarithmic("blocks in the cache"),
        y: Axis::linear("miss ratio"),
        series: lines(records.iter().map(point)),
    }
}

/// Throughput over handlers, or over sizes if only these differ; a line for each combination of the
/// rest.
pub(super) fn timed(records: &[timed::Record], trace: &str) -> Chart {
    let several = |of: &dyn Fn(&timed::Record) -> String| records.windows(2).any(|pair| of(&pair[0]) != of(&pair[1]));
    let blocks = |record: &timed::Record| record.outcome.capacity_blocks.to_string();
    let scheduler = |record: &timed::Record| record.scheduler.clone();
    let labels = |record: &timed::Record| record.labels.unwrap_or_default().to_string();
    let sizes = several(&blocks);
    let over_sizes = sizes && !several(&|record| record.outcome.handlers.to_string());
    let point = |record: &timed::Record| {
        let outcome = &record.outcome;
        let mut name = vec![outcome.policy.clone()];
        name.extend((sizes && !over_sizes).then(|| format!("{} blocks", outcome.capacity_blocks)));
        name.extend(several(&scheduler).then(|| record.scheduler.clone()));
        name.extend(several(&labels).then(|| format!("labels {}", labels(record))));
        let x = if over_sizes { outcome.capacity_blocks as f64 } else { f64::from(outcome.handlers.max(1)) };
        Point { line: name.join(", "), x, y: outcome.throughput_mb_s }
    };
    Chart {
        title: format!("Throughput of {trace}"),
        x: Axis::logarithmic(if over_sizes { "blocks in the cache" } else { "handlers" }),
        y: Axis::linear("MB/s"),
        series: lines(records.iter().map(point)),
    }
}

/// A line for each name, in order of first appearance, its points from left to right.
fn lines(points: impl Iterator<Item = Point>) -> Vec<Series> {
    let mut lines: Vec<Series> = Vec::new();
    for Point { line: name, x, y } in points {
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push((x, y)),
            None => lines.push(Series { name, points: vec![(x, y)] }),
        }
    }
    lines.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    lines
}

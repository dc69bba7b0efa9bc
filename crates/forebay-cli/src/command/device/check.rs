//! `forebay device check`

use forebay_device::validation::{self, Measured};
use forebay_device::{Description, demerit, device};
use forebay_sim::chart::{Axis, Chart, Series};
use serde::Serialize;

use crate::failure::Failure;
use crate::options::DeviceCheck;
use crate::report;

/// The distance between a model and its disk.
#[derive(Serialize)]
struct Record {
    device: String,
    requests: u64,
    demerit_ms: f64,
    demerit_share: f64,
    mean_ms: f64,
    modelled_mean_ms: f64,
}

/// Compares the model with the measured requests.
pub(super) fn run(check: &DeviceCheck) -> Result<(), Failure> {
    let description = device(&check.device).map_err(Failure::input)?;
    let about = |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", check.trace.display()));
    let bytes = forebay_trace::contents(&check.trace).map_err(|error| about(&error))?;
    let requests = validation::parse(&bytes).map_err(|error| about(&error))?;
    if requests.is_empty() {
        return Err(about(&"it holds no requests"));
    }
    let figures = demerit::check(&description, &requests).map_err(Failure::input)?;
    let record = Record {
        device: description.name.clone(),
        requests: figures.requests,
        demerit_ms: figures.demerit_ms,
        demerit_share: figures.demerit_share,
        mean_ms: figures.mean_ms,
        modelled_mean_ms: figures.modelled_mean_ms,
    };
    report::show(&[record], &check.report, || distributions(&description, &requests, figures.demerit_ms))
}

/// Both distributions of service times.
fn distributions(description: &Description, requests: &[Measured], demerit_ms: f64) -> Option<Chart> {
    let measured = requests.iter().map(|request| request.service).collect();
    let modelled = demerit::replay(description, requests).ok()?;
    Some(Chart {
        title: format!("Service times of {}: demerit {demerit_ms:.3} ms", description.name),
        x: Axis::linear("ms"),
        y: Axis::linear("share of requests that take no longer"),
        series: vec![cumulative("measured", measured), cumulative("modelled", modelled)],
    })
}

/// At most this many points a line.
const POINTS: usize = 500;

/// Times in nanoseconds as a cumulative distribution.
fn cumulative(name: &str, mut nanos: Vec<f64>) -> Series {
    nanos.sort_by(f64::total_cmp);
    let last = nanos.len().saturating_sub(1);
    let mut places: Vec<usize> = (0..POINTS).map(|i| last * i / (POINTS - 1)).collect();
    places.dedup();
    let point = |i: usize| (nanos[i] / 1e6, (i + 1) as f64 / nanos.len() as f64);
    Series { name: name.into(), points: places.into_iter().map(point).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_go_from_the_shortest_to_one() {
        let few = cumulative("few", vec![3e6, 1e6, 2e6, 2e6]);
        assert_eq!(few.points, [(1.0, 0.25), (2.0, 0.5), (2.0, 0.75), (3.0, 1.0)]);
        let many = cumulative("many", (0..10_000).map(f64::from).collect());
        assert_eq!((many.points.len(), many.points[499].1), (500, 1.0));
    }
}

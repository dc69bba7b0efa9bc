//! `forebay device show`

use forebay_device::disk::Disk;
use forebay_device::{Description, ModelDescription, device};
use forebay_sim::chart::{Axis, Chart, Series};
use serde_json::{Map, Value};

use super::figures::Figures;
use super::{latency, parameters};
use crate::failure::Failure;
use crate::options::DeviceShow;
use crate::report;

/// Shows a device.
pub(super) fn run(show: &DeviceShow) -> Result<(), Failure> {
    let description = device(&show.device).map_err(Failure::input)?;
    let figures = Figures::of(&description).map_err(Failure::input)?;
    let mut record: Map<String, Value> = match serde_json::to_value(figures) {
        Ok(Value::Object(fields)) => fields,
        _ => return Err(Failure::run("a device has no figures")),
    };
    parameters::append(&description, !show.report.json && !show.report.csv, &mut record);
    report::show(&[record], &show.report, || picture(&description, show.seed))
}

/// The seek curve of a disk. For any other device, the time of reads against their size.
fn picture(description: &Description, seed: u64) -> Option<Chart> {
    if let ModelDescription::Disk(disk) = &description.model {
        return seek_curve(&description.name, &Disk::new(disk).ok()?, disk);
    }
    let times = latency::times(description, seed).ok()?;
    let line = |share, name: &str| latency::quantile(&times, share, name);
    Some(Chart {
        title: format!("How long a random read takes on {} (seed {seed})", description.name),
        x: Axis::logarithmic("bytes read"),
        y: Axis::logarithmic("ms"),
        series: vec![line(0.5, "median"), line(0.9, "90 of 100 stay below"), line(0.99, "99 of 100 stay below")],
    })
}

/// Seek times against distance. The first distances are all there, since the curve bends there.
fn seek_curve(name: &str, disk: &Disk, description: &forebay_device::disk::Description) -> Option<Chart> {
    let cylinders = disk.geometry().cylinders();
    let last = cylinders.checked_sub(1).filter(|&last| last > 0)?;
    let spread = (0..=400u64).map(|i| last * i / 400);
    let mut distances: Vec<u64> = (0..=last.min(20)).chain(spread).collect();
    distances.sort_unstable();
    distances.dedup();
    let line = |name: &str, more: f64| Series {
        name: name.into(),
        points: distances.iter().map(|&d| (d as f64, (description.seek.nanos(d, cylinders) + more) / 1e6)).collect(),
    };
    Some(Chart {
        title: format!("Seek time of {name}"),
        x: Axis::linear("cylinders"),
        y: Axis::linear("ms"),
        series: vec![line("seek", 0.0), line("with half a revolution", disk.revolution() / 2.0)],
    })
}

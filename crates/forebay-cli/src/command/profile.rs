//! `forebay profile`: what a switch to another place and a transfer cost, and the depth that follows.

use forebay_core::DeviceCost;
use indicatif::ProgressBar;
use serde::Serialize;

use crate::chart::Chart;
use crate::failure::Failure;
use crate::options::Profile;
use crate::size::about;
use crate::table::{Side, Table};
use crate::{output, progress};

/// Points at which a curve is drawn.
const POINTS: u64 = 240;

/// What was measured.
struct Measured {
    /// Which device.
    device: String,
    /// Its curves.
    cost: DeviceCost,
}

/// The result, as `--json` has it. Places and distances are in bytes.
#[derive(Debug, Serialize)]
struct Record<'a> {
    device: &'a str,
    capacity_bytes: u64,
    channels: u32,
    switch_cost_us: f64,
    transfer_mb_s: f64,
    depth_bytes: u64,
    half_revolution_us: f64,
    /// (distance, microseconds)
    seek: Vec<(u64, f64)>,
    /// (first byte of the zone, 10^6 bytes a second)
    zones: Vec<(u64, f64)>,
}

/// Measures and shows.
pub(crate) fn run(options: &Profile) -> Result<(), Failure> {
    let bar = progress::bar("measuring", u64::from(options.seconds));
    let measured = measure(options, &bar);
    bar.finish_and_clear();
    let measured = measured?;
    if options.json { output::json(&record(&measured)) } else { output::print(&picture(&measured)) }
}

/// Measures the target for as long as the options say.
fn measure(options: &Profile, _bar: &ProgressBar) -> Result<Measured, Failure> {
    Err(Failure::run(format!("this build has no profiler to measure {} with", options.target.display())))
}

fn record(measured: &Measured) -> Record<'_> {
    let cost = &measured.cost;
    let distance = cost.mean_distance();
    Record {
        device: &measured.device,
        capacity_bytes: cost.capacity,
        channels: cost.channels,
        switch_cost_us: cost.switch_cost(distance) as f64 / 1e3,
        transfer_mb_s: cost.transfer_rate(0) as f64 / 1e6,
        depth_bytes: cost.competitive_depth(distance, 0),
        half_revolution_us: cost.half_revolution as f64 / 1e3,
        seek: cost.seek.iter().map(|&(distance, nanos)| (distance, nanos as f64 / 1e3)).collect(),
        zones: cost.zones.iter().map(|&(place, rate)| (place, rate as f64 / 1e6)).collect(),
    }
}

/// The numbers that matter, then the curves of a device that has places.
fn picture(measured: &Measured) -> String {
    let record = record(measured);
    let mut table = Table::new([(record.device, Side::Left), ("", Side::Right)]);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    let (switch, place) = if record.capacity_bytes > 0 {
        row("size", about(record.capacity_bytes));
        ("switch to another place, in the mean", "transfer at its beginning")
    } else {
        ("time to the first byte", "transfer of one request")
    };
    row(switch, format!("{:.2} ms", record.switch_cost_us / 1e3));
    row(place, format!("{:.1} MB/s", record.transfer_mb_s));
    row("requests at once", record.channels.to_string());
    row("competitive depth", about(record.depth_bytes));
    let curves = if record.capacity_bytes > 0 { curves(&measured.cost) } else { String::new() };
    format!("{table}{curves}")
}

/// Switch cost against distance, transfer rate against place.
fn curves(cost: &DeviceCost) -> String {
    let at = |i: u64| (u128::from(cost.capacity) * u128::from(i) / u128::from(POINTS)) as u64;
    let curve = |of: &dyn Fn(u64) -> f64| -> Vec<(f64, f64)> {
        (0..=POINTS).map(|i| (at(i) as f64 / 1e9, of(at(i)))).collect()
    };
    let chart = |across, up| Chart { across, up, width: 60, height: 8 };
    let switch = chart("distance, GB", "switch, ms").draw(&curve(&|distance| cost.switch_cost(distance) as f64 / 1e6));
    let transfer = chart("place, GB", "transfer, MB/s").draw(&curve(&|place| cost.transfer_rate(place) as f64 / 1e6));
    format!("\n{switch}\n{transfer}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> Measured {
        let cost = DeviceCost {
            seek: vec![(0, 0), (12_000_000_000, 7_530_000), (36_000_000_000, 13_000_000)],
            half_revolution: 3_000_000,
            zones: vec![(0, 51_300_000), (18_000_000_000, 40_000_000)],
            capacity: 36_000_000_000,
            channels: 1,
        };
        Measured { device: "disk".into(), cost }
    }

    #[test]
    fn a_disk_has_its_depth_and_two_curves() {
        let text = picture(&disk());
        for expected in ["10.53 ms", "51.3 MB/s", "527.5 KiB", "distance, GB", "place, GB", "16.0 ┤", "51.3 ┤"] {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
    }

    #[test]
    fn a_store_without_places_has_none() {
        let store = Measured { device: "s3".into(), cost: DeviceCost::flat(20_000_000, 100_000_000, 8) };
        let text = picture(&store);
        assert!(
            text.contains("time to the first byte") && text.contains("20.00 ms") && text.contains("1.9 MiB"),
            "{text}"
        );
        assert!(!text.contains('┤'), "{text}");
    }

    #[test]
    fn json_is_in_the_units_that_its_names_say() {
        let value = serde_json::to_value(record(&disk())).unwrap();
        assert_eq!(value["depth_bytes"], 540_189);
        assert_eq!(value["switch_cost_us"], 10_530.0);
        assert_eq!(value["zones"][1], serde_json::json!([18_000_000_000u64, 40.0]));
    }
}

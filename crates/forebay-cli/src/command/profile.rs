//! `forebay profile`: the costs of a switch to another place and of a transfer, and the depth that
//! follows from them.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use forebay_device::Profile;
use forebay_live::profiler::{self, Store, Target, chart};
use forebay_source::object::StoreOptions;
use forebay_source::uri::{Place, open_place, parse};
use serde::Serialize;

use crate::failure::Failure;
use crate::size::about;
use crate::table::{Column, Table};
use crate::{options, output, progress};

/// The width of the picture, in characters.
const WIDTH: usize = 72;

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

/// Measures, keeps and shows a profile; for a set, one device after the other.
pub(crate) fn run(options: &options::Profile) -> Result<(), Failure> {
    let (_, place) = parse(&options.target)?;
    let stores = options.stores.options().map_err(Failure::input)?;
    let devices = place.devices();
    let profiles = devices.iter().map(|device| measured(device, &stores, options.seconds));
    let profiles = profiles.collect::<Result<Vec<_>, _>>()?;
    let picture = |(device, profile)| picture(&heading(device, profile), profile);
    match (&*profiles, options.json) {
        ([profile], true) => output::json(&record(profile)),
        (profiles, true) => output::json(&profiles.iter().map(record).collect::<Vec<_>>()),
        (profiles, false) => output::print(&devices.iter().zip(profiles).map(picture).collect::<Vec<_>>().join("\n")),
    }
}

fn measured(place: &Place<'_>, stores: &StoreOptions, seconds: u16) -> Result<Profile, Failure> {
    let target = target(place, stores)?;
    let bar = progress::bar("measuring", 1000);
    let budget = Duration::from_secs(seconds.into());
    let profile = profiler::profile(&target, budget, &mut |share| bar.set_position((share * 1000.0) as u64));
    bar.finish_and_clear();
    let profile = profile.map_err(Failure::input)?;
    if let Some(Err(error)) = Store::user().map(|store| store.save(&profile)) {
        log::warn!("the profile is not kept for later mounts: {error}");
    }
    Ok(profile)
}

/// The target of a measurement: a path as it is, so that it may also be a file or a disk; else a
/// source.
fn target(place: &Place<'_>, stores: &StoreOptions) -> Result<Target, Failure> {
    if let Place::Folder(path) = place {
        return Ok(Target::Path(path.to_path_buf()));
    }
    Ok(Target::Source(open_place(place, stores, |_, source| Ok::<_, Failure>(source))?))
}

fn record(profile: &Profile) -> Record<'_> {
    let cost = profile.cost();
    let distance = cost.mean_distance();
    Record {
        device: &profile.device,
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

/// The measured target: a path and the device below it, or the address of a store.
fn heading(place: &Place<'_>, profile: &Profile) -> String {
    let Place::Folder(path) = place else { return profile.device.clone() };
    let device = path.canonicalize().ok().and_then(|path| device_below(&path));
    let shown = path.display();
    device.map_or_else(|| shown.to_string(), |device| format!("{shown} on {device}"))
}

/// The device that is mounted where a path lies, as the kernel calls it.
fn device_below(path: &Path) -> Option<String> {
    let number = path.metadata().ok()?.dev();
    let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    // The number is the third word; the device is the second word after the dash
    // (proc_pid_mountinfo).
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(&number))?;
    Some(line.split_once(" - ")?.1.split(' ').nth(1)?.to_owned())
}

/// The main figures, then the curves.
fn picture(heading: &str, profile: &Profile) -> String {
    let record = record(profile);
    let mut table = Table::new([Column::left(heading), Column::right("")]);
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
    format!("{table}\n{}", chart::picture(profile, WIDTH))
}

#[cfg(test)]
mod tests {
    use forebay_device::Kind;

    use super::*;

    fn disk() -> Profile {
        Profile {
            kind: Kind::Disk,
            device: "disk".into(),
            measured: 1,
            capacity: 36_000_000_000,
            channels: 1,
            first_byte: 10_530_000,
            rate: 51_300_000,
            half_revolution: 3_000_000,
            seek: vec![(0, 0), (12_000_000_000, 7_530_000), (36_000_000_000, 13_000_000)],
            zones: vec![(0, 51_300_000), (18_000_000_000, 40_000_000)],
        }
    }

    #[test]
    fn a_disk_has_its_depth_and_two_curves() {
        let text = picture("/srv", &disk());
        for expected in ["10.53 ms", "51.3 MB/s", "527.5 KiB", "against distance", "against place"] {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
    }

    #[test]
    fn a_store_without_places_has_one() {
        let (kind, seek, zones) = (Kind::Flat, Vec::new(), Vec::new());
        let store = Profile { kind, seek, zones, capacity: 0, first_byte: 20_000_000, rate: 100_000_000, ..disk() };
        let text = picture("s3://x", &store);
        for expected in ["time to the first byte", "20.00 ms", "1.9 MiB", "against its size"] {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
    }

    #[test]
    fn a_folder_is_called_by_its_path_and_its_device() {
        let heading = heading(&Place::Folder(Path::new("/proc")), &disk());
        assert_eq!(heading, "/proc on proc");
        let store = super::heading(&Place::Store("s3://x"), &Profile { device: "s3://x".into(), ..disk() });
        assert_eq!(store, "s3://x");
    }

    #[test]
    fn json_is_in_the_units_that_its_names_say() {
        let profile = disk();
        let value = serde_json::to_value(record(&profile)).unwrap();
        assert_eq!(value["depth_bytes"], 540_189);
        assert_eq!(value["switch_cost_us"], 10_530.0);
        assert_eq!(value["zones"][1], serde_json::json!([18_000_000_000u64, 40.0]));
    }
}

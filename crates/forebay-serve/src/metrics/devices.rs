//! Figures by device, with labels that are bounded in number and differ from each other.

use std::collections::HashSet;

use forebay_live::figures::{Figures, Requests};
use forebay_live::stats::{Counts, DeviceStats, PartitionStats};
use forebay_source::printable;

/// Devices with a label of their own. The others have one together.
pub(super) const LABELLED: usize = 64;

/// The label of the devices beyond [`LABELLED`].
const OTHERS: &str = "others";

/// A device, or several under one label.
#[derive(Clone, Debug)]
pub(super) struct Device {
    pub(super) label: String,
    pub(super) counts: Counts,
    pub(super) requests: [Requests; 3],
    pub(super) in_flight: u64,
    pub(super) partition: Option<PartitionStats>,
    /// `None` for several.
    pub(super) one: Option<One>,
}

/// The figures of one device that cannot be added up.
#[derive(Clone, Copy, Debug)]
pub(super) struct One {
    pub(super) depth_bytes: u64,
    pub(super) lead_time_us: f64,
}

/// The devices by label.
pub(super) fn labelled(figures: &Figures) -> Vec<Device> {
    let mut seen = HashSet::from([OTHERS.to_owned()]);
    let mut devices: Vec<Device> = Vec::new();
    for (number, (stats, figures)) in figures.stats.devices.iter().zip(&figures.devices).enumerate() {
        if number <= LABELLED {
            let label = if number < LABELLED { unlike(&printable(&stats.name), &mut seen) } else { OTHERS.into() };
            let one = One { depth_bytes: stats.depth_bytes, lead_time_us: stats.lead_time_us };
            devices.push(Device {
                label,
                counts: stats.counts,
                requests: figures.requests,
                in_flight: stats.in_flight.into(),
                partition: stats.partition,
                one: (number < LABELLED).then_some(one),
            });
        } else if let Some(others) = devices.last_mut() {
            others.add(stats, &figures.requests);
        }
    }
    devices
}

/// A label that no other device has. Names of sets' members, and names that are not UTF-8, may be
/// equal.
fn unlike(name: &str, seen: &mut HashSet<String>) -> String {
    let mut label = name.to_owned();
    for number in 2.. {
        if seen.insert(label.clone()) {
            break;
        }
        label = format!("{name} ({number})");
    }
    label
}

impl Device {
    fn add(&mut self, stats: &DeviceStats, requests: &[Requests; 3]) {
        self.counts += stats.counts;
        self.in_flight += u64::from(stats.in_flight);
        for (sum, more) in self.requests.iter_mut().zip(requests) {
            sum.durations += &more.durations;
            sum.bytes += more.bytes;
            sum.errors += more.errors;
        }
        if let (Some(sum), Some(more)) = (&mut self.partition, &stats.partition) {
            sum.size_bytes += more.size_bytes;
            sum.held_bytes += more.held_bytes;
        }
    }
}

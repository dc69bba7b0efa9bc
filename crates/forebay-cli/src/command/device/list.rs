//! `forebay device list`

use forebay_device::devices;
use forebay_sim::chart::{Axis, Chart};

use super::figures::Figures;
use super::latency;
use crate::failure::Failure;
use crate::options::DeviceList;
use crate::report;

/// Lists them; the picture has the median time of a read against its size.
pub(super) fn run(list: &DeviceList) -> Result<(), Failure> {
    let devices = devices();
    let figures: Vec<Figures> = devices.iter().map(Figures::of).collect::<Result<_, _>>().map_err(Failure::run)?;
    report::show(&figures, &list.report, || {
        let line = |device| latency::times(device, list.seed).map(|times| latency::quantile(&times, 0.5, &device.name));
        Some(Chart {
            title: "How long a random read takes, in the median".into(),
            x: Axis::logarithmic("bytes read"),
            y: Axis::logarithmic("ms"),
            series: devices.iter().map(line).collect::<Result<_, _>>().ok()?,
        })
    })
}

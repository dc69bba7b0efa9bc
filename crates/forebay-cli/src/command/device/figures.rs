//! Figures that follow from a description: means over the whole device, and the depth of a policy.

use forebay_core::DeviceCost;
use forebay_device::scheduler::SchedulerKind;
use forebay_device::{Description, Error};
use serde::Serialize;

/// A device's figures, as `device list` has them.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    name: String,
    kind: &'static str,
    /// `None` for a device without places.
    capacity_bytes: Option<u64>,
    /// Between two independent random places, without overheads. `None` for a device without an
    /// arm.
    mean_seek_ms: Option<f64>,
    half_revolution_ms: Option<f64>,
    /// The mean cost of going to a random place, all together. For a device without an arm it is
    /// the time to the first byte.
    switch_ms: f64,
    /// The mean over all places, of one request once its bytes flow.
    rate_mb_s: f64,
    channels: u32,
    /// At the middle of the device, for a mean distance (CP Eq. 5).
    competitive_depth_bytes: u64,
    about: String,
}

impl Figures {
    /// The figures of a device.
    pub(super) fn of(description: &Description) -> Result<Figures, Error> {
        let queue = description.queue(0, &SchedulerKind::default())?;
        let cost = queue.cost();
        let arm = cost.seek.len() > 1;
        let ms = |nanos: u64| nanos as f64 / 1e6;
        let overhead = cost.seek_time(0);
        Ok(Figures {
            name: description.name.clone(),
            kind: description.model.kind(),
            capacity_bytes: Some(queue.capacity()).filter(|&bytes| bytes > 0),
            mean_seek_ms: arm.then(|| mean_seek_ms(&cost) - ms(overhead)),
            half_revolution_ms: arm.then(|| ms(cost.half_revolution)),
            switch_ms: if arm { mean_seek_ms(&cost) + ms(cost.half_revolution) } else { ms(overhead) },
            rate_mb_s: mean_rate_mb_s(&cost),
            channels: cost.channels,
            competitive_depth_bytes: cost.competitive_depth(cost.mean_distance(), cost.capacity / 2),
            about: description.about.clone(),
        })
    }
}

/// The mean of f_seek over pairs of independent places, milliseconds: a distance of the share x of
/// the device is as frequent as 2 (1 − x).
fn mean_seek_ms(cost: &DeviceCost) -> f64 {
    const STEPS: u32 = 10_000;
    let share = |step: u32| (f64::from(step) + 0.5) / f64::from(STEPS);
    let one = |x: f64| 2.0 * (1.0 - x) * cost.seek_time((x * cost.capacity as f64) as u64) as f64;
    (0..STEPS).map(share).map(one).sum::<f64>() / f64::from(STEPS) / 1e6
}

/// The mean of f_transfer over all places, megabytes a second.
fn mean_rate_mb_s(cost: &DeviceCost) -> f64 {
    let ends = cost.zones.iter().skip(1).map(|zone| zone.0).chain([cost.capacity]);
    let bytes = cost.zones.iter().zip(ends).map(|(&(from, rate), end)| rate as f64 * end.saturating_sub(from) as f64);
    let mean = bytes.sum::<f64>() / cost.capacity as f64;
    if cost.capacity > 0 { mean / 1e6 } else { cost.transfer_rate(0) as f64 / 1e6 }
}

#[cfg(test)]
mod tests {
    use forebay_device::device;

    use super::*;

    fn figures(name: &str) -> Figures {
        Figures::of(&device(name).expect("shipped")).expect("possible")
    }

    /// CP §2: 51.3 MB/s, 7.53 ms, 3.00 ms of the IBM drive justify "around 540 KB".
    #[test]
    fn the_papers_disk_has_the_papers_figures() {
        let ibm = figures("ibm-10k");
        assert!((ibm.mean_seek_ms.expect("an arm") - 7.53).abs() < 0.05, "{ibm:?}");
        assert_eq!(ibm.half_revolution_ms, Some(3.0));
        assert!((ibm.rate_mb_s - 51.3).abs() < 0.5, "{ibm:?}");
        assert!((500_000..580_000).contains(&ibm.competitive_depth_bytes), "{ibm:?}");
        assert_eq!((ibm.kind, ibm.channels), ("disk", 1));
    }

    #[test]
    fn what_has_no_arm_has_no_seek() {
        let store = figures("object-store");
        assert_eq!((store.capacity_bytes, store.mean_seek_ms, store.half_revolution_ms), (None, None, None));
        assert_eq!((store.switch_ms, store.rate_mb_s, store.competitive_depth_bytes), (20.0, 90.0, 1_800_000));
        assert_eq!(figures("ssd").capacity_bytes, Some(1_000_000_000_000));
    }
}

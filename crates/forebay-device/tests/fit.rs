//! Fits recover known parameters under noise and outliers, and the IBM drive's own curves.

use forebay_core::Instant;
use forebay_device::fit::{DiskSample, FlatSample, fit_disk, fit_latency_rate};
use forebay_device::random::Random;
use forebay_device::{Request, device};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Time to first byte and rate within a tenth, with log-normal first bytes and one read in ten
    /// up to 30 times too slow.
    #[test]
    fn latency_and_rate_survive_outliers(
        first_ms in 0.05f64..100.0,
        mb_s in 5.0f64..2000.0,
        spread in 0.0f64..0.4,
        seed in any::<u64>(),
    ) {
        let mut random = Random::new(seed);
        let mut samples = Vec::new();
        for i in 0..220u32 {
            // Lengths up to where the transfer takes several times the first byte, as a profiler
            // would choose them.
            let most = (first_ms * mb_s * 1e3 * 8.0).max(1e6) as u64;
            let len = (most >> (11 - i % 12)).max(4096) ;
            let first = first_ms * 1e6 * (spread * random.normal()).exp();
            let slow = if i % 10 == 7 { 1.0 + 29.0 * random.unit() } else { 1.0 };
            samples.push(FlatSample { len, nanos: ((first + len as f64 / mb_s * 1e3) * slow) as u64 });
        }
        let fit = fit_latency_rate(&samples).unwrap();
        prop_assert!((fit.rate as f64 / mb_s / 1e6 - 1.0).abs() < 0.1, "{} MB/s as {:?}", mb_s, fit);
        // A tenth of one-sided outliers moves the median by about an eighth of the spread; chance
        // adds some.
        prop_assert!((fit.first_byte as f64 / first_ms / 1e6 - 1.0).abs() < 0.1 + 0.5 * spread, "{} ms as {:?}", first_ms, fit);
    }

    /// A made-up disk: a + b·√d, a revolution, two rates; one read in twenty is an outlier.
    #[test]
    fn disks_survive_outliers(
        a_ms in 0.3f64..3.0,
        b_ms in 2.0f64..15.0,
        turn_ms in 3.0f64..12.0,
        outer in 40.0f64..250.0,
        seed in any::<u64>(),
    ) {
        let capacity = 1u64 << 36;
        let mut random = Random::new(seed);
        let mut samples = Vec::new();
        for i in 0..4000u32 {
            let place = random.below(capacity);
            let rate = if place < capacity / 2 { outer } else { outer * 0.6 };
            let slow = if i % 20 == 3 { 5.0 } else { 1.0 };
            if i % 4 == 0 {
                let jitter = 1.0 + 0.02 * random.normal();
                let nanos = (1e6 / rate * 1e3 * jitter * slow) as u64;
                samples.push(DiskSample { distance: 0, place, len: 1_000_000, nanos });
            } else {
                let distance = (capacity as f64 * random.unit().powi(2)) as u64 + 1;
                let seek = a_ms + b_ms * (distance as f64 / capacity as f64).sqrt();
                let nanos = (seek + turn_ms * random.unit()) * 1e6 + 4096.0 / rate * 1e3;
                samples.push(DiskSample { distance, place, len: 4096, nanos: (nanos * slow) as u64 });
            }
        }
        let fit = fit_disk(&samples, capacity).unwrap();
        prop_assert!((fit.half_revolution as f64 / turn_ms / 0.5e6 - 1.0).abs() < 0.2, "{} ms as {:?}", turn_ms, fit);
        for share in [0.05, 0.2, 0.5, 0.9f64] {
            let want = (a_ms + b_ms * share.sqrt() + turn_ms / 2.0) * 1e6;
            let cost = cost(&fit, capacity);
            let got = cost.switch_cost((share * capacity as f64) as u64) as f64;
            prop_assert!((got / want - 1.0).abs() < 0.2, "at {}: {} for {}", share, got, want);
        }
        for (place, want) in [(capacity / 5, outer), (capacity / 5 * 4, outer * 0.6)] {
            let got = cost(&fit, capacity).transfer_rate(place) as f64 / 1e6;
            prop_assert!((got / want - 1.0).abs() < 0.03, "{} for {}", got, want);
        }
    }
}

fn cost(fit: &forebay_device::fit::DiskFit, capacity: u64) -> forebay_core::DeviceCost {
    forebay_core::DeviceCost {
        seek: fit.seek.clone(),
        half_revolution: fit.half_revolution,
        zones: fit.zones.clone(),
        capacity,
        channels: 1,
    }
}

/// The IBM drive, measured through its own model: its curve within 6 %, its zones within 5 %, the
/// depth within 5 %.
#[test]
fn the_models_own_curve_comes_back() {
    let mut disk = device("ibm-10k").unwrap().build(0).unwrap();
    let capacity = disk.capacity();
    let mut random = Random::new(11);
    let mut samples = Vec::new();
    let (mut now, mut last) = (Instant(0), 0u64);
    let mut read = |place: u64, len: u64, samples: &mut Vec<DiskSample>| {
        let begin = now.plus(777_777);
        now = disk.serve(if place == last { now } else { begin }, Request::read(place, len));
        let nanos = if place == last { now.since(begin) + 777_777 } else { now.since(begin) };
        samples.push(DiskSample { distance: place.abs_diff(last), place, len, nanos });
        last = place + len;
    };
    for _ in 0..1500 {
        read(random.below(capacity / 4096 - 1) * 4096, 4096, &mut samples);
    }
    for part in 0..32 {
        let from = (capacity - (16 << 20)) / 32 * part;
        for i in 0..8 {
            read(from / 4096 * 4096 + (i << 20), 1 << 20, &mut samples);
        }
    }
    let fitted = cost(&fit_disk(&samples, capacity).unwrap(), capacity);
    let truth = device("ibm-10k").unwrap().build(0).unwrap().cost();
    for share in [5, 20, 33, 50, 80] {
        let distance = capacity / 100 * share;
        let ratio = fitted.switch_cost(distance) as f64 / truth.switch_cost(distance) as f64;
        assert!((ratio - 1.0).abs() < 0.06, "at {share} %: {ratio}");
        // A sixteenth of the disk straddles two of its zones.
        let ratio = fitted.transfer_rate(distance) as f64 / truth.transfer_rate(distance) as f64;
        assert!((ratio - 1.0).abs() < 0.05, "at {share} %: {ratio}");
    }
    let half = fitted.half_revolution as f64 / 3e6;
    assert!((half - 1.0).abs() < 0.15, "{half}");
    let depth = |cost: &forebay_core::DeviceCost| cost.competitive_depth(capacity / 3, capacity / 2) as f64;
    assert!((depth(&fitted) / depth(&truth) - 1.0).abs() < 0.05);
}

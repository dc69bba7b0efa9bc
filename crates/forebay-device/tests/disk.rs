//! Disks against closed forms, and against the figures of the papers' drives.

use forebay_core::Instant;
use forebay_device::disk::{Description as DiskDescription, Disk};
use forebay_device::random::Random;
use forebay_device::{Model, ModelDescription, Request, Rotation, device};
use proptest::prelude::*;

fn description(name: &str) -> DiskDescription {
    match device(name).unwrap().model {
        ModelDescription::Disk(disk) => disk,
        other => panic!("{name} is no disk: {other:?}"),
    }
}

fn disk(name: &str) -> Disk {
    Disk::new(&description(name)).unwrap()
}

fn near(got: f64, want: f64, share: f64) {
    assert!((got / want - 1.0).abs() < share, "{got} is not within {share} of {want}");
}

/// CP §2: "the average seek time (between two independent random disk locations) is 7.53 ms".
#[test]
fn ibm_seeks_7_53_ms_between_random_places() {
    let disk = disk("ibm-10k");
    let mut random = Random::new(1);
    let n = 200_000;
    let mut seek = || disk.seek_time(random.below(disk.capacity()), random.below(disk.capacity()));
    let mean = (0..n).map(|_| seek()).sum::<f64>() / f64::from(n);
    near(mean, 7.53e6, 0.01);
    near(disk.capacity() as f64, 36.4e9, 0.002);
}

/// CP §2: "the average transfer speed is 51.3 MB/sec", "the average rotational delay is 3.00 ms".
#[test]
fn ibm_transfers_51_3_mb_s_on_average() {
    let disk = disk("ibm-10k");
    let cost = disk.cost();
    let n = 10_000;
    let rates = (0..n).map(|i| cost.transfer_rate(disk.capacity() / n * i) as f64);
    near(rates.sum::<f64>() / n as f64, 51.3e6, 0.01);
    assert_eq!(cost.half_revolution, 3_000_000);
    assert!(cost.transfer_rate(0) > 60_000_000 && cost.transfer_rate(cost.capacity - 1) < 40_000_000);
}

/// CP §2: "the average seek and rotational delays justify transferring around 540 KB of data".
#[test]
fn ibm_justifies_540_kb() {
    let cost = disk("ibm-10k").cost();
    let n = 1000;
    let depths = (0..n).map(|i| cost.competitive_depth(cost.mean_distance(), cost.capacity / n * i) as f64);
    near(depths.sum::<f64>() / n as f64, 540e3, 0.02);
}

/// One random read: seek + half a revolution + transfer + overhead, on average, with the platters' angle kept or not.
#[test]
fn a_random_read_costs_seek_half_a_turn_and_transfer() {
    for rotation in [Rotation::Exact, Rotation::Mean] {
        let mut disk = Disk::new(&DiskDescription { rotation, ..description("ibm-10k") }).unwrap();
        let mut random = Random::new(2);
        let (mut now, n, len) = (Instant(0), 20_000, 4096);
        for _ in 0..n {
            let start = random.below(disk.capacity() / 4096 - 1) * 4096;
            now = disk.serve(now.plus(random.below(10_000_000)), Request::read(start, len));
        }
        // The think time is uniform below 10 ms.
        let mean = now.0 as f64 / f64::from(n) - 5e6;
        near(mean, 7.53e6 + 3.0e6 + 0.05e6 + len as f64 / 57e6 * 1e9, 0.01);
    }
}

/// One sequential run: the zone's rate, whether the next read is asked for at once or after a little thought (overhead,
/// bus and thought together within the 1.28 ms that the media take).
#[test]
fn sequential_reads_run_at_the_media_rate() {
    for think in [0, 300_000, 700_000] {
        for rotation in [Rotation::Exact, Rotation::Mean] {
            let mut disk = Disk::new(&DiskDescription { rotation, ..description("ibm-10k") }).unwrap();
            let from = disk.capacity() / 2;
            let first = disk.serve(Instant(0), Request::read(from, 65536));
            let mut now = first;
            let n = 500;
            for i in 1..=n {
                now = disk.serve(now.plus(think), Request::read(from + i * 65536, 65536));
            }
            let rate = (n * 65536) as f64 / now.since(first) as f64 * 1e9;
            near(rate, disk.cost().transfer_rate(from) as f64, 0.01);
        }
    }
}

/// What a large sequential read takes is what the zone's long-run rate says, switches included.
#[test]
fn a_long_read_goes_at_the_zones_rate() {
    let mut disk = disk("ibm-10k");
    let zones = disk.cost().zones;
    for &(from, rate) in &zones {
        let request = Request::read(from, 200 << 20);
        let begin = disk.serve(Instant(100_000_000_000), Request::read(from, 512));
        let end = disk.serve(begin, request);
        near(request.len as f64 / end.since(begin) as f64 * 1e9, rate as f64, 0.01);
    }
}

/// Thinking for longer than the segment takes to fill: the next reads come over the bus, and the head catches up.
#[test]
fn read_ahead_answers_at_the_speed_of_the_bus() {
    let mut disk = disk("ibm-10k");
    let first = disk.serve(Instant(0), Request::read(1 << 30, 65536));
    let later = first.plus(50_000_000);
    let hit = disk.serve(later, Request::read((1 << 30) + 65536, 65536));
    near(hit.since(later) as f64, 0.05e6 + 65536.0 / 160e6 * 1e9, 0.01);
    // The segment held 512 KiB: what lies beyond is read only now.
    let beyond = disk.serve(hit, Request::read((1 << 30) + (640 << 10), 65536));
    assert!(beyond.since(hit) > 1_100_000, "{}", beyond.since(hit));
}

/// Without the cache on board, each sequential read waits for its place to come round again.
#[test]
fn without_read_ahead_a_revolution_is_lost() {
    let mut disk = Disk::new(&DiskDescription { cache: Default::default(), ..description("ibm-10k") }).unwrap();
    let mut now = disk.serve(Instant(0), Request::read(0, 4096));
    let before = now;
    for i in 1..=100 {
        now = disk.serve(now, Request::read(i * 4096, 4096));
    }
    let each = now.since(before) as f64 / 100.0;
    near(each, 6e6 + 4096.0 / 69e6 * 1e9, 0.03);
}

#[test]
fn rereading_comes_from_the_segment() {
    let mut disk = disk("ibm-10k");
    let end = disk.serve(Instant(0), Request::read(7 << 30, 65536));
    let away = disk.serve(end, Request::read(1 << 30, 4096));
    let again = disk.serve(away, Request::read(7 << 30, 4096));
    assert!(again.since(away) < 200_000, "{}", again.since(away));
}

proptest! {
    /// Laws of every shipped device, whatever is asked of it and whenever.
    #[test]
    fn service_never_ends_before_it_can(
        name in proptest::sample::select(vec!["ibm-10k", "seagate-10k", "object-store", "ssd"]),
        requests in proptest::collection::vec((any::<u64>(), 0u64..4_000_000, 0u64..30_000_000), 1..60),
        seed in any::<u64>(),
    ) {
        let description = device(name).unwrap();
        let (mut model, mut twin) = (description.build(seed).unwrap(), description.build(seed).unwrap());
        let mut now = Instant(0);
        for (start, len, think) in requests {
            let request = Request::read(start, len);
            let begin = now.plus(think);
            let end = model.serve(begin, request);
            prop_assert!(end >= begin, "{:?} {:?}", begin, end);
            prop_assert_eq!(end, twin.serve(begin, request), "same seed, same times");
            // No faster than anything in the machine: the bus of the disks, one connection, one flash channel.
            let limit = match name { "object-store" => 90e6, "ssd" => 900e6, _ => 161e6 };
            let inside = if model.capacity() == 0 { len } else { len.min(model.capacity() - start % model.capacity()) };
            prop_assert!(end.since(begin) as f64 + 1.0 >= inside as f64 * 1e9 / limit);
            // No slower than a full stroke, two turns and the transfer at the hub (disks).
            if name.ends_with("10k") {
                prop_assert!(end.since(begin) as f64 <= 17e6 + 12e6 + (inside + 4096) as f64 / 36e6 * 1e9);
            }
            now = end;
        }
    }

    /// Asking for more of the same never takes less time.
    #[test]
    fn longer_reads_take_longer(start in 0u64..36_000_000_000, len in 1u64..8_000_000, more in 1u64..8_000_000) {
        let disk = disk("ibm-10k");
        let serve = |len| disk.clone().serve(Instant(12_345_678), Request::read(start, len));
        prop_assert!(serve(len) <= serve(len + more));
    }

    #[test]
    fn costs_rise_with_distance_and_fall_with_place(a in 0u64..36_000_000_000, b in 0u64..36_000_000_000) {
        let cost = disk("ibm-10k").cost();
        let (low, high) = (a.min(b), a.max(b));
        prop_assert!(cost.seek_time(low) <= cost.seek_time(high));
        prop_assert!(cost.transfer_rate(low) >= cost.transfer_rate(high));
    }
}

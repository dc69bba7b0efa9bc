//! Disks against closed forms, and against the figures of the papers' drives.

use forebay_core::Instant;
use forebay_device::curve::Point;
use forebay_device::disk::{Description as DiskDescription, Disk};
use forebay_device::random::Random;
use forebay_device::seek_curve::SeekCurve;
use forebay_device::zones::Zones;
use forebay_device::{Cache, Model, ModelDescription, Request, Rotation, device};
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

/// One random read: seek + half a revolution + transfer + overhead, on average, with the platters'
/// angle kept or not.
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

/// One sequential run: the zone's rate, whether the next read is asked for at once or after a
/// little thought (overhead, bus and thought together within the 1.28 ms that the media take).
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

/// A large sequential read takes as long as the zone's long-run rate says, switches included.
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

/// A bus that is slower than the media sets the rate, and the cost says so.
#[test]
fn a_slow_bus_sets_the_rate() {
    let mut disk = disk("cheetah-9lp");
    let cost = disk.cost();
    let begin = disk.serve(Instant(0), Request::read(1 << 30, 512));
    let end = disk.serve(begin, Request::read((1 << 30) + 512, 50 << 20));
    near((50 << 20) as f64 / end.since(begin) as f64 * 1e9, cost.transfer_rate(1 << 30) as f64, 0.01);
    assert!(cost.transfer_rate(1 << 30) < 5_000_000);
}

/// Thinking for longer than the segment takes to fill: the next reads come over the bus, and the
/// head catches up.
#[test]
fn read_ahead_answers_at_the_speed_of_the_bus() {
    let mut disk = disk("ibm-10k");
    let first = disk.serve(Instant(0), Request::read(1 << 30, 65536));
    let later = first.plus(50_000_000);
    let hit = disk.serve(later, Request::read((1 << 30) + 65536, 65536));
    near(hit.since(later) as f64, 0.05e6 + 65536.0 / 160e6 * 1e9, 0.01);
    // The segment held 512 KiB: the sectors beyond are read only now.
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

/// A disk for closed forms: 6000 rpm, so 10 ms a revolution; two surfaces, ten cylinders of 100
/// sectors a track and ten of 50; switches of 1 and 2 ms, seeks of 3 ms, 0.5 ms a command, 512
/// bytes in 0.01 ms over the bus; no cache.
fn plain() -> DiskDescription {
    DiskDescription {
        rpm: 6000.0,
        heads: 2,
        overhead_ms: 0.5,
        head_switch_ms: 1.0,
        cylinder_switch_ms: Some(2.0),
        bus_mb_s: 51.2,
        seek: SeekCurve::through(vec![Point { at: 1.0, value: 3.0 }]),
        cache: Cache::default(),
        zones: Zones { cylinders: vec![10, 10], sectors: vec![100, 50] },
        ..description("ibm-10k")
    }
}

const SECTOR: u64 = 512;

fn ms(disk: &mut Disk, at_ms: f64, request: Request) -> f64 {
    let at = Instant((at_ms * 1e6) as u64);
    disk.serve(at, request).since(at) as f64 / 1e6
}

/// One random read, by hand. Sector 1030 is on track 10 (cylinder 5, surface 0), 30 sectors from
/// its start. Five cylinders begin 5 · (1 · 10 + 20) = 150 sectors later on the circle: it comes by
/// at (30 + 150) / 100 = 1.8, or 0.8, revolutions, 8 ms. Asked for at 1 ms: 0.5 ms of overhead and
/// 3 ms of seek end at 4.5 ms, the head waits 3.5 ms, reads four sectors in 0.4 ms, and the last
/// one takes 0.01 ms over the bus: 7.41 ms.
#[test]
fn a_random_read_by_hand() {
    let mut disk = Disk::new(&plain()).unwrap();
    let took = ms(&mut disk, 1.0, Request::read(1030 * SECTOR, 4 * SECTOR));
    assert!((took - 7.41).abs() < 1e-6, "{took}");
    // The same at 6 ms is past the sector by 1.5 ms and waits for the next revolution.
    let took = ms(&mut Disk::new(&plain()).unwrap(), 6.0, Request::read(1030 * SECTOR, 4 * SECTOR));
    assert!((took - 12.41).abs() < 1e-6, "{took}");
}

/// One sequential run across a zone's end, by hand. Sectors 1950 … 2099: 50 of the last track of
/// the first zone, the 50 of the next zone's first track, and 50 more. Track 19 (cylinder 9,
/// surface 1) begins at 9 · 30 + 10 = 280 sectors, or 0.8 revolutions; sector 1950 at 3 ms, the run
/// is read to 8 ms. The next zone begins at angle 0, so at 10 ms, which covers the 2 ms to the next
/// cylinder, and takes the whole revolution to 20 ms; its second track begins 5 sectors of 0.2 ms
/// later, at 21 ms, and ends at 31 ms.
#[test]
fn a_sequential_run_across_a_zone_by_hand() {
    let mut disk = Disk::new(&plain()).unwrap();
    let took = ms(&mut disk, 0.0, Request::read(1949 * SECTOR, SECTOR));
    // Overhead and seek end at 3.5 ms, half a millisecond too late for sector 1949: a revolution
    // later.
    assert!((took - 13.01).abs() < 1e-6, "{took}");
    let took = ms(&mut Disk::new(&plain()).unwrap(), 9.0, Request::read(1950 * SECTOR, 150 * SECTOR));
    assert!((took - (13.0 - 9.0 + 28.0 + 0.01)).abs() < 1e-6, "{took}");
}

/// A write waits for the media without a cache; with one, the host is done when the bus is, and the
/// next read waits for the arm. By hand: the data of four sectors are there at 1 + 0.5 + 0.04 ms;
/// the media at 8.4 ms, as in the read.
#[test]
fn writes_by_hand() {
    let request = Request::write(1030 * SECTOR, 4 * SECTOR);
    let through = ms(&mut Disk::new(&plain()).unwrap(), 1.0, request);
    assert!((through - 7.4).abs() < 1e-6, "{through}");
    let mut settling = DiskDescription { write_settle_ms: 3.6, ..plain() };
    // Settling takes the head past the sector, by 0.1 ms.
    let settled = ms(&mut Disk::new(&settling).unwrap(), 1.0, request);
    assert!((settled - 17.4).abs() < 1e-6, "{settled}");
    settling.write_settle_ms = 0.0;
    settling.cache = Cache::new(2, 64.0);
    let mut disk = Disk::new(&settling).unwrap();
    let cached = ms(&mut disk, 1.0, request);
    assert!((cached - 0.54).abs() < 1e-6, "{cached}");
    // The written data are on board.
    let hit = ms(&mut disk, 2.0, Request::read(1030 * SECTOR, 4 * SECTOR));
    assert!((hit - 0.54).abs() < 1e-6, "{hit}");
    // The arm is free at 8.4 ms and 3 ms later at cylinder 0, whose first sector comes by at 20 ms.
    let after = ms(&mut disk, 3.0, Request::read(0, SECTOR));
    assert!((after - (20.0 - 3.0 + 0.11)).abs() < 1e-6, "{after}");
}

/// A write that continues the one under way joins it: the head finds the data there when it comes,
/// and loses no revolution.
#[test]
fn sequential_writes_join() {
    let mut disk = Disk::new(&DiskDescription { cache: Cache::new(2, 64.0), ..plain() }).unwrap();
    let mut now = 0.0;
    for i in 0..20 {
        now += ms(&mut disk, now, Request::write((1000 + 4 * i) * SECTOR, 4 * SECTOR));
    }
    // 80 sectors are on the media 8 ms after the first one is, not 20 revolutions after.
    let read = now + ms(&mut disk, now, Request::read(1500 * SECTOR, SECTOR));
    assert!(now < 20.0 * 0.55 && read < 40.0, "{now} {read}");
}

/// SAC Table 2, each row by its own figures: years, MB/s, mean seek and mean rotational delay in
/// ms.
#[test]
fn the_9lzx_ages_as_in_the_paper() {
    let table = [
        (0, 20.0, 5.30, 3.00),
        (1, 14.3, 5.89, 3.33),
        (2, 10.2, 6.54, 3.69),
        (3, 7.29, 7.27, 4.11),
        (4, 5.21, 8.08, 4.56),
        (5, 3.72, 8.98, 5.07),
        (6, 2.66, 9.97, 5.63),
        (7, 1.90, 11.1, 6.26),
        (8, 1.36, 12.3, 6.96),
        (9, 0.97, 13.7, 7.73),
        (10, 0.69, 15.2, 8.59),
    ];
    let size = disk("ibm-9lzx").capacity() as f64;
    near(size, 9.1e9, 0.01);
    for (years, mb_s, seek, rotation) in table {
        let disk = disk(&format!("ibm-9lzx@{years}"));
        let mut random = Random::new(years);
        let n = 100_000;
        let mut far = || disk.seek_time(random.below(disk.capacity()), random.below(disk.capacity()));
        near((0..n).map(|_| far()).sum::<f64>() / f64::from(n) / 1e6, seek, 0.006);
        near(disk.revolution() / 2e6, rotation, 0.004);
        let cost = disk.cost();
        let rates = (0..1000).map(|i| cost.transfer_rate(disk.capacity() / 1000 * i) as f64);
        near(rates.sum::<f64>() / 1000.0 / 1e6, mb_s, 0.006);
        near(disk.capacity() as f64, size, 0.01);
    }
}

/// SAC §4.1: on the cylinder of the request before, only the transfer; elsewhere a seek and any
/// part of a revolution.
#[test]
fn the_9lzx_needs_no_seek_on_its_cylinder() {
    let mut disk = disk("ibm-9lzx").seeded(7);
    let first = disk.serve(Instant(0), Request::read(0, 8192));
    let again = disk.serve(first, Request::read(1 << 20, 8192));
    // 16 of 272 sectors of a 6 ms revolution, the last one over the bus.
    near(again.since(first) as f64, 16.0 / 272.0 * 6e6 + 6400.0, 1e-3);
    let mut random = Random::new(3);
    let (mut now, n) = (again, 20_000);
    for _ in 0..n {
        now = disk.serve(now, Request::read(random.below(disk.capacity() / 8192) * 8192, 8192));
    }
    near(now.since(again) as f64 / f64::from(n), 5.30e6 + 3.0e6 + 8192.0 / 20e6 * 1e9, 0.01);
}

proptest! {
    /// Laws of every shipped device, for any request at any time.
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
            // No faster than anything in the machine: the bus of the disks, one connection, one
            // flash channel.
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

    /// Laws of every shipped disk, read and written. No request ends before it began, and a twin
    /// does the same. Nothing takes longer than a stroke and some revolutions, the transfer, and
    /// the writing of data still on board.
    #[test]
    fn every_disk_serves_reads_and_writes(
        name in proptest::sample::select(vec!["barracuda", "cheetah-9lp", "hp-c3323a", "ibm-10k", "ibm-18es", "ibm-9lzx@4"]),
        requests in proptest::collection::vec((any::<bool>(), any::<u64>(), 1u64..200, 0u64..30_000_000), 1..60),
        near in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let description = device(name).unwrap();
        let (mut model, mut twin) = (description.build(seed).unwrap(), description.build(seed).unwrap());
        let mut now = Instant(0);
        for (write, start, sectors, think) in requests {
            let start = if near { start % 2000 } else { start % (model.capacity() / SECTOR) } * SECTOR;
            let request = Request { write, ..Request::read(start, sectors * SECTOR) };
            let begin = now.plus(think);
            let end = model.serve(begin, request);
            prop_assert!(end >= begin);
            prop_assert_eq!(end, twin.serve(begin, request), "same seed, same times");
            prop_assert!(end.since(begin) < 300_000_000, "{:?} took {} ms", request, end.since(begin) / 1_000_000);
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

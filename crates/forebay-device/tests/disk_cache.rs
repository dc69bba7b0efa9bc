//! A disk's cache against closed forms: which sectors it reads ahead and keeps, and when data go
//! over the bus.

use forebay_core::Instant;
use forebay_device::curve::Point;
use forebay_device::disk::{Description, Disk};
use forebay_device::overheads::Overheads;
use forebay_device::seek_curve::SeekCurve;
use forebay_device::zones::Zones;
use forebay_device::{Cache, Model, ReadAhead, Request, Rotation};

const SECTOR: u64 = 512;

/// 6000 rpm, so 10 ms a revolution; two surfaces of 100 sectors a track, so 0.1 ms a sector;
/// switches of 1 and 2 ms, seeks of 3 ms, 0.5 ms a command, 0.01 ms a sector over the bus. Its head
/// stands on the first track.
fn description(cache: Cache) -> Description {
    Description {
        rpm: 6000.0,
        heads: 2,
        overhead_ms: 0.5,
        head_switch_ms: 1.0,
        cylinder_switch_ms: Some(2.0),
        write_settle_ms: 0.0,
        bus_mb_s: 51.2,
        commands: 1,
        rotation: Rotation::Exact,
        sequential_cylinder: false,
        seek: SeekCurve::through(vec![Point { at: 1.0, value: 3.0 }]),
        overheads: None,
        cache,
        zones: Zones { cylinders: vec![10], sectors: vec![100] },
        layout: None,
    }
}

fn disk(cache: Cache) -> Disk {
    Disk::new(&description(cache)).expect("a small disk")
}

/// Milliseconds that sectors `first..end` take, asked for at `at` milliseconds.
fn read(disk: &mut Disk, at: f64, first: u64, end: u64) -> f64 {
    let at = Instant((at * 1e6) as u64);
    disk.serve(at, Request::read(first * SECTOR, (end - first) * SECTOR)).since(at) as f64 / 1e6
}

fn is(got: f64, want: f64) {
    assert!((got - want).abs() < 1e-6, "{got} ms, not {want}");
}

const HIT: f64 = 0.5 + 4.0 * 0.01;

/// The head is above sector 5 at 0.5 ms, above sector 20 at 2 ms, and through with sector 69 at 7
/// ms.
#[test]
fn data_go_over_the_bus_as_they_come_or_all_at_once() {
    is(read(&mut disk(Cache::new(1, 64.0)), 0.0, 20, 70), 7.0 + 0.01);
    let whole = Cache { watermark: 1.0, ..Cache::new(1, 64.0) };
    is(read(&mut disk(whole), 0.0, 20, 70), 7.0 + 50.0 * 0.01);
    // Half of it is there at 4.5 ms; the rest is read faster than the bus could take it only if the
    // bus is slow.
    let half = Cache { watermark: 0.5, ..Cache::new(1, 64.0) };
    is(read(&mut disk(half), 0.0, 20, 70), 7.0 + 0.01);
}

/// Asked for at 3.5 ms, the head is above sector 40 of 20 to 69 at 4 ms. In order, it begins at 12
/// ms and ends at 17 ms; as they come, sectors 40 to 69 are read first and 39 is the last one, at
/// 14 ms.
#[test]
fn sectors_are_taken_in_order_or_as_they_come() {
    is(read(&mut disk(Cache::default()), 3.5, 20, 70), 17.0 - 3.5 + 0.01);
    let arrival = Cache { reads_on_arrival: true, ..Cache::default() };
    is(read(&mut disk(arrival), 3.5, 20, 70), 14.0 - 3.5 + 0.01);
    // Before the first one there is nothing to gain, nor on two tracks.
    is(read(&mut disk(arrival), 0.0, 20, 70), 7.01);
    let two = read(&mut disk(arrival), 3.5, 20, 120);
    is(two, read(&mut disk(Cache::default()), 3.5, 20, 120));
    // A write likewise, whose data must be there first.
    let writes = Cache { writes_on_arrival: true, ..Cache::default() };
    let request = Request::write(20 * SECTOR, 50 * SECTOR);
    let took = disk(writes).serve(Instant(3_500_000), request).since(Instant(3_500_000)) as f64 / 1e6;
    // The last datum comes at 4 + 0.5 ms; from sector 41 on, since the first one comes at 4.01 ms:
    // 40 is the last one.
    is(took, 14.1 - 3.5);
}

#[test]
fn what_passes_before_the_request_may_be_kept() {
    let keeps = Cache { reads_before: true, read_ahead: ReadAhead::None, ..Cache::new(2, 64.0) };
    for (cache, kept) in [(keeps, true), (Cache { reads_before: false, ..keeps }, false)] {
        let mut disk = disk(cache);
        is(read(&mut disk, 0.0, 20, 24), 2.4 + 0.01);
        assert_eq!(read(&mut disk, 50.0, 6, 10) < HIT + 1e-6, kept);
        assert!(read(&mut disk, 90.0, 2, 4) > HIT + 1e-6, "the head came later");
    }
}

/// How far each kind reads on after sectors 20 to 23, given all the time it wants: to the end of
/// the track (100), of the cylinder (200), of the segment (24 + 512).
#[test]
fn the_head_reads_on_as_far_as_it_is_told() {
    let kinds = [
        (ReadAhead::None, 24),
        (ReadAhead::Track, 100),
        (ReadAhead::Cylinder, 200),
        (ReadAhead::NextTrack, 100),
        (ReadAhead::Segment, 24 + 512),
    ];
    for (read_ahead, end) in kinds {
        let cache = Cache { read_ahead, read_ahead_on_hit: false, ..Cache::new(1, 256.0) };
        let after = |first| {
            let mut disk = disk(cache);
            read(&mut disk, 0.0, 20, 24);
            read(&mut disk, 500.0, first, first + 4)
        };
        is(after(end - 4), HIT);
        assert!(after(end) > HIT + 1e-6, "{read_ahead:?} beyond {end}");
        let most = Cache { most_read_ahead_kib: Some(2.0), ..cache };
        let mut disk = disk(most);
        read(&mut disk, 0.0, 20, 24);
        assert!(read(&mut disk, 500.0, 28, 32) > HIT + 1e-6, "2 KiB are four sectors");
    }
}

/// A track ahead of a sequential reader: a run that began on an earlier track is read to the end of
/// the next one.
#[test]
fn a_sequential_reader_is_a_track_behind() {
    let cache = Cache { read_ahead: ReadAhead::NextTrack, ..Cache::new(1, 256.0) };
    let run = |first| {
        let mut disk = disk(cache);
        read(&mut disk, 0.0, 20, 24);
        read(&mut disk, 100.0, 95, 105);
        read(&mut disk, 500.0, first, first + 4)
    };
    is(run(296), HIT);
    assert!(run(300) > HIT + 1e-6);
}

/// Without a bound of its own it reads to the end of that track, and the segment of 20 sectors
/// keeps the last ones: what follows the request is read, and gone.
#[test]
fn a_small_segment_slides_over_the_track() {
    let cache = Cache { read_ahead: ReadAhead::NextTrack, read_ahead_on_hit: false, ..Cache::new(1, 10.0) };
    let after = |cache, first| {
        let mut disk = disk(cache);
        read(&mut disk, 0.0, 20, 24);
        read(&mut disk, 100.0, first, first + 4)
    };
    is(after(cache, 96), HIT);
    is(after(cache, 80), HIT);
    assert!(after(cache, 79) > HIT + 1e-6 && after(cache, 24) > HIT + 1e-6);
    is(after(Cache { most_read_ahead_kib: Some(10.0), ..cache }, 24), HIT);
}

/// A read of the track under the head takes the least time that a description gives: from 0.5 ms,
/// when the head is above sector 5, to 2 ms, above sector 20. So sector 19 comes a revolution
/// later. A read that continues a sweep takes none, nor does a seek that is longer.
#[test]
fn a_read_takes_the_arm_a_least_time() {
    let cache = Cache::new(1, 64.0);
    let slow = || {
        let overheads = Some(Overheads { least_read_seek_ms: 1.5, ..Overheads::default() });
        Disk::new(&Description { overheads, ..description(cache) }).expect("a small disk")
    };
    is(read(&mut disk(cache), 0.0, 19, 23), 2.3 + 0.01);
    is(read(&mut slow(), 0.0, 20, 24), 2.4 + 0.01);
    is(read(&mut slow(), 0.0, 19, 23), 12.3 + 0.01);
    let sequential = |mut disk: Disk| {
        read(&mut disk, 0.0, 20, 24);
        read(&mut disk, 2.41, 29, 33)
    };
    is(sequential(slow()), sequential(disk(cache)));
    is(read(&mut slow(), 0.0, 1030, 1034), read(&mut disk(cache), 0.0, 1030, 1034));
    // The policies' cost has it: no read elsewhere is nearer than 1.5 ms, beside the command.
    let seek = slow().cost().seek;
    assert!(seek[0] == (0, 500_000) && seek[1..].iter().all(|point| point.1 >= 2_000_000), "{seek:?}");
}

/// 128 sectors must be read on after sector 23, at 2.4 ms: to the track's end at 10 ms, then, after
/// the switch, 52 sectors from 11 to 16.2 ms. Only then the arm goes to sector 1030, which comes by
/// at 8 ms of each revolution: 28 ms.
#[test]
fn the_least_read_ahead_comes_before_anything_else() {
    let mut greedy = disk(Cache { least_read_ahead_kib: 64.0, ..Cache::new(1, 256.0) });
    is(read(&mut greedy, 0.0, 20, 24), 2.41);
    is(read(&mut greedy, 2.41, 1030, 1034), 28.41 - 2.41);
    let mut other = disk(Cache::new(1, 256.0));
    read(&mut other, 0.0, 20, 24);
    is(read(&mut other, 2.41, 1030, 1034), 8.41 - 2.41);
}

/// Two streams, two segments: each continues from its own; a third one takes the oldest.
#[test]
fn streams_have_segments_of_their_own() {
    let mut disk = disk(Cache { read_ahead_on_hit: false, ..Cache::new(2, 16.0) });
    read(&mut disk, 0.0, 0, 4);
    read(&mut disk, 100.0, 1000, 1004);
    is(read(&mut disk, 200.0, 4, 8), HIT);
    is(read(&mut disk, 300.0, 1004, 1008), HIT);
    read(&mut disk, 400.0, 500, 504);
    is(read(&mut disk, 500.0, 1008, 1012), HIT);
    assert!(read(&mut disk, 600.0, 8, 12) > HIT + 1e-6, "its segment was taken");
}

/// A request for the sector under the head joins the sweep, or waits for it to come round again, as
/// the disk does it.
#[test]
fn the_sector_under_the_head() {
    // Asked for at 2.41 ms and looked at half a millisecond later, when the head is in sector 29 of
    // 29 to 32.
    let mut joins = disk(Cache::new(1, 64.0));
    read(&mut joins, 0.0, 20, 24);
    is(read(&mut joins, 2.41, 29, 33), 3.3 + 0.01 - 2.41);
    let mut waits = disk(Cache { joins_sweep: false, ..Cache::new(1, 64.0) });
    read(&mut waits, 0.0, 20, 24);
    is(read(&mut waits, 2.41, 29, 33), 13.3 + 0.01 - 2.41);
    // One sector earlier is on board in part, which is as good.
    let mut part = disk(Cache { joins_sweep: false, ..Cache::new(1, 64.0) });
    read(&mut part, 0.0, 20, 24);
    is(read(&mut part, 2.41, 28, 33), 3.3 + 0.01 - 2.41);
}

//! Worked examples of the papers, by their own numbers, and rules of streams.

use forebay_core::{Cause, DeviceCost, EventKind, Extent, FileId};

use crate::bench::{Bench, PAGE, Pace, ibm, runs, setup};

/// A file of a gigabyte is read.
const FILE: FileId = FileId(0);

fn bench(policy: &str, cost: DeviceCost) -> Bench {
    Bench::on(policy, setup(20_000, vec![cost]), Pace::EVENTS).with_files(1, GIGABYTE)
}

/// In pages.
const GIGABYTE: u64 = 1 << 18;

/// CPEM §2.2: "Typical series of prefetching depths used for a sequential access stream are: 16
/// pages → 18 pages → 32 pages → 32 pages". The next one is issued when a page in the ahead window
/// is accessed.
#[test]
fn linux_windows() {
    let mut bench = bench("linux", ibm());
    let issued_at: Vec<u64> = bench.issued(0, 0..100).into_iter().map(|(page, _)| page).collect();
    assert_eq!(bench.sizes()[..5], [16, 18, 32, 32, 32]);
    // First page; first sequential one; then the first page of each ahead window.
    assert_eq!(issued_at[..5], [0, 1, 16, 34, 66]);
}

/// CP §3.2: "Aggressive prefetching with a maximum prefetching depth of 256 pages".
#[test]
fn aggressive_windows() {
    let mut bench = bench("aggressive", ibm());
    for page in 0..1000 {
        bench.read(0, page, 1);
    }
    assert_eq!(bench.sizes()[..7], [16, 32, 64, 128, 256, 256, 256]);
}

/// CP §2: slow start from 16 pages by doubling, up to the depth that justifies one switch: 540 KB,
/// which is 131 pages.
#[test]
fn competitive_slow_start() {
    let mut bench = bench("competitive", ibm());
    for page in 0..800 {
        bench.read(0, page, 1);
    }
    assert_eq!(bench.sizes()[..7], [16, 32, 64, 128, 131, 131, 131]);
}

/// CP §2: the depth follows f_transfer(L): half the rate, half the depth.
#[test]
fn competitive_depth_follows_the_place() {
    let mut cost = ibm();
    cost.zones = vec![(0, 51_300_000), (1 << 29, 25_650_000)];
    let mut bench = bench("competitive", cost);
    let extent = Extent { file: FILE, start: 0, len: 1 << 18 };
    bench.tell(EventKind::Placed { extent, at_byte: 0 });
    for page in 0..800 {
        bench.read(0, page, 1);
    }
    let outer = *bench.sizes().last().unwrap();
    assert_eq!(outer, 131);
    for page in (1 << 17)..(1 << 17) + 800 {
        bench.read(0, page, 1);
    }
    let inner = *bench.sizes().last().unwrap();
    // One seek of half a gigabyte has brought the mean seek from 7.53 to 6.63 ms.
    assert_eq!(inner, (25_650_000 * (6_628 + 3_000) / 1_000_000 / PAGE) as u32);
}

/// CP §2: the depth follows f_seek(D_seek), the weighted mean of seek distances: short seeks, small
/// depth.
#[test]
fn competitive_depth_follows_seek_distances() {
    let mut bench = bench("competitive", ibm());
    // Two files, side by side on the disk, read in turn: every switch is short.
    bench.open(1, GIGABYTE);
    bench.tell(EventKind::Placed { extent: Extent { file: FILE, start: 0, len: 1 << 18 }, at_byte: 0 });
    let second = Extent { file: FileId(1), start: 0, len: 1 << 18 };
    bench.tell(EventKind::Placed { extent: second, at_byte: 1 << 30 });
    let mean = bench.core.devices()[0].seek_distance;
    for page in 0..10_000 {
        bench.read(0, page, 1);
        bench.read(1, page, 1);
    }
    let near = bench.core.devices()[0].seek_distance;
    assert!(near < mean / 8 && near >= 1 << 29, "{near} after {mean}");
    // A gigabyte away: 0.67 ms of seek and half a revolution, 46 pages.
    let depth = *bench.sizes().last().unwrap();
    assert!((44..=50).contains(&depth), "{depth}");
}

/// SCM §5.3: "with every block request, the next 4 blocks will be prefetched".
#[test]
fn fixed_degree() {
    let mut bench = bench("fixed", ibm());
    bench.read(0, 0, 1);
    bench.read(0, 1, 1);
    bench.read(0, 100, 1);
    assert_eq!(bench.runs(), [(0, 5), (5, 1), (100, 5)]);
    // Also when the block was there already.
    bench.read(0, 3, 1);
    assert_eq!(bench.runs()[3..], [(6, 2)]);
}

#[test]
fn one_block_lookahead() {
    let mut bench = bench("one-block", ibm());
    bench.read(0, 0, 1);
    bench.read(0, 1, 1);
    bench.read(0, 1, 1);
    assert_eq!(bench.runs(), [(0, 2), (2, 1)]);
}

/// "The slow-start phase used in all kernels quickly identifies the non-sequential access pattern
/// and avoids large prefetch operations" (CP §3.2): a random reader gets nothing beyond the initial
/// window, and soon not even that.
#[test]
fn random_readers_get_what_they_ask_for() {
    for policy in ["linux", "aggressive", "competitive"] {
        let mut bench = bench(policy, ibm());
        let mut page = 7u64;
        for _ in 0..200 {
            page = page * 48_271 % 262_144;
            bench.read(0, page, 1);
        }
        assert!(bench.sizes().iter().all(|&len| len <= 16), "{policy}: {:?}", bench.sizes());
        assert!(bench.sizes()[10..].iter().all(|&len| len == 1), "{policy}: {:?}", bench.sizes());
    }
}

/// A file of its own for every random read: the initial window is all there is.
#[test]
fn one_read_a_file_gets_the_initial_window() {
    let mut bench = bench("competitive", ibm());
    for file in 1..50 {
        bench.open(file, 1 << 10);
        bench.read(file, 100, 16);
    }
    assert!(bench.sizes().iter().all(|&len| len == 16));
}

/// A stream goes on over a skip forward of less than its depth, and begins anew beyond that.
#[test]
fn a_short_skip_keeps_the_stream() {
    let mut bench = bench("competitive", ibm());
    for page in 0..240 {
        bench.read(0, page, 1);
    }
    assert_eq!(bench.core.streams().iter().count(), 1);
    let (_, stream) = bench.core.streams().iter().next().unwrap();
    let (next, reach) = (stream.next, stream.remaining().max(stream.piece));
    bench.read(0, u64::from(next + reach - 1), 1);
    assert_eq!(bench.core.streams().iter().count(), 1, "a skip of less than the depth");
    assert_eq!(*bench.sizes().last().unwrap(), 131, "the depth stays");
    bench.read(0, 100_000, 1);
    assert_eq!(bench.core.streams().iter().count(), 2, "a jump");
}

/// Forty streams in one file, read in turn through whatever descriptor: each gets its depth.
#[test]
fn many_streams_in_one_file() {
    let mut bench = bench("competitive", ibm());
    for page in 0..300 {
        for stream in 0..40 {
            bench.read(0, stream * 5000 + page, 1);
        }
    }
    let streams = bench.core.streams();
    assert_eq!(streams.iter().count(), 40);
    assert_eq!(streams.active(), 40);
    // Memory bounds the depth: a third of 20,000 frames among 40, for two pieces each.
    assert!(streams.iter().all(|(_, stream)| stream.remaining() <= 166 && stream.piece == 83));
}

/// Parts of one large read, out of order, are one stream.
#[test]
fn parts_of_a_read_in_any_order() {
    let mut bench = bench("competitive", ibm());
    for start in [0u64, 32, 96, 64, 128, 192, 160, 256, 224] {
        bench.read(0, start, 32);
    }
    assert_eq!(bench.core.streams().iter().count(), 1);
}

/// While others keep the device busy a stream fetches its next piece when it needs it; alone, one
/// piece ahead. A file no longer than a stream may lag is fetched ahead the second time as the
/// first time, if its blocks are gone by then. 82 files of 250 pages go through 20,000 frames; all
/// their streams are still known.
#[test]
fn a_short_file_read_again_is_fetched_ahead_again() {
    let mut bench = bench("competitive", ibm());
    let mut whole = |file: u32| {
        let from = bench.fetches.len();
        bench.open(file, 250);
        (0..250).step_by(5).for_each(|page| drop(bench.read(file, page, 5)));
        bench.close(file);
        runs(&bench.fetches[from..])
    };
    let first = whole(1);
    assert!(first.len() < 8, "in pieces, not read by read: {first:?}");
    (2..=82).for_each(|file| drop(whole(file)));
    assert_eq!(whole(1), first);
}

#[test]
fn competitive_is_early_only_on_an_idle_device() {
    let mut alone = bench("competitive", ibm());
    for page in 0..20 {
        alone.read(0, page, 1);
    }
    assert_eq!(alone.runs(), [(0, 16), (16, 32), (48, 64)]);
    assert!(alone.fetches[1..].iter().all(|fetch| fetch.cause == Cause::Prefetch));

    let mut busy = bench("competitive", ibm());
    busy.open(1, GIGABYTE);
    busy.read(0, 0, 16);
    busy.held = true;
    busy.read(1, 0, 1);
    busy.held = false;
    let before = busy.fetches.len();
    busy.held = true;
    busy.read(0, 16, 1);
    assert_eq!(runs(&busy.fetches[before..]), [(16, 32)], "demand and prefetch of one extent are one fetch");
    assert_eq!(busy.fetches[before].cause, Cause::Mixed);
}

/// A store that serves four requests at once gets four pieces for a lone stream.
#[test]
fn a_lone_stream_uses_every_channel() {
    let mut bench = bench("competitive", DeviceCost::flat(20_000_000, 50_000_000, 4));
    for page in 0..4000 {
        bench.read(0, page, 1);
    }
    assert_eq!(*bench.sizes().last().unwrap(), 244, "20 ms at 50 MB/s");
    let (_, stream) = bench.core.streams().iter().next().unwrap();
    assert!(stream.remaining() > 3 * 244, "{} blocks ahead", stream.remaining());
}

/// Every prefetched block ends as used, late or wasted (none is called off here); a wasted one that
/// is wanted after all has thrashed.
#[test]
fn feedback_adds_up() {
    let mut bench = bench("competitive", ibm());
    for page in 0..100 {
        bench.read(0, page, 1);
    }
    let counters = bench.core.counters();
    assert_eq!(counters.used + counters.late + counters.misses, 100);
    bench.tell(EventKind::Forget { file: FILE });
    let counters = bench.core.counters();
    assert_eq!(counters.used + counters.late + counters.wasted, counters.prefetched);
    assert_eq!(bench.core.frames(), (20_000, 20_000));
}

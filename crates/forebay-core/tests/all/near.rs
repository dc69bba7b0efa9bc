//! Random reads of a file that has room in free memory: blocks near a miss are loaded; and skips
//! that keep to their stream.

use crate::bench::Bench;
use forebay_core::{
    Action, Actions, ContextId, DeviceCost, DeviceId, Event, EventKind, FileId, HandlerId, Instant, ReadId,
};

/// Pages of a region: as many as the device of the bench transfers in the time of a switch.
const REGION: u32 = 131;

fn one(bench: &mut Bench, file: u32, pages: u32, page: u32) -> Vec<(u32, u32)> {
    bench.read_through(file, pages.into(), page, page + 1)
}

/// A bench whose streams are single pages, far from each other.
fn random(policy: &str) -> Bench {
    read_at_random(Bench::new(policy))
}

fn read_at_random(mut bench: Bench) -> Bench {
    (0..40).for_each(|file| drop(bench.read_through(file, 9000, 4000, 4001)));
    bench
}

#[test]
fn a_miss_loads_its_neighbourhood_and_a_second_one_the_rest_of_its_region() {
    let mut bench = random("auto");
    // It is not known yet that this file is read at random.
    for page in [300, 450, 550, 850, 950, 40] {
        assert_eq!(one(&mut bench, 50, 1000, page), [(page, 1)], "the first one fetches what was asked for");
    }
    assert_eq!(one(&mut bench, 50, 1000, 200), [(200, 24), (192, 8)], "now it fetches the 128 KiB around it");
    // The region of 200 is 131 to 262; pages that are there already are not fetched again.
    assert_eq!(one(&mut bench, 50, 1000, 150), [(150, 42), (224, 38), (131, 19)]);
    // (Read in order they are a stream, for which more is fetched behind them.)
    let there = (131..262).flat_map(|page| one(&mut bench, 50, 1000, page));
    let there: Vec<_> = there.filter(|&(page, _)| page < 262).collect();
    assert!(there.is_empty(), "nothing is missed where all is loaded: {there:?}");
}

/// The rest of a file takes no longer than the part that was read: it is fetched as far as a piece
/// reaches, which is all of this file.
#[test]
fn what_is_left_of_a_file_is_loaded_once_half_of_it_is_there() {
    let mut bench = random("auto");
    let mut there = 0;
    for read in 0.. {
        assert!(there <= 700, "{there} pages are there before read {read}");
        let fetched: u32 = one(&mut bench, 50, 1000, read * 617 % 1000).iter().map(|&(_, len)| len).sum();
        if there >= 500 && fetched > 0 {
            assert_eq!(there + fetched, 1000);
            break;
        }
        there += fetched;
    }
}

/// The wager of CP §2: a region costs a switch more at most, after two that it took anyway, and one
/// more for the blocks before the miss.
#[test]
fn a_region_is_loaded_once() {
    let mut bench = random("auto");
    let fetches: usize = (0..500).map(|read| one(&mut bench, 50, 1000, read * 617 % 1000).len()).sum();
    let regions = 1000_usize.div_ceil(REGION as usize);
    assert!(fetches <= regions * 4, "{fetches} fetches, {regions} regions");
}

/// Most of many random readers read behind the position of some stream, which is no reason to load
/// nothing for them.
#[test]
fn who_misses_behind_a_stream_is_like_any_other() {
    let mut bench = random("auto");
    bench.open(50, 1000);
    bench.fetches.clear();
    (0..500).for_each(|nth| bench.read_by(1 + nth % 8, 50, u64::from(nth * 617 % 1000)));
    let fetches = bench.fetches.len();
    assert!(
        fetches <= 7 + 8 * 4 + 8,
        "{fetches} fetches for 8 regions, and what is read before it is known that nobody goes on"
    );
}

#[test]
fn a_file_without_room_is_left_alone() {
    let mut bench = random("auto");
    // Memory has 2000 pages.
    let fetches: Vec<_> = (0..40).flat_map(|read| one(&mut bench, 50, 9000, read * 617 % 1000)).collect();
    assert!(fetches.iter().all(|&(_, len)| len == 1), "{fetches:?}");
    let mut off = random("auto:without=near");
    let fetches: Vec<_> = (0..40).flat_map(|read| one(&mut off, 50, 1000, read * 617 % 1000)).collect();
    assert!(fetches.iter().all(|&(_, len)| len == 1), "{fetches:?}");
}

/// As memory fills, loaded but unread blocks go first: no reader loses blocks that it has read.
#[test]
fn what_is_loaded_takes_free_frames_only() {
    let mut bench = random("auto");
    (0..300).for_each(|page| drop(one(&mut bench, 50, 300, page)));
    let (_, free) = bench.core.frames();
    for read in 0..400 {
        one(&mut bench, 51, 2500, read * 617 % 2500);
        bench.core.check();
    }
    assert!(free < 2000, "{free} frames are free");
    let again: Vec<_> = (0..300).flat_map(|page| one(&mut bench, 50, 300, page)).collect();
    assert!(again.is_empty(), "{again:?}");
}

/// A flash drive that serves three at once, 20 pages in the time of a switch. With 63 under way
/// each has a twentieth of its rate.
#[test]
fn where_the_rate_of_several_channels_is_short_nothing_is_loaded_near() {
    let missed = |under_way: u32| {
        let mut bench = read_at_random(Bench::over("auto", DeviceCost::flat(90_000, 900_000_000, 3)));
        (0..20).for_each(|read| drop(one(&mut bench, 50, 1000, read * 617 % 1000 / 40 * 40)));
        let mut out = Actions::new();
        let mut handle = |at: u64, kind| {
            out.clear();
            bench.core.handle(&[Event { at: Instant(1 << 40 | at), kind }], &mut out);
            let lens = out.iter().filter_map(|action| match action {
                Action::Fetch { extent, .. } => Some(extent.len),
                _ => None,
            });
            lens.sum::<u32>()
        };
        handle(0, EventKind::Open { file: FileId(60), device: DeviceId(0), bytes: 1 << 30 });
        let context = ContextId(0);
        for nth in 0..under_way {
            let (read, handler, file, offset) = (ReadId(nth + 1), HandlerId(nth + 2), FileId(60), u64::from(nth) << 22);
            handle(nth.into(), EventKind::Read { read, handler, context, file, offset, len: 4096 });
        }
        let (read, handler, file, offset) = (ReadId(0), HandlerId(1), FileId(50), 995 * 4096);
        handle(99, EventKind::Read { read, handler, context, file, offset, len: 4096 })
    };
    assert!(missed(0) > 1, "who has the device to himself is given the neighbourhood");
    assert_eq!(missed(63), 1);
}

/// A store that is waited for: a miss loads little, until half of the file is there.
#[test]
fn a_far_store_sends_what_is_left_of_a_file_once_half_of_it_is_there() {
    let mut bench = read_at_random(Bench::over("auto", DeviceCost::flat(20_000_000, 90_000_000, 13)));
    let mut there = 0;
    for read in 0..1000 {
        let fetched: u32 = one(&mut bench, 50, 1000, read * 617 % 1000).iter().map(|&(_, len)| len).sum();
        if fetched > 32 {
            assert!((500..520).contains(&there), "more than 128 KiB of a miss where {there} pages are there");
            assert_eq!(there + fetched, 1000);
            return;
        }
        there += fetched;
    }
    panic!("the rest never came");
}

/// Of many random readers of a file one reads behind another by chance; that is no stream yet.
#[test]
fn who_reads_behind_a_random_reader_twice_is_a_stream() {
    let mut bench = Bench::new("auto");
    bench.open(60, 1 << 20);
    (0..40).for_each(|read| drop(bench.read(60, read * 20_011 % (1 << 20), 1)));
    let mut fetched = |page: u64| {
        let before = bench.core.counters().prefetched;
        bench.read_by(1, 60, page);
        bench.core.counters().prefetched - before
    };
    assert_eq!([4000, 4001].map(&mut fetched), [0; 2], "the second page may be chance");
    assert!(fetched(4002) > 0, "the third one is not");
}

/// Two pages that are near each other are no stream where no reader reads on.
#[test]
fn who_skips_where_hardly_anybody_goes_on_has_come_so_far_by_chance() {
    let mut bench = random("auto");
    bench.open(60, 9000);
    let mut fetched = |page: u64| {
        let before = bench.core.counters().prefetched;
        bench.read(60, page, 1);
        bench.core.counters().prefetched - before
    };
    assert_eq!([4000, 4007, 4010].map(&mut fetched), [0; 3]);
    assert!(fetched(4019) > 0, "this is no chance any more");
}

/// One handler reads a page of seven. A context that reads so is a stream, although nothing is
/// fetched for its first page.
#[test]
fn a_stride_is_a_stream() {
    let mut bench = random("auto");
    let mut fetches = 0;
    for stride in 0..30_u32 {
        if stride == 0 {
            bench.open(60, 9000);
        }
        let before = bench.core.counters().fetches;
        bench.read(60, u64::from(stride) * 7, 1);
        fetches += bench.core.counters().fetches - before;
    }
    assert!(fetches <= 8, "{fetches} fetches for 30 reads");
    let streams = bench.core.streams().iter().filter(|(_, stream)| stream.file == FileId(60)).count();
    assert_eq!(streams, 1);
    let mut out = Actions::new();
    bench.core.handle(&[Event { at: Instant(1 << 40), kind: EventKind::Tick }], &mut out);
    bench.core.check();
}

/// A store that was taken for a near one turns out to be far: a stream's pieces become longer.
#[test]
fn a_cost_that_is_measured_later_counts_from_then_on() {
    let mut bench = Bench::over("competitive", DeviceCost::flat(1_000_000, 40_960_000, 1));
    let longest = |fetches: Vec<(u32, u32)>| fetches.iter().map(|&(_, len)| len).max();
    assert_eq!(longest(bench.read_through(1, 900, 0, 300)), Some(10), "1 ms of 40.96 MB/s");
    let measured = EventKind::Measured { device: DeviceId(0), first_byte: 8_000_000, rate: 40_960_000, channels: 1 };
    assert!(bench.tell(measured).is_empty(), "nothing is fetched for it");
    assert_eq!(longest(bench.read_through(2, 900, 0, 300)), Some(80), "8 ms");
    // A number that no device has changes nothing.
    bench.tell(EventKind::Measured { device: DeviceId(9), first_byte: 1, rate: 1, channels: 1 });
    assert_eq!(longest(bench.read_through(3, 900, 0, 300)), Some(80));
}

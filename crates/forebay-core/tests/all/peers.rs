//! Worked examples of other systems' rules, by their own numbers.

use forebay_core::{DeviceCost, HandlerId};

use crate::bench::{Bench, Pace, runs, setup};

/// Pages of a MiB.
const MIB: u64 = 256;
/// Pages of 128 KiB, the size of reads here.
const READ: u64 = 32;
/// So many pages may be ahead of a reader of a file if memory is no matter.
const PLENTY: u32 = 1 << 18;

/// A store that serves 64 requests at once, under memory in pages of 4 KiB of which one stream may
/// have `room` ahead: a third.
fn bench(policy: &str, room: u32) -> Bench {
    let store = DeviceCost::flat(20_000_000, 90_000_000, 64);
    Bench::on(policy, setup(room * 3, vec![store]), Pace::EVENTS).with_files(1, 16 * 1024 * MIB)
}

/// The fetches at each read, from a page on up to another, by first page and number.
fn reads(bench: &mut Bench, from: u64, to: u64) -> Vec<Vec<(u32, u32)>> {
    (from..to).step_by(READ as usize).map(|page| runs(&bench.read(0, page, READ))).collect()
}

/// The same; a fetch arrives when a reader waits for it.
fn waits(bench: &mut Bench, from: u64, to: u64) -> Vec<Vec<(u32, u32)>> {
    bench.held = true;
    let mut fetched = Vec::new();
    for page in (from..to).step_by(READ as usize) {
        let answered = bench.answered.len();
        fetched.push(runs(&bench.read(0, page, READ)));
        if bench.answered.len() == answered {
            bench.arrive();
        }
    }
    fetched
}

/// The requests of those reads that had any.
fn requests(fetched: &[Vec<(u32, u32)>]) -> Vec<usize> {
    fetched.iter().map(Vec::len).filter(|&requests| requests > 0).collect()
}

/// The first request has 1 MiB and 128 KiB, then parts of 8 MiB follow. If fetches arrive at once
/// no reader waits, and the window does not grow beyond a part.
#[test]
fn mountpoint_fetches_part_by_part_for_a_reader_that_never_waits() {
    let mut bench = bench("mountpoint", PLENTY);
    let fetched: Vec<(u32, u32)> = reads(&mut bench, 0, 64 * MIB).concat();
    assert_eq!(fetched[..4], [(0, 288), (288, 2048), (288 + 2048, 2048), (288 + 4096, 2048)]);
    assert!(fetched[1..].iter().all(|&(_, pages)| pages == 2048), "{fetched:?}");
}

/// A window of 1.125 MiB, then of 8 MiB, 16, 32 and 64, always to the end of a part, once less than
/// half of it is left.
#[test]
fn mountpoint_doubles_its_window_each_time_the_reader_has_waited() {
    let mut bench = bench("mountpoint", PLENTY);
    let fetched = waits(&mut bench, 0, 48 * MIB);
    assert_eq!(requests(&fetched), [1, 1, 1, 2, 3, 6]);
    // Far from there all begins anew.
    assert_eq!(runs(&bench.read(0, 8192 * MIB, READ)), [(8192 * MIB as u32, 288)]);
}

/// With room for 16 MiB a window of 16 MiB in whole parts does not fit, and 8 MiB it is.
#[test]
fn mountpoint_halves_its_window_where_memory_is_short() {
    let mut bench = bench("mountpoint", 4096);
    let fetched = waits(&mut bench, 0, 48 * MIB);
    assert!(requests(&fetched).iter().all(|&requests| requests == 1), "{fetched:?}");
    assert!(fetched.concat().iter().all(|&(_, pages)| pages <= 2048), "{fetched:?}");
}

/// An open file has one position: a reader of two places in turn always has the first window. Two
/// readers have a position each.
#[test]
fn mountpoint_gives_up_a_window_at_a_seek() {
    for (second, most) in [(1, 288), (2, 2048)] {
        let mut bench = bench("mountpoint", PLENTY);
        let mut largest = 0;
        for page in (0..2 * MIB).step_by(READ as usize) {
            for (who, place) in [(1, page), (second, page + 4096 * MIB)] {
                bench.handler = Some(HandlerId(who));
                let fetched = runs(&bench.read(0, place, READ));
                largest = fetched.iter().map(|&(_, pages)| pages).fold(largest, u32::max);
            }
        }
        assert_eq!(largest, most, "second reader {second}");
    }
}

/// The third read has one read ahead, each later one has one more.
#[test]
fn gcsfs_adds_a_read_to_its_window_with_each_block() {
    let mut bench = bench("gcsfs", PLENTY);
    let mut end = 0;
    for number in 1..=30u64 {
        let fetched = runs(&bench.read(0, (number - 1) * READ, READ));
        end = fetched.iter().map(|&(start, pages)| start + pages).fold(end, u32::max);
        let ahead = u64::from(end) - number * READ;
        assert_eq!(ahead, number.saturating_sub(2) * READ, "after read {number}");
        assert!(fetched.iter().all(|&(_, pages)| u64::from(pages) == READ), "{fetched:?}");
    }
}

/// Once the window has 5 MiB, blocks have as much. A read elsewhere begins anew.
#[test]
fn gcsfs_has_blocks_of_5_mib_in_a_large_window_and_none_after_a_seek() {
    let mut bench = bench("gcsfs", PLENTY);
    let fetched: Vec<(u32, u32)> = reads(&mut bench, 0, 64 * MIB).concat();
    let large = fetched.iter().position(|&(_, pages)| pages > READ as u32).expect("a large window");
    assert!(fetched[large..].iter().all(|&(_, pages)| pages == 5 * MIB as u32), "{fetched:?}");
    let far = 8192 * MIB;
    assert_eq!(reads(&mut bench, far, far + 2 * READ).concat(), [(far as u32, 32), (far as u32 + 32, 32)]);
    assert_eq!(reads(&mut bench, far + 2 * READ, far + 3 * READ).concat().len(), 2);
}

/// The share of memory is the limit of a file.
#[test]
fn gcsfs_has_no_more_ahead_than_its_limit() {
    let mut bench = bench("gcsfs", 128);
    let mut end = 0;
    for number in 1..=60u64 {
        let fetched = runs(&bench.read(0, (number - 1) * READ, READ));
        end = fetched.iter().map(|&(start, pages)| start + pages).fold(end, u32::max);
        let ahead = u64::from(end) - number * READ;
        assert!(ahead <= 128 && (number < 6 || ahead >= 96), "{ahead} after read {number}");
    }
}

/// Reads of 4 pages, each so many pages behind the one before, and all that was fetched.
fn with_holes(policy: &str, hole: u64) -> Vec<(u32, u32)> {
    let mut bench = bench(policy, PLENTY);
    (0..4).for_each(|number| drop(bench.read(0, number * (4 + hole), 4)));
    bench.runs()
}

/// A hole of 8 KiB is read through, and one of a byte more is not: pages are whole, so that the
/// limit has a byte less.
#[test]
fn arrow_merges_over_holes_up_to_the_limit() {
    assert_eq!(with_holes("arrow", 2), [(0, 4), (6, 10), (18, 10)]);
    assert_eq!(with_holes("arrow", 3), [(0, 4), (7, 4), (14, 4), (21, 4)]);
    assert_eq!(with_holes("arrow", 0), [(0, 4), (4, 8), (12, 8)]);
    // The limit of the crate object_store.
    assert_eq!(with_holes("arrow-rust", 256), [(0, 4), (260, 264), (780, 264)]);
    assert_eq!(with_holes("arrow-rust", 257).len(), 4);
}

/// A loop over more things than memory holds: all are missed twice, then those that were mined are
/// fetched with the one before.
#[test]
fn mithril_fetches_what_was_missed_together() {
    let mut bench = bench("mithril", 400);
    let things = 3000u64;
    // Places without order, the same in each round; never one behind another.
    let round = |bench: &mut Bench| {
        let places = (0..things).map(|number| number * 1009 % things * 4);
        places.map(|page| runs(&bench.read(0, page, 1))).collect::<Vec<_>>()
    };
    let missed = |fetched: &[Vec<(u32, u32)>]| {
        let places = (0..things).map(|number| (number * 1009 % things * 4) as u32);
        places.zip(fetched).filter(|(page, fetched)| fetched.iter().any(|(start, _)| start == page)).count()
    };
    assert_eq!(missed(&round(&mut bench)), 3000);
    let second = round(&mut bench);
    assert_eq!(second[..2500].concat().len(), 2500, "nothing is fetched ahead before the table is full");
    let third = round(&mut bench);
    assert!(missed(&third[..2500]) < 300, "{} of the first 2500 were missed", missed(&third[..2500]));
}

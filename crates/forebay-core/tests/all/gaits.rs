//! Streams in equal steps: the gaps are left out once it is known that no reader reads them.

use forebay_core::HandlerId;

use crate::bench::{Bench, runs};

const PAGES: u64 = 100_000;
/// Two pages are read of fourteen.
const RUN: u32 = 2;
const STEP: u32 = 14;

fn opened(policy: &str) -> Bench {
    let mut bench = Bench::new(policy);
    bench.open(0, PAGES);
    bench
}

/// A handler reads pages. Returns the fetches.
fn read(bench: &mut Bench, handler: u32, from: u32, pages: u32) -> Vec<(u32, u32)> {
    bench.handler = Some(HandlerId(handler));
    let fetches = bench.read(0, from.into(), pages.into());
    bench.core.check();
    runs(&fetches)
}

/// A handler strides over this many steps.
fn stride(bench: &mut Bench, steps: std::ops::Range<u32>) -> Vec<(u32, u32)> {
    steps.flat_map(|step| read(bench, 1, step * STEP, RUN)).collect()
}

/// Memory has 2000 pages: by 600 steps it was filled four times, and the unread gaps are known.
#[test]
fn nothing_is_fetched_behind_the_last_block_that_is_reached() {
    let ends = |policy: &str| {
        let mut bench = opened(policy);
        stride(&mut bench, 0..600);
        let fetches = stride(&mut bench, 600..1200);
        let in_step = |&&(start, len): &&(u32, u32)| start % STEP < RUN && (start + len - 1) % STEP < RUN;
        let exact = fetches.iter().filter(in_step).count();
        (exact, fetches.len(), bench.core.counters().misses)
    };
    let (exact, all, _) = ends("auto");
    assert!(exact == all && all > 4, "{exact} of {all} begin and end with what is reached");
    // A gap of twelve takes less than the switch, worth 131 pages: it is read through.
    assert!(all < 300, "{all} fetches of 600 steps");
    let (exact, all, _) = ends("auto:without=gaits");
    assert!(exact * 2 < all, "{exact} of {all}: pieces end anywhere");
}

/// The blocks of the steps wait for their reader in the prefetch cache; gaps do not take their
/// place there.
#[test]
fn what_is_reached_is_there_when_it_is() {
    let misses = |policy: &str| {
        let mut bench = opened(policy);
        stride(&mut bench, 0..600);
        let before = bench.core.counters().misses;
        stride(&mut bench, 600..2000);
        bench.core.counters().misses - before
    };
    let (with, without) = (misses("auto"), misses("auto:without=gaits"));
    assert!(with <= without, "{with} and {without} misses");
}

/// Behind the handler that strides another reads every page, near enough for memory to hold the
/// gaps, whatever else it holds.
#[test]
fn what_others_read_is_not_left_out() {
    let run = |policy: &str| {
        let mut bench = opened(policy);
        for step in 0..2000 {
            stride(&mut bench, step..step + 1);
            if let Some(behind) = step.checked_sub(10) {
                (0..STEP).for_each(|page| drop(read(&mut bench, 2, behind * STEP + page, 1)));
            }
        }
        let counters = bench.core.counters();
        (counters.misses, counters.fetched)
    };
    let ((misses, fetched), (without, all)) = (run("auto"), run("auto:without=gaits"));
    assert!(misses <= without, "{misses} misses, {without} where nothing is known of steps");
    // Had a gap been left out it would have been fetched for the other one, page by page.
    assert!(fetched.abs_diff(all) < 100 && all >= 2000 * u64::from(STEP), "{fetched} and {all} pages");
}

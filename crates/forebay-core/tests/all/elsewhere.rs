//! Reads of a reader elsewhere: the next of its steps, and what followed last time.

use crate::bench::{Bench, Pace, runs, setup};
use forebay_core::explain::Elsewhere;
use forebay_core::{DeviceCost, Instant};

/// A store that serves 13 requests at once: 20 ms to the first byte, then 90 MB/s.
fn store() -> DeviceCost {
    DeviceCost::flat(20_000_000, 90_000_000, 13)
}

/// The fetches at the sixth of a reader's equal steps: 8 blocks, every 2048.
fn at_the_sixth_step(mut bench: Bench) -> Vec<(u32, u32)> {
    bench.open(1, 1 << 20);
    (0..5).for_each(|step| drop(bench.read(1, step * 2048, 8)));
    let mut fetched = runs(&bench.read(1, 5 * 2048, 8));
    // Whether the step itself goes on is for its stream to guess.
    fetched.retain(|&(start, _)| start % 2048 == 0);
    fetched
}

#[test]
fn the_next_steps_are_fetched_side_by_side_from_a_store() {
    let next = at_the_sixth_step(Bench::over("auto", store()));
    assert_eq!(next, [7, 8, 9].map(|step| (step * 2048, 8)), "step 5 was fetched ahead, and so was 6");
    let without = at_the_sixth_step(Bench::over("auto:without=steps", store()));
    assert!(without.iter().all(|&(start, _)| start < 6 * 2048), "{without:?}");
}

/// A second request would only wait behind the first one.
#[test]
fn from_a_disk_no_step_is_fetched_ahead() {
    let fetched = at_the_sixth_step(Bench::new("auto"));
    assert!(fetched.iter().all(|&(start, _)| start < 6 * 2048), "{fetched:?}");
}

/// Places of a start, far from each other, in no order: the powers of 6 modulo 41.
fn start() -> impl Iterator<Item = u64> {
    (0..40).scan(1, |power, _| {
        *power = *power * 6 % 41;
        Some(*power * 1000)
    })
}

/// How many places are fetched at each read of the second start.
fn second_start(policy: &str) -> Vec<usize> {
    // Memory for a quarter of a start.
    let mut bench = Bench::on(policy, setup(80, vec![store()]), Pace::READS);
    bench.open(1, 1 << 20);
    start().for_each(|place| drop(bench.read(1, place, 8)));
    let places = |fetched: Vec<(u32, u32)>| fetched.iter().filter(|(start, _)| start % 1000 == 0).count();
    start().map(|place| places(runs(&bench.read(1, place, 8)))).collect()
}

#[test]
fn a_start_is_fetched_ahead_in_the_order_of_the_last_one() {
    let with = second_start("auto");
    assert!(with.iter().any(|&places| places >= 2), "{with:?}");
    assert!(with.iter().sum::<usize>() <= 50, "each of the 40 places once, few of them twice: {with:?}");
    let without = second_start("auto:without=sequel");
    assert!(without.iter().all(|&places| places <= 1), "{without:?}");
}

/// The places elsewhere that the reader of a file is expected to read, by `explain`.
fn explained(bench: &Bench) -> Option<Elsewhere> {
    bench.core.explain(Instant(bench.at), 20).streams[0].elsewhere
}

#[test]
fn explain_says_which_steps_and_which_places_come_next() {
    let mut bench = Bench::over("auto", store());
    bench.open(1, 1 << 20);
    let steps =
        |steps: std::ops::Range<u64>, bench: &mut Bench| steps.for_each(|step| drop(bench.read(1, step * 2048, 8)));
    steps(0..3, &mut bench);
    assert_eq!(explained(&bench), None, "two moves may be chance");
    steps(3..8, &mut bench);
    assert!(matches!(explained(&bench), Some(Elsewhere::Steps { stride: 2048, run: 8, ahead: 2.. })));

    let mut bench = Bench::on("auto", setup(80, vec![store()]), Pace::READS);
    bench.open(1, 1 << 20);
    start().for_each(|place| drop(bench.read(1, place, 8)));
    assert_eq!(explained(&bench), None, "nobody went this way before");
    start().take(20).for_each(|place| drop(bench.read(1, place, 8)));
    assert!(matches!(explained(&bench), Some(Elsewhere::Sequel { ahead: 2.. })), "{:?}", explained(&bench));
}

//! Fresh seeds in every run, and all seeds that ever failed.

use std::time::{Duration, Instant};

use forebay_soak::{Bounds, live, shrink};

/// Seeds that failed once: a lease whose file was forgotten; an open that left what a list asked
/// for undone; lists that waited for idle readers; a list that asked for what fails for ever.
const ONCE_FAILED: [u64; 6] = [
    1_795_824_061_005_057_415,
    1_795_824_069_075_109_025,
    1_795_824_073_661_771_546,
    1_795_824_967_876_332_895,
    1_795_825_386_906_478_025,
    1_795_825_386_906_482_360,
];

fn lives(seed: u64, bounds: &Bounds) {
    if let Err(failure) = live(seed, bounds) {
        panic!("{}", shrink(failure, || {}));
    }
}

#[test]
fn seeds_that_failed_once() {
    ONCE_FAILED.iter().for_each(|&seed| lives(seed, &Bounds::default()));
}

/// As many lives as ten seconds have room for, and at least one.
#[test]
fn fresh_seeds() {
    let since = std::time::UNIX_EPOCH.elapsed().expect("the clock is behind 1970").as_nanos() as u64;
    let began = Instant::now();
    let mut seed = since;
    while seed == since || began.elapsed() < Duration::from_secs(10) {
        lives(seed, &Bounds::default());
        seed += 1;
    }
    println!("{} seeds from {since} on", seed - since);
}

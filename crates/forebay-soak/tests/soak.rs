//! Fresh seeds in every run, and all seeds that ever failed.

use std::time::{Duration, Instant};

use forebay_soak::{Bounds, live, shrink};

/// Seeds that failed once, each with the fault that it found.
const ONCE_FAILED: [u64; 0] = [];

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

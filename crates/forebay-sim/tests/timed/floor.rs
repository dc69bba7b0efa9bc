//! Where blocks ahead bring no hits, `auto` fetches none.

use forebay_device::device;
use forebay_sim::Unwatched;
use forebay_sim::timed::{Outcome, Setup, Workload, run};
use forebay_trace::generate::{self, Given};

/// Lists of vectors that are read whole, from a store, with memory for 80 % of them.
fn lists(policy: &str) -> Outcome {
    let tasks = Given { name: "tasks", value: "1000" };
    let mut source = generate::named("vector-lists", &[tasks], 1).expect("a load");
    let workload = Workload::load(&mut source).expect("it has requests");
    // 110 MB of the 180 MB are read.
    let store = device("object-store").expect("it is shipped");
    let setup = Setup::new(policy.parse().expect("a policy"), 22_484 << 12, store, 4);
    run(&setup, &workload, &Unwatched).expect("it runs")
}

#[test]
fn what_brings_no_hits_is_not_fetched_for_long() {
    let [auto, without, nothing] = ["auto", "auto:without=floor", "none+arc"].map(lists);
    assert!(without.wasted > without.used * 4, "most of it is in vain: {} and {}", without.used, without.wasted);
    assert!(auto.device_bytes * 2 < without.device_bytes, "{} and {}", auto.device_bytes, without.device_bytes);
    assert!(auto.misses < without.misses, "{} and {}", auto.misses, without.misses);
    let share = auto.throughput_mb_s / nothing.throughput_mb_s;
    assert!(share > 0.9, "{share:.2} of doing nothing");
}

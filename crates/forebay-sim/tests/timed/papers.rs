//! The papers' findings, on the devices of the papers.

use forebay_device::device;
use forebay_device::random::Random;
use forebay_sim::timed::{Outcome, Setup, Span, Spread, Workload};

use crate::load::{READ, outcome, sequential, workload};

/// CP §3.1, One-Whole-0 and One-Rand-0: each task reads a file of 4 MB that it picks at random, all
/// of it or up to a random size from 64 KB on.
fn tasks(whole: bool) -> Workload {
    let mut random = Random::new(1);
    let requests = (0..3000).flat_map(|task| {
        let reads = if whole { 64 } else { 1 + random.below(64) as u32 };
        sequential(random.below(6000), task, reads, 0)
    });
    let mut workload = workload(requests.collect());
    workload.at_least(64 * u64::from(READ));
    workload
}

fn ibm(policy: &str, handlers: u32, workload: &Workload) -> Outcome {
    let mut setup = Setup::new(policy.parse().unwrap(), 256 << 20, device("ibm-10k").unwrap(), handlers);
    setup.placement.spread = Spread::Scattered;
    (setup.warm_up, setup.limit) = (Some(Span::Seconds(5.0)), Some(Span::Seconds(65.0)));
    outcome(&setup, workload)
}

/// CP §3.2, Fig. 3: more throughput than the original kernel's prefetching, and "almost always at
/// least half the optimal".
#[test]
fn competitive_prefetching_is_competitive() {
    for (whole, optimum) in [(true, 45.3), (false, 40.5)] {
        let workload = tasks(whole);
        for handlers in [16, 64] {
            let ours = ibm("competitive", handlers, &workload).throughput_mb_s;
            let linux = ibm("linux", handlers, &workload).throughput_mb_s;
            assert!(ours > linux, "{handlers} handlers: {ours} and {linux} MB/s");
            assert!(ours >= optimum / 2.0, "{handlers} handlers: {ours} MB/s");
        }
    }
}

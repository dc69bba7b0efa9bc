//! The cases that can be computed by hand.

use forebay_core::Instant;
use forebay_device::network;
use forebay_device::random::Random;
use forebay_device::slowdown::Slowdown;
use forebay_sim::timed::{Error, Load, Span, Spread, Striping, Workload, Writes, run};
use forebay_sim::{Unwatched, Watch};
use forebay_trace::{Operation, Request};

use crate::load::{READ, flat, near, outcome, sequential, setup, workload};

fn closed(handlers: u32, think_ms: u64, cpu_ms: u64, processors: u32) -> Load {
    let (think_ns, cpu_ns) = (Some(think_ms * 1_000_000), cpu_ms * 1_000_000);
    Load::Closed { handlers, think_ns, cpu_ns, cpu_ns_per_kib: 0, processors, pool: false, private_bytes: 0 }
}

/// 16 reads of 2 + 1 ms each, then the same from memory: no time.
#[test]
fn one_handler_waits_for_every_read_it_misses() {
    let twice = workload(sequential(1, 1, 16, 0).chain(sequential(1, 2, 16, 0)).collect());
    let got = outcome(&setup("none", flat(2.0, 1), 1), &twice);
    assert_eq!(got.seconds, 0.048);
    assert_eq!((got.requests, got.hits, got.misses), (32, 256, 256));
    assert_eq!((got.device_bytes, got.device_requests, got.mean_request_kb), (1 << 20, 16, 65.536));
    assert!(near(got.throughput_mb_s, 2.097_152 / 0.048, 1e-9));
    assert!(near(got.response_ms, 1.5, 1e-9));
    assert!(near(got.p99_ms, 3.0, 0.008) && got.p50_ms == 0.0, "half of them were hits");
    assert_eq!(got.sizes.buckets().collect::<Vec<_>>(), [(65536, 16)]);
}

/// On one channel two handlers wait for each other; on two they do not.
#[test]
fn two_handlers_share_a_channel() {
    let both = workload(sequential(1, 1, 16, 0).chain(sequential(2, 2, 16, 0)).collect());
    let one = outcome(&setup("none", flat(2.0, 1), 2), &both);
    assert_eq!(one.seconds, 0.096);
    assert!(
        near(one.response_ms, 6.0 - 3.0 / 32.0, 1e-9),
        "all but the very first wait for the other's: {}",
        one.response_ms
    );
    let two = outcome(&setup("none", flat(2.0, 2), 2), &both);
    assert_eq!((two.seconds, two.response_ms), (0.048, 3.0));
}

/// S / (think + service), whether thinking is asked for or in the trace; the pause after the last
/// answer does not count.
#[test]
fn thinking_bounds_throughput() {
    let reads = || sequential(1, 1, 16, 7_000_000).chain(sequential(2, 2, 16, 7_000_000));
    let traced = outcome(&setup("none", flat(2.0, 1), 1), &workload(reads().collect()));
    assert_eq!(traced.seconds, 0.003 * 32.0 + 0.007 * 30.0, "between requests of a task");
    let asked = setup("none", flat(2.0, 1), 1);
    let asked = outcome(&forebay_sim::timed::Setup { load: closed(1, 7, 0, 1), ..asked }, &workload(reads().collect()));
    assert_eq!(asked.seconds, 0.003 * 32.0 + 0.007 * 31.0, "between tasks, too");
    assert!(near(asked.throughput_mb_s, 65536.0 / 1e6 / 0.010, 0.03));
}

/// Everything is in memory, and three handlers compute on so many processors.
#[test]
fn processors_are_shared_first_come_first_served() {
    let reads = workload((1..=3).flat_map(|handler| sequential(1, handler, 16, 0)).collect());
    for (processors, rounds) in [(1, 3.0), (2, 1.5), (3, 1.0), (8, 1.0)] {
        let mut setup = setup("none", flat(0.0, 1), 3);
        setup.load = closed(3, 0, 100, processors);
        let got = outcome(&setup, &reads);
        // The first of all waits for the device; its computing hides later reads.
        assert!(near(got.seconds, 1.6 * rounds, 0.08), "{processors}: {}", got.seconds);
    }
}

#[test]
fn an_open_loop_at_a_low_rate_waits_for_service_alone() {
    let reads = workload(sequential(1, 1, 100, 50_000_000).collect());
    let mut setup = setup("none", flat(2.0, 1), 1);
    setup.load = Load::Open { speed: 1.0 };
    let slow = outcome(&setup, &reads);
    assert_eq!((slow.response_ms, slow.seconds, slow.handlers), (3.0, 99.0 * 0.05 + 0.003, 0));
    // Ten times as fast as the device: they pile up, the i-th waits i times 2.5 ms, and the device
    // is never idle.
    setup.load = Load::Open { speed: 100.0 };
    let fast = outcome(&setup, &reads);
    assert!(
        near(fast.seconds, 0.3, 1e-6) && near(fast.response_ms, 3.0 + 99.0 / 2.0 * 2.5, 1e-6),
        "{}",
        fast.response_ms
    );
}

/// M/D/1: Poisson arrivals at a load of ρ wait ρ / (2 (1 − ρ)) service times on average (Pollaczek
/// and Khinchine).
#[test]
fn poisson_arrivals_wait_as_long_as_the_formula_says() {
    for load in [0.3, 0.6, 0.8] {
        let mut random = Random::new(7);
        let mut at = 0.0;
        let requests = (0..100_000u64).map(|i| {
            at -= random.unit().ln() * 3e6 / load;
            // Every one is a miss, and none goes on with another.
            Request {
                at: Instant(at as u64),
                file: i % 1000,
                offset: i / 1000 * 4 * 65536,
                len: READ,
                ..Request::default()
            }
        });
        let workload = workload(requests.collect());
        let mut setup = setup("none", flat(2.0, 1), 1);
        setup.load = Load::Open { speed: 1.0 };
        let wait = outcome(&setup, &workload).response_ms / 3.0 - 1.0;
        let wanted = load / (2.0 * (1.0 - load));
        assert!(near(wait, wanted, 0.05), "at {load}: {wait}, not {wanted}");
    }
}

/// A second cache that holds everything answers at once: what it saves is the device's time.
#[test]
fn a_hit_at_the_level_below_costs_nothing() {
    let twice = workload(sequential(1, 1, 64, 0).chain(sequential(1, 2, 64, 0)).collect());
    let mut setup = setup("none", flat(2.0, 1), 1);
    setup.levels.push(setup.levels[0].clone());
    // The upper one holds half of the file, and nothing of it when it is read again from the start.
    setup.levels[0].memory_bytes = 2 << 20;
    let got = outcome(&setup, &twice);
    assert_eq!((got.seconds, got.hits, got.misses), (0.192, 0, 2048));
    assert_eq!((got.levels[1].counters.hits, got.levels[1].counters.misses), (1024, 1024));
    assert_eq!((got.policy.as_str(), got.device_bytes), ("none+lru > none+lru", 4 << 20));
}

/// L = 100 µs, o = 10 µs, 1 Gbit/s: a message of k bytes takes 120 µs and 8 ns for each byte but
/// the first. Every read is two messages: 64 bytes, then 64 KiB.
const NETWORK: network::Description =
    network::Description { latency_us: 100.0, overhead_us: 10.0, gap_us: 0.0, gbit_s: 1.0, endpoints: 1 };
const MESSAGES: f64 = (2.0 * 120_000.0 + 8.0 * (63.0 + 65_535.0)) / 1e9;

/// A hit behind a network costs the two messages alone; a miss, the device too.
#[test]
fn messages_between_levels_take_the_networks_time() {
    let twice = workload(sequential(1, 1, 64, 0).chain(sequential(1, 2, 64, 0)).collect());
    let mut setup = setup("none", flat(2.0, 1), 1);
    setup.levels.push(setup.levels[0].clone());
    setup.levels[0].memory_bytes = 2 << 20;
    setup.levels[0].link = Some(NETWORK);
    let got = outcome(&setup, &twice);
    assert!(near(got.seconds, 0.192 + 128.0 * MESSAGES, 1e-9), "{}", got.seconds);
    assert!(near(got.p50_ms, MESSAGES * 1e3, 0.008), "{}", got.p50_ms);
}

/// SAC §4.1: "the sum of network transit time plus the remote disk service time".
#[test]
fn devices_may_be_at_the_other_end_of_a_network() {
    let both = workload(sequential(1, 1, 16, 0).chain(sequential(2, 2, 16, 0)).collect());
    let mut setup = setup("none", flat(2.0, 1), 1);
    setup.levels[0].link = Some(NETWORK);
    let got = outcome(&setup, &both);
    assert!(near(got.seconds, 32.0 * (0.003 + MESSAGES), 1e-9), "{}", got.seconds);
    setup.devices.push(setup.devices[0].clone());
    setup.load = Load::closed(2);
    let got = outcome(&setup, &both);
    let alone = 16.0 * (0.003 + MESSAGES);
    assert!(got.seconds > alone && got.seconds < 1.2 * alone, "two devices share the line to the one who asks");
}

/// RAID-0 of n: a request over all of them transfers n times as fast, and so does prefetching,
/// which knows it.
#[test]
fn an_array_of_n_transfers_n_times_as_fast() {
    let long: Vec<Request> = (0..16).map(|i| Request { offset: i << 20, len: 1 << 20, ..Request::default() }).collect();
    let reads = workload(long);
    for (devices, latency) in [(1, 0.0), (2, 0.0), (4, 0.0), (4, 2.0)] {
        let mut setup = setup("none", flat(latency, 1), 1);
        setup.devices = vec![setup.devices[0].clone(); devices];
        setup.striping = Striping::Array(65536);
        let got = outcome(&setup, &reads);
        // (The last block of a read of 1 MiB that begins at a block is not cut off.)
        let wanted = 16.0 * (latency + 16.0 / devices as f64) / 1e3;
        assert!(near(got.seconds, wanted, 1e-6), "{devices}: {}", got.seconds);
        assert_eq!((got.devices.len(), got.device_requests), (1, 16));
    }
}

/// SAC §4.3: from the 24th millisecond on everything takes twice as long.
#[test]
fn a_slow_device_is_slow_from_its_moment_on() {
    let reads = workload(sequential(1, 1, 16, 0).collect());
    let mut setup = setup("none", flat(2.0, 1), 1);
    setup.devices[0].slowdowns = vec!["24ms:2".parse().expect("a slowdown")];
    assert_eq!(outcome(&setup, &reads).seconds, 0.072, "8 reads of 3 ms, 8 of 6");
}

/// CP §3.2, Fig. 4: one handler that thinks shortly between two reads, beside another; anticipation
/// spares the switches.
#[test]
fn anticipation_knows_who_reads() {
    let reads = workload((1..=2).flat_map(|file| sequential(file, file as u32, 64, 0)).collect());
    let seconds = |scheduler: &str| {
        let mut setup = setup("none", forebay_device::device("ibm-10k").expect("it is shipped"), 2);
        setup.placement.spread = Spread::Known([(1, 0), (2, 20 << 30)].into());
        setup.devices[0].scheduler = scheduler.parse().expect("a scheduler");
        setup.load = Load::Closed {
            handlers: 2,
            think_ns: Some(500_000),
            cpu_ns: 0,
            cpu_ns_per_kib: 0,
            processors: 1,
            pool: false,
            private_bytes: 0,
        };
        outcome(&setup, &reads).seconds
    };
    let (elevator, anticipatory) = (seconds("elevator"), seconds("anticipatory"));
    assert!(anticipatory < 0.7 * elevator, "{anticipatory} and {elevator} s");
}

/// A thread for each task, which reads twice: the arm stays with it for its second read, and goes
/// when the next thread has come, not six milliseconds after the end.
#[test]
fn anticipation_knows_who_has_gone() {
    let tasks = 1..=40u64;
    let reads = workload(tasks.clone().flat_map(|file| sequential(file, file as u32, 2, 0)).collect());
    let seconds = |scheduler: &str| {
        let mut setup = setup("none", forebay_device::device("ibm-10k").expect("it is shipped"), 2);
        setup.placement.spread =
            Spread::Known(tasks.clone().map(|file| (file, (file % 2) * (20 << 30) + (file << 20))).collect());
        setup.devices[0].scheduler = scheduler.parse().expect("a scheduler");
        setup.load = Load::Closed {
            handlers: 2,
            think_ns: Some(500_000),
            cpu_ns: 0,
            cpu_ns_per_kib: 0,
            processors: 1,
            pool: false,
            private_bytes: 0,
        };
        outcome(&setup, &reads).seconds
    };
    let (elevator, anticipatory) = (seconds("elevator"), seconds("anticipatory"));
    assert!(anticipatory < 0.65 * elevator, "{anticipatory} and {elevator} s");
}

/// Reads longer than the core takes are read part by part, as the live engine does.
#[test]
fn a_long_read_is_split() {
    let long = workload(vec![Request { len: 10 << 20, offset: 100, ..Request::default() }]);
    let got = outcome(&setup("none", flat(2.0, 1), 1), &long);
    // 257 blocks at a time: 2561 blocks, the first and the last in part.
    assert_eq!((got.requests, got.device_requests, got.bytes), (1, 10, 10 << 20));
    assert!(near(got.response_ms, 10.0 * 2.0 + 160.0, 0.001), "{}", got.response_ms);
}

#[test]
fn writes_are_skipped_or_take_the_devices_time() {
    let mut requests: Vec<Request> = sequential(1, 1, 4, 0).chain(sequential(2, 1, 4, 0)).collect();
    requests[4..].iter_mut().for_each(|request| request.operation = Operation::Write);
    let (workload, mut setup) = (workload(requests), setup("none", flat(2.0, 1), 1));
    let skipped = outcome(&setup, &workload);
    assert_eq!((skipped.requests, skipped.writes, skipped.seconds), (4, 4, 0.012));
    setup.writes = Writes::Device;
    let written = outcome(&setup, &workload);
    assert_eq!((written.requests, written.writes, written.seconds), (4, 4, 0.024));
    assert_eq!((written.device_bytes, written.devices[0].written), (4 * 65536, 4 * 65536));
}

/// A hundred reads of 3 ms: the first 40 do not count, nor do those after the first 70.
#[test]
fn warm_up_and_limit_cut_the_ends_off() {
    let reads = workload(sequential(1, 1, 100, 0).collect());
    for (warm_up, limit) in [(Span::Requests(40), Span::Requests(70)), (Span::Seconds(0.12), Span::Seconds(0.21))] {
        let mut setup = setup("none", flat(2.0, 1), 1);
        (setup.warm_up, setup.limit) = (Some(warm_up), Some(limit));
        let got = outcome(&setup, &reads);
        assert!(near(got.seconds, 0.09, 1e-9) && (29..=31).contains(&got.requests), "{warm_up:?}: {got:?}");
        assert!(near(got.device_bytes as f64, 30.0 * 65536.0, 0.04));
    }
}

/// CP §3.1: each handler takes its memory from the cache.
#[test]
fn private_memory_shrinks_the_cache() {
    let reads = workload((0..8).flat_map(|handler| sequential(1, handler, 4, 0)).collect());
    let mut setup = setup("none", flat(2.0, 1), 8);
    let private = |private_bytes| Load::Closed {
        handlers: 8,
        think_ns: None,
        cpu_ns: 0,
        cpu_ns_per_kib: 0,
        processors: 1,
        pool: false,
        private_bytes,
    };
    setup.load = private(1 << 20);
    assert_eq!(outcome(&setup, &reads).capacity_blocks, (64 - 8) * 256);
    setup.load = private(8 << 20);
    let error = run(&setup, &reads, &Unwatched).unwrap_err();
    assert!(matches!(error, Error::NoMemory { handlers: 8, .. }), "{error}");
}

#[test]
fn what_makes_no_sense_is_refused_in_a_line() {
    let reads = workload(sequential(1, 1, 4, 0).collect());
    let refused = |change: &dyn Fn(&mut forebay_sim::timed::Setup), workload: &Workload| {
        let mut setup = setup("none", flat(2.0, 1), 1);
        change(&mut setup);
        let error = run(&setup, workload, &Unwatched).unwrap_err().to_string();
        assert!(!error.is_empty() && !error.contains('\n'), "{error}");
    };
    refused(&|s| s.levels.clear(), &reads);
    refused(&|s| s.devices.clear(), &reads);
    refused(&|s| s.block_bytes = 1000, &reads);
    refused(&|s| s.unit_bytes = Some(0), &reads);
    refused(&|s| s.unit_bytes = Some(5000), &reads);
    refused(&|s| s.load = Load::closed(0), &reads);
    refused(&|s| s.load = Load::Open { speed: f64::NAN }, &reads);
    refused(&|s| s.load = Load::Open { speed: 1.0 }, &reads);
    refused(&|s| s.limit = Some(Span::Seconds(-1.0)), &reads);
    refused(&|s| s.limit = Some(Span::Requests(0)), &reads);
    refused(&|s| s.warm_up = Some(Span::Seconds(10.0)), &reads);
    refused(&|s| s.warm_up = Some(Span::Requests(5)), &reads);
    refused(&|s| s.striping = Striping::Array(0), &reads);
    refused(&|s| s.striping = Striping::Files(65536), &reads);
    let twice = |s: &mut forebay_sim::timed::Setup| s.devices.push(s.devices[0].clone());
    for unit in [0, 1000, 4096 << 32] {
        refused(&|s| (twice(s), s.striping = Striping::Files(unit)).1, &reads);
    }
    refused(&|s| s.levels[0].link = Some(network::Description { gbit_s: 0.0, ..NETWORK }), &reads);
    refused(&|s| s.devices[0].slowdowns = vec![Slowdown { at_s: 0.0, until_s: None, factor: -1.0 }], &reads);
    refused(&|_| {}, &workload(vec![Request { offset: u64::MAX - 5, len: 5, ..Request::default() }]));
    refused(&|_| {}, &workload(vec![Request { offset: 1 << 40, len: 5, ..Request::default() }]));
}

struct Impatient;

impl Watch for Impatient {
    fn progress(&self, done: u64, all: u64) {
        assert!(done <= all);
    }

    fn stopped(&self) -> bool {
        true
    }
}

#[test]
fn who_looks_on_may_end_it() {
    let reads = workload(sequential(1, 1, 100_000, 0).collect());
    assert!(matches!(run(&setup("none", flat(2.0, 1), 1), &reads, &Impatient), Err(Error::Stopped)));
}

/// Sixteen streams with memory for about one request ahead of each. A request alone is 8 + 1 ms,
/// two by one switch are 8 + 2; half of one ahead, which is what the share of 12 blocks is to the
/// letter, would save no switch.
#[test]
fn where_memory_is_short_what_is_ahead_is_a_whole_request() {
    let workload = workload((0..16).flat_map(|file| sequential(u64::from(file), file, 64, 0)).collect());
    let seconds = |policy| {
        let mut setup = setup(policy, flat(8.0, 1), 16);
        setup.levels[0].memory_bytes = 3 << 20;
        outcome(&setup, &workload).seconds
    };
    let alone = seconds("none");
    for policy in ["competitive", "competitive-em"] {
        let ratio = seconds(policy) / alone;
        assert!((0.5..0.62).contains(&ratio), "{policy}: {ratio} of the time of single requests");
    }
}

//! Replay, OPT and curves against slow and obvious ways to the same figures.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

use forebay_core::Instant;
use forebay_sim::untimed::{Algorithm, Capacity, Options, Outcome, Points, Run, Sampling, curve, replay, size};
use forebay_sim::{Unwatched, Watch};
use forebay_trace::{Error, Memory, Operation, Request, Shape, Source};
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

type Opened = Result<Box<dyn Source>, Error>;

/// A trace of these objects.
fn objects(blocks: &[u32]) -> impl Fn() -> Opened + Sync + use<> {
    let requests: Vec<Request> =
        blocks.iter().map(|&file| Request { file: u64::from(file), len: 1, ..Request::default() }).collect();
    move || Ok(Box::new(Memory::new(requests.clone(), Shape::Objects)) as Box<dyn Source>)
}

fn run(algorithm: &str, capacity: Capacity) -> Run {
    Run { algorithm: algorithm.parse().unwrap(), capacity }
}

fn threads(threads: usize) -> Options {
    Options { threads: Some(threads), ..Options::default() }
}

/// Skewed: block 0 most often, some runs.
fn skewed(count: usize, blocks: u32, seed: u64) -> Vec<u32> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut next = 0;
    (0..count)
        .map(|_| {
            next =
                if rng.random_bool(0.2) { next + 1 } else { (f64::from(blocks) * rng.random::<f64>().powi(4)) as u32 };
            next
        })
        .collect()
}

/// The fewest misses that any sequence of evictions has, by trying all of them: sets of caches,
/// step by step.
fn fewest_misses(trace: &[u32], capacity: usize) -> u64 {
    let mut states = BTreeMap::from([(BTreeSet::new(), 0)]);
    for &block in trace {
        let mut after: BTreeMap<BTreeSet<u32>, u64> = BTreeMap::new();
        let mut reach = |cache: BTreeSet<u32>, misses: u64| {
            let least = after.entry(cache).or_insert(u64::MAX);
            *least = misses.min(*least);
        };
        for (cache, misses) in states {
            if cache.contains(&block) {
                reach(cache, misses);
            } else if cache.len() < capacity {
                reach(cache.into_iter().chain([block]).collect(), misses + 1);
            } else {
                for &gone in &cache {
                    reach(cache.iter().copied().filter(|&other| other != gone).chain([block]).collect(), misses + 1);
                }
            }
        }
        states = after;
    }
    states.into_values().min().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn opt_is_the_best_of_all(trace in proptest::collection::vec(0u32..7, 0..24), capacity in 1u64..5) {
        let outcomes =
            replay(&objects(&trace), &threads(1), &[run("opt", Capacity::Blocks(capacity))], &Unwatched).unwrap();
        prop_assert_eq!(outcomes[0].misses, fewest_misses(&trace, capacity as usize));
        prop_assert_eq!(outcomes[0].requests, trace.len() as u64);
    }

    /// Stack distances by a list that is searched from its front.
    #[test]
    fn the_curve_is_every_lru_cache(
        (blocks, trace) in (1u32..300).prop_flat_map(|blocks| (Just(blocks), proptest::collection::vec(0..blocks, 1..900))),
    ) {
        let capacities: Vec<Capacity> = (1..=u64::from(blocks) + 1).map(Capacity::Blocks).collect();
        let lru = "lru".parse().unwrap();
        let points = curve(&objects(&trace), &threads(1), lru, Sampling::Exact, &Points::At(capacities), &Unwatched).unwrap();
        let mut stack: Vec<u32> = Vec::new();
        let mut distances: HashMap<usize, u64> = HashMap::new();
        for &block in &trace {
            if let Some(depth) = stack.iter().position(|&other| other == block) {
                stack.remove(depth);
                *distances.entry(depth + 1).or_default() += 1;
            }
            stack.insert(0, block);
        }
        let mut hits = 0;
        for (point, capacity) in points.iter().zip(1..) {
            hits += distances.get(&capacity).copied().unwrap_or(0);
            prop_assert_eq!((point.capacity_blocks, point.hits), (capacity as u64, hits));
        }
    }
}

/// Long enough that the stack closes ranks often, while new blocks still come.
#[test]
fn the_curve_is_lru_s_replay() {
    let trace = skewed(400_000, 30_000, 1);
    let open = objects(&trace);
    let capacities = [1, 2, 10, 100, 1000, 5000, 10_000, 30_000].map(Capacity::Blocks);
    let runs = capacities.map(|capacity| run("lru", capacity));
    let lru: Algorithm = "lru".parse().unwrap();
    let replayed = replay(&open, &Options::default(), &runs, &Unwatched).unwrap();
    let points = Points::At(capacities.to_vec());
    assert_eq!(curve(&open, &threads(1), lru, Sampling::Exact, &points, &Unwatched).unwrap(), replayed);
    assert_eq!(curve(&open, &threads(1), lru, Sampling::Rate(1.0), &points, &Unwatched).unwrap(), replayed);
    assert_eq!(curve(&open, &threads(1), lru, Sampling::Size(1 << 20), &points, &Unwatched).unwrap(), replayed);
}

fn all() -> Vec<Run> {
    let mut runs = Vec::new();
    for policy in forebay_core::presets::REPLACEMENTS {
        for capacity in [Capacity::Share(0.01), Capacity::Blocks(777), Capacity::Share(1.0)] {
            runs.push(run(policy.name, capacity));
        }
    }
    runs.insert(1, run("opt", Capacity::Share(0.1)));
    runs.push(run("opt", Capacity::Blocks(1)));
    runs
}

/// More runs than one pass takes, on one thread and on five.
#[test]
fn outcomes_do_not_depend_on_threads() {
    let trace = skewed(150_000, 20_000, 2);
    let open = objects(&trace);
    let one = replay(&open, &threads(1), &all(), &Unwatched).unwrap();
    let five = replay(&open, &threads(5), &all(), &Unwatched).unwrap();
    assert_eq!(one, five);
    assert_eq!(one.len(), all().len());
    let distinct = trace.iter().collect::<BTreeSet<_>>().len() as u64;
    for (outcome, run) in one.iter().zip(all()) {
        assert_eq!(outcome.policy, run.algorithm.to_string());
        assert_eq!(outcome.requests, 150_000);
        assert_eq!(outcome.hits + outcome.misses, outcome.requests);
        if run.capacity == Capacity::Share(1.0) {
            assert_eq!((outcome.misses, outcome.capacity_blocks), (distinct, distinct), "{}", outcome.policy);
        }
        assert!(outcome.misses >= distinct);
    }
}

/// A cache that holds everything comes to the same whether it is built or known beforehand to hold
/// everything.
#[test]
fn a_cache_larger_than_the_trace_misses_once_a_block() {
    let trace = skewed(20_000, 3000, 3);
    let open = objects(&trace);
    for policy in forebay_core::presets::REPLACEMENTS {
        let built = replay(&open, &threads(1), &[run(policy.name, Capacity::Blocks(25_000))], &Unwatched).unwrap();
        let known = replay(&open, &threads(1), &[run(policy.name, Capacity::Blocks(1 << 40))], &Unwatched).unwrap();
        assert_eq!((built[0].misses, built[0].requests), (known[0].misses, known[0].requests), "{}", policy.name);
    }
}

/// Stops after so many calls.
struct Impatient {
    calls: AtomicU64,
    patience: u64,
}

impl Watch for Impatient {
    fn progress(&self, done: u64, all: u64) {
        assert!(done <= all);
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    fn stopped(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > self.patience
    }
}

/// The work finished before the end is the same as without one, in order.
#[test]
fn ended_early_it_leaves_what_is_finished() {
    let trace = skewed(150_000, 20_000, 4);
    let open = objects(&trace);
    for workers in [1, 2] {
        let whole = replay(&open, &threads(workers), &all(), &Unwatched).unwrap();
        let mut counts = BTreeSet::new();
        for patience in 0..45 {
            let watch = Impatient { calls: AtomicU64::new(0), patience };
            let part = replay(&open, &threads(workers), &all(), &watch).unwrap();
            let mut rest = whole.iter();
            assert!(part.iter().all(|outcome| rest.any(|other| other == outcome)), "patience {patience}");
            counts.insert(part.len());
        }
        assert!(counts.len() > 3 && counts.contains(&0), "{workers} threads: {counts:?}");
    }
}

/// The error of a sample of 8 Ki blocks, which is the size that the paper on SHARDS settles for, or
/// of about as many: the mean over the curve.
#[test]
fn samples_are_near_the_truth() {
    let trace = skewed(300_000, 60_000, 5);
    let open = objects(&trace);
    let points = Points::At([600, 1500, 3000, 6000, 12_000, 24_000].map(Capacity::Blocks).to_vec());
    let estimate = |policy: &str, sampling| -> Vec<Outcome> {
        curve(&open, &threads(2), policy.parse().unwrap(), sampling, &points, &Unwatched).unwrap()
    };
    for policy in ["lru", "opt", "arc", "s3-fifo"] {
        let exact = estimate(policy, Sampling::Exact);
        for sampling in [Sampling::Rate(0.2), Sampling::Size(8192)] {
            let sampled = estimate(policy, sampling);
            let error = |(a, b): (&Outcome, &Outcome)| (a.miss_ratio - b.miss_ratio).abs();
            let mean = exact.iter().zip(&sampled).map(error).sum::<f64>() / exact.len() as f64;
            assert!(mean < 0.02, "{policy}, {sampling:?}: {mean:.4} apart");
            assert!(sampled.iter().all(|outcome| outcome.requests == 300_000));
        }
    }
}

/// Blocks of ranges, writes that count or don't, and memory in bytes.
#[test]
fn ranges_are_split_and_writes_left_out() {
    let request =
        |offset, len, operation| Request { at: Instant(0), file: 3, offset, len, operation, ..Request::default() };
    let requests = vec![
        request(0, 8192, Operation::Read),
        request(4096, 4097, Operation::Write),
        request(100, 1, Operation::Read),
        request(8192, 4096, Operation::Read),
    ];
    let open = move || {
        Ok(Box::new(Memory::new(requests.clone(), Shape::Ranges { block_bytes: 4096 })) as Box<dyn Source>) as Opened
    };
    let outcome = |options: &Options| {
        let outcomes = replay(&open, options, &[run("lru", Capacity::Bytes(1 << 20))], &Unwatched).unwrap();
        (outcomes[0].capacity_blocks, outcomes[0].requests, outcomes[0].misses)
    };
    assert_eq!(outcome(&Options::default()), (256, 6, 3));
    assert_eq!(outcome(&Options { reads_only: true, ..Options::default() }), (256, 4, 3));
    assert_eq!(outcome(&Options { block_bytes: Some(512), ..Options::default() }), (2048, 16 + 9 + 1 + 8, 24));
    let size = size(&open, &Options::default(), &Unwatched).unwrap().unwrap();
    assert_eq!((size.distinct, size.references), (3, 6));
}

#[test]
fn what_cannot_be_replayed_says_why() {
    let open = objects(&[1, 2, 3]);
    let error = |capacity| replay(&open, &threads(1), &[run("lru", capacity)], &Unwatched).unwrap_err().to_string();
    assert_eq!(error(Capacity::Blocks(0)), "a cache of 0b: it holds no block");
    assert!(error(Capacity::Bytes(4096)).contains("whole objects"));
    let sampled = |sampling| {
        let lru = "lru".parse().unwrap();
        curve(&open, &threads(1), lru, sampling, &Points::Spread(3), &Unwatched).unwrap_err().to_string()
    };
    assert!(sampled(Sampling::Rate(0.0)).contains("above 0"));
    assert!(sampled(Sampling::Rate(f64::NAN)).contains("above 0"));
    assert!(sampled(Sampling::Size(0)).contains("one block"));
    assert!("lfu".parse::<Algorithm>().unwrap_err().to_string().contains("known are opt, lru, mru"));
}

#[test]
fn an_empty_trace_has_no_misses() {
    let open = objects(&[]);
    let runs = [run("lru", Capacity::Share(0.5)), run("opt", Capacity::Blocks(3)), run("arc", Capacity::Blocks(3))];
    for outcome in replay(&open, &threads(2), &runs, &Unwatched).unwrap() {
        assert_eq!((outcome.requests, outcome.misses, outcome.miss_ratio), (0, 0, 0.0));
    }
    for policy in ["lru", "arc", "opt"] {
        let policy = policy.parse().unwrap();
        assert_eq!(curve(&open, &threads(1), policy, Sampling::Exact, &Points::Spread(5), &Unwatched).unwrap(), []);
    }
}

//! Caches counted in bytes: against libCacheSim, and against plain twins.

mod twins;

use forebay_sim::Unwatched;
use forebay_sim::untimed::{Capacity, SizedOptions, SizedOutcome, SizedPolicy, SizedRun, replay_sized};
use forebay_trace::{Memory, Operation, Request, Shape, Source, open_bytes};
use proptest::prelude::*;
use twins::{Missed, Rules};

/// SplitMix64's output for a state.
fn mix(state: u64) -> u64 {
    let x = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The trace of a seed: popular objects have small numbers, and each has a size of its own.
fn trace(seed: u64) -> Vec<Request> {
    let request = |number: u64| {
        let part = (mix((seed << 32) + number) >> 11) as f64 / (1u64 << 53) as f64;
        let object = (800.0 * part * part * part) as u64;
        let len = 1 + (mix(object) % (1 << (8 + object % 9))) as u32;
        Request { file: object, len, ..Request::default() }
    };
    (0..20_000).map(request).collect()
}

fn replayed(requests: &[Request], options: SizedOptions, runs: &[SizedRun]) -> Vec<SizedOutcome> {
    let open = || Ok(Box::new(Memory::new(requests.to_vec(), Shape::Objects)) as Box<dyn Source>);
    replay_sized(&open, &options, runs, &Unwatched).unwrap()
}

#[test]
fn miss_ratios_of_objects_and_bytes_are_those_of_libcachesim() {
    let golden = include_str!("../data/libcachesim-sized.tsv");
    let traces = [trace(1), trace(2)];
    let mut rows = 0;
    for line in golden.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let [seed, policy, capacity, limit, misses, bytes] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line} has not six columns");
        };
        let limit: u64 = limit.parse().unwrap();
        let options = SizedOptions { admit_below: (limit > 0).then_some(limit), ..SizedOptions::default() };
        let run = SizedRun { policy: policy.parse().unwrap(), capacity: Capacity::Bytes(capacity.parse().unwrap()) };
        let found = &replayed(&traces[seed.parse::<usize>().unwrap() - 1], options, &[run])[0];
        let apart = |ours: f64, theirs: &str| (ours - theirs.parse::<f64>().unwrap()).abs();
        assert!(apart(found.miss_ratio, misses) < 1e-6, "{line}: {found:?}");
        assert!(apart(found.byte_miss_ratio, bytes) < 1e-6, "{line}: {found:?}");
        rows += 1;
    }
    assert_eq!(rows, 60);
}

/// With objects of one byte the papers' rules count objects. Ours of ARC and 2Q agree then, and the
/// twins with libCacheSim's rules agree whatever the sizes are. So the rules that the policies'
/// files name are all that differs.
#[test]
fn policies_with_ghosts_differ_from_libcachesim_by_the_rules_that_are_named() {
    let golden = include_str!("../data/libcachesim-sized-ghosts.tsv");
    let mut rows = 0;
    for line in golden.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let [seed, policy, sizes, capacity, limit, misses, bytes] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line} has not seven columns");
        };
        let mut requests = trace(seed.parse().unwrap());
        if sizes == "one" {
            requests.iter_mut().for_each(|request| request.len = 1);
        }
        let (capacity, limit): (u64, u64) = (capacity.parse().unwrap(), limit.parse().unwrap());
        let agrees = |found: Missed| {
            let all: u64 = requests.iter().map(|request| u64::from(request.len)).sum();
            let near = |part: u64, all: u64, text: &str| {
                (part as f64 / all as f64 - text.parse::<f64>().unwrap()).abs() < 1e-6
            };
            near(found.requests, requests.len() as u64, misses) && near(found.bytes, all, bytes)
        };
        let twin = twins::of(policy, Rules::LibCacheSim, capacity);
        let found = twins::missed(twin, &requests, |bytes| (limit == 0 || bytes < limit) && bytes <= capacity);
        assert!(agrees(found), "{line}: {found:?}");
        if sizes == "one" && policy != "s3-fifo" {
            let run = SizedRun { policy: policy.parse().unwrap(), capacity: Capacity::Bytes(capacity) };
            let found = &replayed(&requests, SizedOptions::default(), &[run])[0];
            assert!(agrees(Missed { requests: found.misses, bytes: found.missed_bytes }), "{line}: {found:?}");
        }
        rows += 1;
    }
    assert_eq!(rows, 60);
}

#[test]
fn shares_are_of_the_bytes_of_distinct_objects_and_writes_can_be_left_out() {
    let of = |file, len, operation| Request { file, len, operation, ..Request::default() };
    let requests = [
        of(1, 600, Operation::Read),
        of(2, 400, Operation::Write),
        of(1, 600, Operation::Read),
        of(1, 50, Operation::Read),
    ];
    let run = SizedRun { policy: SizedPolicy::Lru, capacity: Capacity::Share(0.6) };
    let found = &replayed(&requests, SizedOptions::default(), &[run])[0];
    assert_eq!((found.capacity_bytes, found.requests, found.misses, found.bytes), (600, 4, 3, 1650));
    let reads = SizedOptions { reads_only: true, ..SizedOptions::default() };
    let found = &replayed(&requests, reads, &[SizedRun { capacity: Capacity::Share(1.0), ..run }])[0];
    assert_eq!((found.capacity_bytes, found.misses, found.missed_bytes, found.bytes), (600, 1, 600, 1250));
}

#[test]
fn what_cannot_be_counted_in_bytes_says_so() {
    let error = "lirs".parse::<SizedPolicy>().unwrap_err().to_string();
    assert_eq!(
        error,
        "policy 'lirs' does not count bytes; those that do are lru, fifo, clock, sieve, s3-fifo, arc, 2q, landlord, gdsf"
    );
    let ranges = || Ok(Box::new(Memory::new(Vec::new(), Shape::Ranges { block_bytes: 512 })) as Box<dyn Source>);
    let run = SizedRun { policy: SizedPolicy::Lru, capacity: Capacity::Bytes(1) };
    let error = replay_sized(&ranges, &SizedOptions::default(), &[run], &Unwatched).unwrap_err().to_string();
    assert!(error.contains("of ranges"), "{error}");
    let objects = || Ok(Box::new(Memory::new(Vec::new(), Shape::Objects)) as Box<dyn Source>);
    let blocks = SizedRun { capacity: Capacity::Blocks(7), ..run };
    let error = replay_sized(&objects, &SizedOptions::default(), &[blocks], &Unwatched).unwrap_err().to_string();
    assert!(error.contains("counted in bytes"), "{error}");
    // Keys alone, of which each would count as one byte.
    let keys = || open_bytes("keys".as_ref(), b"time,key\n1,a\n2,b\n".to_vec(), &forebay_trace::Options::default());
    let error = replay_sized(&keys, &SizedOptions::default(), &[run], &Unwatched).unwrap_err().to_string();
    assert!(error.contains("has no sizes, which --sizes counts"), "{error}");
}

/// Landlord as it is told: each object has a credit, rent is charged for every byte, and an object
/// without credit goes. Sizes are powers of two, so that no digit is lost.
fn landlord(requests: &[Request], capacity: u64) -> u64 {
    struct Tenant {
        file: u64,
        bytes: u64,
        credit: f64,
    }
    // The least recently used first.
    let mut tenants: Vec<Tenant> = Vec::new();
    let mut misses = 0;
    for request in requests {
        let bytes = u64::from(request.len);
        if let Some(at) = tenants.iter().position(|tenant| tenant.file == request.file) {
            let tenant = tenants.remove(at);
            tenants.push(Tenant { credit: 1e6, ..tenant });
            continue;
        }
        misses += 1;
        if bytes > capacity {
            continue;
        }
        while tenants.iter().map(|tenant| tenant.bytes).sum::<u64>() + bytes > capacity {
            let rent = tenants.iter().map(|tenant| tenant.credit / tenant.bytes as f64).fold(f64::MAX, f64::min);
            tenants.iter_mut().for_each(|tenant| tenant.credit -= rent * tenant.bytes as f64);
            let poor = tenants.iter().position(|tenant| tenant.credit <= 0.0).expect("the one that pays its last");
            tenants.remove(poor);
        }
        tenants.push(Tenant { file: request.file, bytes, credit: 1e6 });
    }
    misses
}

proptest! {
    #[test]
    fn landlord_is_the_one_that_charges_rent(
        files in prop::collection::vec(0u64..40, 1..400),
        shift in prop::collection::vec(0u32..8, 40),
        capacity in 1u64..600,
    ) {
        let request = |&file: &u64| Request { file, len: 1 << shift[file as usize], ..Request::default() };
        let requests: Vec<Request> = files.iter().map(request).collect();
        let run = SizedRun { policy: SizedPolicy::Landlord, capacity: Capacity::Bytes(capacity) };
        let found = &replayed(&requests, SizedOptions::default(), &[run])[0];
        prop_assert_eq!(found.misses, landlord(&requests, capacity));
    }

    /// Sizes differ by so much that an object may need the room of many others, or fill a queue.
    #[test]
    fn policies_with_ghosts_are_their_twins(
        files in prop::collection::vec(0u64..60, 1..600),
        sizes in prop::collection::vec(1u32..200, 60),
        capacity in 1u64..3000,
        limit in 1u64..250,
    ) {
        let request = |&file: &u64| Request { file, len: sizes[file as usize], ..Request::default() };
        let requests: Vec<Request> = files.iter().map(request).collect();
        let options = SizedOptions { admit_below: Some(limit), ..SizedOptions::default() };
        for policy in [SizedPolicy::S3Fifo, SizedPolicy::Arc, SizedPolicy::TwoQ] {
            let run = SizedRun { policy, capacity: Capacity::Bytes(capacity) };
            let found = &replayed(&requests, options, &[run])[0];
            let twin = twins::of(&found.policy, Rules::Paper, capacity);
            let expected = twins::missed(twin, &requests, |bytes| bytes < limit && bytes <= capacity);
            prop_assert_eq!(Missed { requests: found.misses, bytes: found.missed_bytes }, expected, "{}", policy);
        }
    }

    /// Whatever the policy: the cache never holds more than its capacity, or it would miss less
    /// than one that holds everything.
    #[test]
    fn every_policy_misses_each_object_once_and_not_more_than_asked(
        files in prop::collection::vec(0u64..30, 1..300),
        capacity in 1u64..4000,
    ) {
        let request = |&file: &u64| Request { file, len: 1 + (file as u32 * 37) % 200, ..Request::default() };
        let requests: Vec<Request> = files.iter().map(request).collect();
        let distinct = files.iter().collect::<std::collections::BTreeSet<_>>().len() as u64;
        let of = |capacity| SizedPolicy::all().map(move |policy| SizedRun { policy, capacity }).collect::<Vec<_>>();
        for found in replayed(&requests, SizedOptions::default(), &of(Capacity::Bytes(capacity))) {
            prop_assert!((distinct..=files.len() as u64).contains(&found.misses), "{:?}", found);
        }
        for found in replayed(&requests, SizedOptions::default(), &of(Capacity::Share(1.0))) {
            prop_assert_eq!(found.misses, distinct, "{}", found.policy);
        }
    }
}

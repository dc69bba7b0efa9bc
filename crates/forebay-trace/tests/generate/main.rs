//! Generated workloads: the same for the same seed, and as the papers describe them.

mod cp;
mod sac;
mod scm;
mod today;

use std::collections::{BTreeMap, BTreeSet};

use forebay_trace::generate::{Generated, Given, WrongWorkload, kinds};
use forebay_trace::{Operation, Request, Shape, Source};

/// The workload with parameters such as `files=100,tasks=7`.
fn named(name: &str, parameters: &str, seed: u64) -> Result<Generated, WrongWorkload> {
    forebay_trace::generate::named(name, &Given::list(parameters)?, seed)
}

fn all(name: &str, parameters: &str, seed: u64) -> Vec<Request> {
    let mut source = named(name, parameters, seed).unwrap();
    let mut requests = Vec::new();
    while source.read(&mut requests).unwrap() > 0 {}
    requests
}

/// The requests of each task, in order.
fn tasks(requests: &[Request]) -> Vec<&[Request]> {
    requests.chunk_by(|one, other| one.handler == other.handler).collect()
}

/// A few steps of every kind.
fn few(name: &str) -> String {
    let kind = kinds().find(|kind| kind.name == name).unwrap();
    let steps = ["requests", "tasks", "streams"];
    let step = kind.parameters.iter().find(|parameter| steps.contains(&parameter.name)).unwrap();
    let more = if name == "blast" { ",bytes=10M" } else { "" };
    format!("{}=7{more}", step.name)
}

#[test]
fn every_kind_is_made_of_its_defaults_and_the_same_for_the_same_seed() {
    let mut names = BTreeSet::new();
    for kind in kinds() {
        assert!(names.insert(kind.name), "{} is there twice", kind.name);
        let parameters = few(kind.name);
        let requests = all(kind.name, &parameters, 1);
        assert!(requests.len() >= 7, "{}", kind.name);
        assert_eq!(requests, all(kind.name, &parameters, 1), "{}", kind.name);
        assert!(requests.is_sorted_by_key(|request| request.at), "{}", kind.name);
        let source = named(kind.name, &parameters, 1).unwrap();
        let sizes: BTreeMap<u64, u64> = source.files().iter().map(|file| (file.file, file.bytes.unwrap())).collect();
        for request in &requests {
            assert!(request.len > 0);
            if let Some(bytes) = sizes.get(&request.file) {
                assert!(request.offset + u64::from(request.len) <= *bytes, "{} {request:?}", kind.name);
            } else {
                assert!(sizes.is_empty(), "{} {request:?}", kind.name);
            }
        }
        let origin = source.origin().unwrap();
        assert!(origin.starts_with(kind.name) && origin.ends_with("seed=1"), "{origin}");
        // A task's number is its own: it never comes again.
        let repeating = kind.name == "rates" || ["sac", "mul"].contains(&&kind.name[..3]);
        if requests.iter().all(|request| request.handler > 0) && !repeating {
            let handlers: Vec<u32> = tasks(&requests).iter().map(|task| task[0].handler).collect();
            assert_eq!(handlers, (1..=7).collect::<Vec<_>>(), "{}", kind.name);
        }
    }
    let random = ["zipf", "uniform", "mix", "scan-zipf", "one-whole-0", "sac-1", "index-search", "media-clips"];
    for name in random {
        assert_ne!(all(name, &few(name), 1), all(name, &few(name), 2), "{name}");
    }
}

#[test]
fn what_makes_no_sense_says_what_does() {
    let error = |name: &str, parameters: &str| named(name, parameters, 1).unwrap_err().to_string();
    assert!(error("ziff", "").contains("unknown workload 'ziff'; known are zipf, "));
    assert!(error("zipf", "skew=1").contains("no parameter 'skew'; it has requests, objects, alpha, bytes"));
    assert!(error("zipf", "objects=0").contains("objects=0"));
    assert!(error("zipf", "alpha=-1").contains("zero"));
    assert!(error("zipf", "alpha=NaN").contains("zero"));
    assert!(error("one-whole-0", "request=8M").contains("request=8388608"));
    assert!(error("mix", "zipf=0,uniform=0,loop=0,scan=0").contains("weight"));
    assert!(error("zipf", "objects=9,skew").contains("`skew` is no parameter; they look like objects=1000"));
}

#[test]
fn zipf_has_the_shape_of_objects_and_the_requests_that_were_asked_for() {
    let source = named("zipf", "", 1).unwrap();
    assert_eq!(source.shape(), Shape::Objects);
    let requests = all("zipf", "requests=100000,objects=1000,alpha=1", 3);
    assert_eq!(requests.len(), 100_000);
    // The most popular of 1000 at alpha 1 has 1 / H(1000) = 13.36 % of the requests.
    let share = requests.iter().filter(|request| request.file == 0).count() as f64 / 100_000.0;
    assert!((share - 0.1336).abs() < 0.005, "{share}");
}

#[test]
fn a_loop_loops_and_a_scan_never_comes_back() {
    let requests = all("loop", "requests=10,blocks=4", 1);
    let blocks: Vec<u64> = requests.iter().map(|request| request.offset / 4096).collect();
    assert_eq!(blocks, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]);
    let requests = all("scan-zipf", "requests=3000,every=100,scan=50,blocks=10", 1);
    let scanned: Vec<u64> =
        requests.iter().filter(|request| request.file == 1).map(|request| request.offset / 4096).collect();
    assert_eq!(scanned, (0..1000).collect::<Vec<_>>());
}

#[test]
fn a_mixture_follows_its_weights() {
    let requests = all("mix", "requests=70000", 5);
    let of = |file| requests.iter().filter(|request| request.file == file).count() as f64 / 10_000.0;
    for (file, weight) in [(0, 4.0), (1, 1.0), (2, 1.0), (3, 1.0)] {
        assert!((of(file) - weight).abs() < 0.1, "{file}: {}", of(file));
    }
}

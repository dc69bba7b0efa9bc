//! OPT, and through the trace readers some others, against two independent simulators on the traces
//! of the LIRS paper.
//!
//! The traces and the answers are others' and not in this repository: they are looked for in the
//! folder that `FOREBAY_TRACES` names, else in `../shared/traces` beside the repository. Without
//! them nothing is checked, and the test says so.

use std::path::{Path, PathBuf};
use std::{env, fs};

use forebay_sim::Unwatched;
use forebay_sim::untimed::{Capacity, Options, Outcome, Points, Run, Sampling, curve, replay};

/// The folder of traces, if it is there; `what` is skipped if not.
fn folder(what: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = env::var_os("FOREBAY_TRACES").map_or_else(beside, PathBuf::from);
    let folder = folder.join("lirs").is_dir().then_some(folder);
    if folder.is_none() {
        eprintln!("SKIPPED: {what}: FOREBAY_TRACES names no folder of traces");
    }
    folder
}

/// Every line of `answers` that speaks of the algorithm called `theirs`, against ours.
fn compare(folder: &Path, answers: &str, theirs: &str, ours: &str, tolerance: f64) {
    let text = fs::read_to_string(folder.join(answers)).unwrap();
    let (mut lines, mut furthest) = (0, 0.0f64);
    for line in text.lines().skip(1) {
        let columns: Vec<_> = line.split('\t').collect();
        let [name, algorithm, capacity, .., ratio] = columns[..] else { panic!("too few columns: {line}") };
        if algorithm != theirs {
            continue;
        }
        let path = folder.join(format!("lirs/{name}.trace.gz"));
        let open = || forebay_trace::open(&path, &forebay_trace::Options::default());
        let run = Run { algorithm: ours.parse().unwrap(), capacity: Capacity::Blocks(capacity.parse().unwrap()) };
        let outcomes = replay(&open, &Options::default(), &[run], &Unwatched).unwrap();
        let expected: f64 = ratio.parse().unwrap();
        let apart = (outcomes[0].miss_ratio - expected).abs();
        assert!(apart <= tolerance, "{name} {ours} {capacity}: {:.4}, not {expected}", outcomes[0].miss_ratio);
        furthest = furthest.max(apart);
        lines += 1;
    }
    eprintln!("{answers} {theirs}: {lines} runs, at most {furthest:.5} apart");
    assert!(lines > 0, "{answers} says nothing of {theirs}");
}

/// The figures have four places, so that equal counts can look 0.00005 apart.
const SAME: f64 = 0.0001;

/// Caffeine's optimum lets a block pass by that is wanted later than all others; ours takes in
/// whatever is wanted, as libCacheSim's does.
#[test]
fn opt_is_what_two_simulators_say() {
    let Some(folder) = folder("opt against both simulators") else { return };
    compare(&folder, "golden-libcachesim.tsv", "Belady", "opt", SAME);
    compare(&folder, "golden-caffeine.tsv", "opt.Clairvoyant", "opt", 0.0007);
}

/// The rest is compared with the core alone; this much shows that the readers and the numbering are
/// true.
#[test]
fn the_way_from_the_file_is_true() {
    let Some(folder) = folder("lru, sieve and car through the readers") else { return };
    compare(&folder, "golden-libcachesim.tsv", "LRU", "lru", SAME);
    compare(&folder, "golden-libcachesim.tsv", "Sieve", "sieve", SAME);
    compare(&folder, "golden-caffeine.tsv", "adaptive.Car", "car", SAME);
}

/// As many blocks as the paper on SHARDS samples (8 Ki), on two real traces: the mean error over
/// the whole curve.
#[test]
fn samples_of_real_traces_are_near_the_truth() {
    let Some(folder) = folder("samples of real traces") else { return };
    for name in ["arc/OLTP.lis.zst", "cloudphysics/cloudPhysicsIO.vscsi.zst"] {
        let open = || forebay_trace::open(&folder.join(name), &forebay_trace::Options::default());
        for policy in ["lru", "arc"] {
            let policy = policy.parse().unwrap();
            let shares = [0.02, 0.05, 0.1, 0.2, 0.4, 0.8].map(Capacity::Share);
            let exact = Points::At(shares.to_vec());
            let exact = curve(&open, &Options::default(), policy, Sampling::Exact, &exact, &Unwatched).unwrap();
            let blocks = exact.iter().map(|point| Capacity::Blocks(point.capacity_blocks)).collect();
            let options = Options::default();
            let sampled =
                curve(&open, &options, policy, Sampling::Size(8192), &Points::At(blocks), &Unwatched).unwrap();
            let error = |(a, b): (&Outcome, &Outcome)| (a.miss_ratio - b.miss_ratio).abs();
            let mean = exact.iter().zip(&sampled).map(error).sum::<f64>() / exact.len() as f64;
            eprintln!("{name}, {policy}: {mean:.4} apart in the mean");
            assert!(mean < 0.01, "{name}, {policy}: {mean:.4} apart");
        }
    }
}

//! OPT, and through the trace readers some others, against two independent simulators on the traces of the LIRS paper.
//!
//! The traces and the answers are others' and not in this repository: they are looked for in the folder that
//! `FOREBAY_TRACES` names, else in `../shared/traces` beside the repository. Without them nothing is checked, and the test
//! says so.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{env, fs};

use forebay_sim::Unwatched;
use forebay_sim::untimed::{Capacity, Options, Run, replay};

fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = env::var_os("FOREBAY_TRACES").map_or_else(beside, PathBuf::from);
    folder.join("lirs").is_dir().then_some(folder)
}

/// Every line of `answers` that speaks of the algorithm called `theirs`, against ours.
fn compare(answers: &str, theirs: &str, ours: &str, tolerance: f64) {
    let Some(folder) = folder() else {
        // Not eprintln!, which a passing test keeps to itself.
        let _ = writeln!(io::stderr(), "SKIPPED: {ours} against {answers}: FOREBAY_TRACES names no folder of traces");
        return;
    };
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

/// libCacheSim's Belady knows a next use only to the accuracy of its logical time.
#[test]
fn opt_is_what_two_simulators_say() {
    compare("golden-libcachesim.tsv", "Belady", "opt", 0.0007);
    compare("golden-caffeine.tsv", "opt.Clairvoyant", "opt", 0.0007);
}

/// The rest is compared with the core alone; this much shows that the readers and the numbering are true.
#[test]
fn the_way_from_the_file_is_true() {
    compare("golden-libcachesim.tsv", "LRU", "lru", SAME);
    compare("golden-libcachesim.tsv", "Sieve", "sieve", SAME);
    compare("golden-caffeine.tsv", "adaptive.Car", "car", SAME);
}

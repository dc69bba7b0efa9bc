//! Miss ratios against two independent simulators, libCacheSim and Caffeine's, on the traces of the
//! LIRS paper.
//!
//! The traces and most of the answers are others' and not in this repository: they are looked for
//! in the folder that `FOREBAY_TRACES` names, else in `../shared/traces` beside the repository.
//! Without them nothing is checked, and the test says so.

use crate::cycle;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::read::GzDecoder;
use forebay_core::directory::{Directory, Layout};
use forebay_core::frames::{ListId, Slot};
use forebay_core::index::{Dense, Hashed, Index};
use forebay_core::replacement::{Arc, Car, Class, Clock, Fifo, Lirs, Lru, Replacement, S3Fifo, Sieve, TwoQ, WTinyLfu};
use forebay_core::slab::Slab;

use crate::logs::logged;
use cycle::{Cycle, Outcome, key};

/// The simulators print four places, so that equal counts can look 0.00005 apart; 0.0001 is "the
/// same".
const SAME: f64 = 0.0001;

fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = env::var_os("FOREBAY_TRACES").map_or_else(beside, PathBuf::from);
    folder.join("lirs").is_dir().then_some(folder)
}

/// The block numbers of a trace, renumbered from zero in the order of appearance; marks (`*`) are
/// not references.
fn references(folder: &Path, name: &str) -> Vec<u32> {
    let file = fs::File::open(folder.join(format!("lirs/{name}.trace.gz"))).expect("a trace that an answer names");
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).expect("a trace is text");
    let mut numbers = BTreeMap::new();
    let blocks = text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "*");
    blocks
        .map(|line| {
            let block: u64 = line.parse().expect("a block number a line");
            let next = numbers.len() as u32;
            *numbers.entry(block).or_insert(next)
        })
        .collect()
}

/// Misses of a policy, which must not depend on the layout, nor leave the cache in disorder.
fn misses<R: Replacement>(trace: &[u32], capacity: u32) -> usize {
    fn run<R: Replacement, I: Index>(trace: &[u32], capacity: u32) -> Vec<Outcome> {
        let mut cycle = Cycle::<R, I>::new(capacity);
        let outcomes = trace.iter().map(|&block| cycle.read(key(block))).collect();
        cycle.check();
        outcomes
    }
    let outcomes = run::<R, Hashed>(trace, capacity);
    assert_eq!(outcomes, run::<R, Dense>(trace, capacity), "both indexes give the same hits");
    let mut logged = logged::<R>(capacity, None);
    let in_logs: Vec<Outcome> = trace.iter().map(|&block| logged.read(key(block))).collect();
    assert_eq!(outcomes, in_logs, "logs give the same hits as the slab");
    logged.directory.frames.check();
    outcomes.iter().filter(|&&outcome| outcome == Outcome::Miss).count()
}

/// A policy's name in a simulator's answers, how to run it, and how far apart implementations may
/// be.
struct Oracle {
    algorithm: &'static str,
    misses: fn(&[u32], u32) -> usize,
    tolerance: f64,
}

/// The answers that lie beside the traces.
fn beside(name: &str) -> impl Fn(&Path) -> String {
    move |folder| fs::read_to_string(folder.join(name)).expect("the answers lie beside the traces")
}

/// Compares with every line of `answers` that an oracle knows; columns are trace, algorithm,
/// capacity, …, miss ratio.
fn compare(answers: &str, read: impl Fn(&Path) -> String, oracles: &[Oracle]) {
    let Some(folder) = folder() else {
        eprintln!("SKIPPED: miss ratios against {answers}: FOREBAY_TRACES names no folder of traces");
        return;
    };
    let text = read(&folder);
    let mut traces: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut seen: BTreeMap<&str, (u32, f64)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in text.lines().skip(1) {
        let columns: Vec<_> = line.split('\t').collect();
        let [name, algorithm, capacity, .., ratio] = columns[..] else { panic!("too few columns: {line}") };
        let Some(oracle) = oracles.iter().find(|oracle| oracle.algorithm == algorithm) else { continue };
        let trace = traces.entry(name.to_owned()).or_insert_with(|| references(&folder, name));
        let capacity = capacity.parse().expect("a capacity in blocks");
        let expected: f64 = ratio.parse().expect("a miss ratio");
        let ours = (oracle.misses)(trace, capacity) as f64 / trace.len() as f64;
        let apart = (ours - expected).abs();
        let (lines, furthest) = seen.entry(oracle.algorithm).or_default();
        *lines += 1;
        *furthest = furthest.max(apart);
        if apart > oracle.tolerance {
            wrong.push(format!("{name} {algorithm} {capacity}: {ours:.4}, not {expected:.4} ± {}", oracle.tolerance));
        }
    }
    for oracle in oracles {
        let (lines, furthest) = seen.get(oracle.algorithm).copied().unwrap_or_default();
        eprintln!("{answers} {}: {lines} runs, at most {furthest:.5} apart", oracle.algorithm);
        assert!(lines > 0, "{answers} says nothing of {}", oracle.algorithm);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// LRU, FIFO, Clock (one bit, set by a hit and not by the miss) and SIEVE leave an implementation
/// no choice. ARC's and CAR's `p` is a real number there and an integer here, as in Caffeine; LIRS'
/// stack has another bound.
#[test]
fn libcachesim_agrees() {
    compare(
        "libCacheSim",
        beside("golden-libcachesim.tsv"),
        &[
            Oracle { algorithm: "LRU", misses: misses::<Lru>, tolerance: SAME },
            Oracle { algorithm: "FIFO", misses: misses::<Fifo>, tolerance: SAME },
            Oracle { algorithm: "Clock", misses: misses::<Clock>, tolerance: SAME },
            Oracle { algorithm: "Sieve", misses: misses::<Sieve>, tolerance: SAME },
            Oracle { algorithm: "ARC", misses: misses::<Arc>, tolerance: 0.0025 },
            Oracle { algorithm: "CAR", misses: misses::<Car>, tolerance: 0.0025 },
            Oracle { algorithm: "LIRS", misses: misses::<Lirs>, tolerance: 0.014 },
        ],
    );
}

/// Caffeine's Clock puts the new block into the ring before the hand moves, ours after, hence its
/// tolerance. Its ARC rounds the step of `p` down as ours does, and so must come to the same; CAR
/// too. It has no SIEVE. LIRS and 2Q leave choices (bounds of the stack; shares of the queues), and
/// so does W-TinyLFU, of which two implementations in Caffeine itself differ by 0.04.
#[test]
fn caffeine_agrees() {
    compare(
        "Caffeine",
        beside("golden-caffeine.tsv"),
        &[
            Oracle { algorithm: "linked.Lru", misses: misses::<Lru>, tolerance: SAME },
            Oracle { algorithm: "linked.Fifo", misses: misses::<Fifo>, tolerance: SAME },
            Oracle { algorithm: "linked.Clock", misses: misses::<Clock>, tolerance: 0.005 },
            Oracle { algorithm: "adaptive.Arc", misses: misses::<Arc>, tolerance: SAME },
            Oracle { algorithm: "adaptive.Car", misses: misses::<Car>, tolerance: SAME },
            Oracle { algorithm: "irr.Lirs", misses: misses::<Lirs>, tolerance: 0.014 },
            Oracle { algorithm: "two-queue.TwoQueue", misses: misses::<TwoQ>, tolerance: 0.014 },
            Oracle { algorithm: "sketch.WindowTinyLfu (1%)", misses: misses::<WTinyLfu>, tolerance: 0.033 },
        ],
    );
}

/// The miss ratios of one simulator by trace and capacity.
fn answers(folder: &Path, file: &str, algorithm: &str) -> BTreeMap<(String, u32), f64> {
    let text = beside(file)(folder);
    let lines = text.lines().skip(1).filter_map(|line| {
        let columns: Vec<_> = line.split('\t').collect();
        let [name, known, capacity, .., ratio] = columns[..] else { return None };
        (known == algorithm).then(|| ((name.to_owned(), capacity.parse().unwrap()), ratio.parse().unwrap()))
    });
    lines.collect()
}

/// Where the two simulators differ by little themselves, ours lies between them or beside, no
/// further than the better known figure of each algorithm allows.
#[test]
fn ours_lies_where_the_two_agree() {
    let Some(folder) = folder() else {
        eprintln!("SKIPPED: miss ratios against both: FOREBAY_TRACES names no folder of traces");
        return;
    };
    type Misses = fn(&[u32], u32) -> usize;
    let policies: [(&str, &str, Misses, f64); 6] = [
        ("LRU", "linked.Lru", misses::<Lru>, SAME),
        ("FIFO", "linked.Fifo", misses::<Fifo>, SAME),
        ("Clock", "linked.Clock", misses::<Clock>, 0.005),
        ("ARC", "adaptive.Arc", misses::<Arc>, 0.002),
        ("CAR", "adaptive.Car", misses::<Car>, 0.002),
        ("LIRS", "irr.Lirs", misses::<Lirs>, 0.014),
    ];
    let mut traces: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (one, other, misses, tolerance) in policies {
        let others = answers(&folder, "golden-caffeine.tsv", other);
        let mut furthest = 0.0f64;
        for ((name, capacity), first) in answers(&folder, "golden-libcachesim.tsv", one) {
            let trace = traces.entry(name.clone()).or_insert_with(|| references(&folder, &name));
            let second = others[&(name.clone(), capacity)];
            let ours = misses(trace, capacity) as f64 / trace.len() as f64;
            let outside = (first.min(second) - ours).max(ours - first.max(second)).max(0.0);
            assert!(outside <= tolerance, "{one} on {name}, {capacity}: {ours:.4}, not {first} or {second}");
            furthest = furthest.max(outside);
        }
        eprintln!("{one}: at most {furthest:.5} outside of what the two say");
    }
}

/// S3-FIFO as its authors' simulator has it since December 2024: until the first eviction, blocks
/// that S has no room for go to M. The policy itself keeps to the paper; all else is the same, and
/// so are the misses.
struct Overflowing {
    policy: S3Fifo,
    small: ListId,
    small_share: u32,
    evicted: bool,
}

impl Replacement for Overflowing {
    const LISTS: u8 = S3Fifo::LISTS;

    fn ghosts(frames: u32) -> u32 {
        S3Fifo::ghosts(frames)
    }

    fn new(first_list: u8, frames: u32) -> Overflowing {
        let policy = S3Fifo::new(first_list, frames);
        Overflowing { policy, small: ListId(first_list), small_share: frames / 10, evicted: false }
    }

    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        self.policy.hit(directory, slot);
    }

    fn miss<I: Layout>(&mut self, directory: &mut Directory<I>, ghost: Option<Slot>) -> Class {
        self.policy.miss(directory, ghost)
    }

    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, class: Class) -> Option<Slot> {
        self.evicted = true;
        self.policy.victim(directory, class)
    }

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, class: Class) {
        let overflows = !self.evicted && directory.frames.len(self.small) >= self.small_share;
        // The class of a ghost is the class of M.
        let class = if overflows { self.policy.miss(directory, Some(slot)) } else { class };
        self.policy.insert(directory, slot, class);
    }
}

/// The answers are our own record of libCacheSim 0.3.5 (its Python package), unit sizes, default
/// parameters.
#[test]
fn the_authors_s3_fifo_agrees() {
    compare(
        "libCacheSim's S3-FIFO",
        |_| include_str!("golden/s3_fifo.tsv").to_owned(),
        &[Oracle { algorithm: "S3FIFO", misses: misses::<Overflowing>, tolerance: SAME }],
    );
}

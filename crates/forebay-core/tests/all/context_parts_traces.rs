//! AMP on real traces that know no contexts, each as one: loops are found, and where there are none
//! nothing is lost against ARC.
//!
//! The traces are the LIRS paper's, looked for in the folder that `FOREBAY_TRACES` names, else in
//! `../shared/traces` beside the repository.

use crate::script;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::read::GzDecoder;
use forebay_core::Caller;
use forebay_core::auto::duel::Views;
use forebay_core::papers::amp::{Detector, Settings};
use forebay_core::presets::Contexts;
use forebay_core::replacement::Arc;
use forebay_core::seams::{Access, Place};

use script::{Script, callers, key};

fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = env::var_os("FOREBAY_TRACES").map_or_else(beside, PathBuf::from).join("lirs");
    folder.is_dir().then_some(folder)
}

/// The blocks of a trace, numbered in the order of appearance, and how many there are.
fn references(folder: &Path, name: &str) -> (Vec<u32>, u32) {
    let file = fs::File::open(folder.join(format!("{name}.trace.gz"))).expect("a trace");
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).expect("a trace is text");
    let mut numbers = BTreeMap::new();
    let mut number = |line: &str| {
        let next = numbers.len() as u32;
        line.trim().parse::<u64>().ok().map(|block| *numbers.entry(block).or_insert(next))
    };
    let blocks = text.lines().filter_map(&mut number).collect();
    (blocks, numbers.len() as u32)
}

/// Misses, and how many accesses were those of a loop.
fn run(blocks: &[u32], frames: u32, context: Option<Contexts>) -> (u64, usize) {
    let mut cache = Script::<Arc>::new(frames, context.unwrap_or(Settings::AMP.into()));
    let mut detector = context.map(|contexts| callers(Detector::new(contexts.settings).over(frames)));
    let (mut misses, mut looping) = (0, 0);
    for (now, &block) in (1..).zip(blocks) {
        let access = match &mut detector {
            Some(detector) => detector.access(Caller::default(), key(block)),
            None => Access { now, ..Access::default() },
        };
        looping += usize::from(matches!(access.place, Place::Loop(_)));
        misses += u64::from(!cache.read(block, access));
    }
    cache.check();
    (misses, looping)
}

/// Sizes of the cache, in per cent of the blocks of a trace.
const SIZES: [u32; 10] = [1, 2, 5, 10, 20, 30, 45, 60, 75, 90];

#[test]
fn loops_are_found_and_nothing_is_lost_where_there_are_none() {
    let Some(folder) = folder() else {
        // Not eprintln!, which a passing test keeps to itself.
        eprintln!("SKIPPED: AMP against ARC: FOREBAY_TRACES names no folder of traces");
        return;
    };
    // multi1 is two programs in one context, of which one loops: to take the whole for a loop would
    // cost the other one's hits. Contexts would tell the two apart; without them the whole stays
    // ARC's.
    for name in ["cpp", "cs", "gli", "loop", "multi1", "ps", "sprite", "zigzag"] {
        let (mut blocks, distinct) = references(&folder, name);
        // Half a million times the same is no more than fifty thousand times.
        blocks.truncate(140_000);
        let mut worst = (0.0, 0);
        for size in SIZES {
            let frames = (distinct * size / 100).max(1);
            let (arc, _) = run(&blocks, frames, None);
            let (amp, looping) = run(&blocks, frames, Some(Settings::AMP.into()));
            let ratio = amp as f64 / arc as f64;
            worst = if ratio > worst.0 { (ratio, size) } else { worst };
            if ["loop", "cs"].contains(&name) {
                assert!(looping * 10 > blocks.len() * 4, "{name}: {looping} of {} accesses in loops", blocks.len());
            }
            if name == "loop" && size <= 90 {
                assert!(ratio < 1.0 - f64::from(size) / 100.0 + 0.05, "a loop hits as much as there is of it: {ratio}");
            }
        }
        let (ratio, size) = worst;
        assert!(ratio <= 1.03, "{name}: {ratio:.3} times the misses of ARC at {size} % of the blocks");
    }
}

/// Three views in a duel, none of which has contexts to go by: nothing is lost where loops are not
/// all, and a good deal gained where they are.
#[test]
fn what_a_duel_of_three_chooses_is_no_worse_than_arc() {
    let Some(folder) = folder() else {
        eprintln!("SKIPPED: three views against ARC: FOREBAY_TRACES names no folder of traces");
        return;
    };
    // `auto` drops one-shot blocks whatever the view, which on a short trace is wrong for longer.
    let keeping = Contexts { views: Some(Views { drops: false, ..Views::ALL }), ..Contexts::JOINED };
    let contexts = [(1.02, keeping), (1.04, Contexts::JOINED)];
    for (name, at_best) in [
        ("cpp", 1.0),
        ("cs", 0.6),
        ("gli", 0.8),
        ("loop", 0.6),
        ("multi1", 1.0),
        ("ps", 0.6),
        ("sprite", 1.0),
        ("zigzag", 1.0),
    ] {
        let (mut blocks, distinct) = references(&folder, name);
        blocks.truncate(140_000);
        for (at_worst, contexts) in contexts {
            let ratios = SIZES.map(|size| {
                let frames = (distinct * size / 100).max(1);
                run(&blocks, frames, Some(contexts)).0 as f64 / run(&blocks, frames, None).0 as f64
            });
            let [worst, best] = [f64::max, f64::min].map(|of| ratios.into_iter().fold(ratios[0], of));
            assert!(worst <= at_worst && best <= at_best, "{name}: {ratios:.3?}");
        }
    }
}

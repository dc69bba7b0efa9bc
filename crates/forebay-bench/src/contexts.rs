//! The cost of telling contexts' patterns (AMP §3.1), in instructions counted by callgrind as
//! differences of two lengths. An access with detection is compared with a hit under ARC, by the
//! number of blocks of the context, and by the number of contexts that take turns.

use std::hint::black_box;

use anyhow::{Context, bail};
use forebay_core::directory::Directory;
use forebay_core::frames::{FETCHING, FIRST_POLICY_LIST, flag};
use forebay_core::index::Hashed;
use forebay_core::papers::amp::recency::{Mean, ONE, Sampling};
use forebay_core::papers::amp::{Detection, Detector, Settings};
use forebay_core::partition::Callers;
use forebay_core::replacement::{Arc, Replacement};
use forebay_core::{BlockKey, Caller, ContextId, FileId, HandlerId};

use crate::contexts_engine::{self, FRAMES, Hits, key};
use crate::hit::{Rounds, each};
use crate::report::Row;

/// The prefix of this benchmark's loops in `--count`.
pub(crate) const PREFIX: &str = "contexts/";

/// Counts all figures.
pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let (lengths, sizes) = if smoke {
        (Rounds::new(1_000, 2_000), vec![1_000])
    } else {
        (Rounds::new(200_000, 600_000), vec![4_096, 65_536, 1_048_576])
    };
    let counted = |what: &str, size: u32| each(&format!("{PREFIX}{what}/{size}"), lengths);
    let nothing = counted("nothing", 1)?;
    let (hit, policy) = (counted("hit", FRAMES)? - nothing, counted("arc", FRAMES)? - nothing);
    let library = counted("library", 1)? - each("copy", lengths)?;
    let mut rows = Vec::new();
    for &blocks in &sizes {
        for (what, name, wanted) in [("sampled", "with sampling", Some(0.1)), ("all", "of all blocks", None)] {
            let detection = counted(what, blocks)? - nothing;
            rows.push(Row {
                what: format!("instructions of detection {name}, a context of {blocks} blocks at random"),
                ratio: detection / hit,
                wanted,
                detail: format!("{detection:.1} and {hit:.0}, of which ARC and its index {policy:.0}; one of the library {library:.0}"),
                ..row()
            });
        }
    }
    for contexts in [2, 200] {
        let detection = counted("turns", contexts)? - nothing;
        rows.push(Row {
            what: format!("instructions of detection with sampling, {contexts} contexts in turn"),
            ratio: detection / hit,
            detail: format!("{detection:.1} and {hit:.0}"),
            ..row()
        });
    }
    Ok(rows)
}

fn row() -> Row {
    Row {
        bench: "contexts",
        what: String::new(),
        against: "a hit under ARC by the short cut".into(),
        ratio: 0.0,
        wanted: None,
        detail: String::new(),
        point: None,
    }
}

/// One loop, to be counted from outside: its kind, and the number of blocks or contexts.
pub(crate) fn count(what: &str, rounds: u64) -> anyhow::Result<()> {
    let (what, size) = what.rsplit_once('/').context("a loop of `contexts` ends with a size")?;
    let size: u32 = size.parse()?;
    let all = Detection::Recency { threshold: ONE / 10 * 4, sampling: Sampling::Off, mean: Mean::Periodic };
    match what {
        "nothing" => (0..rounds).for_each(|nth| _ = black_box(key(nth, FRAMES))),
        "sampled" => detect(Settings::AMP, 1, size, rounds),
        "all" => detect(Settings { detection: all, ..Settings::AMP }, 1, size, rounds),
        "turns" => detect(Settings::AMP, size, 65_536, rounds),
        "arc" => segment(size, rounds),
        "hit" => contexts_engine::hits(Hits { policy: "arc", devices: 1, loops: false }, rounds)?,
        "library" => crate::hit::library("arc", rounds)?,
        other => bail!("there is no loop named {other}"),
    }
    Ok(())
}

/// Enough accesses first that the sample has its final size, whatever the length.
fn detect(settings: Settings, contexts: u32, blocks: u32, rounds: u64) {
    let mut callers = Callers::new(Box::new(Detector::new(settings).over(FRAMES)));
    let warm = u64::from(blocks) * 4;
    for nth in 0..warm + rounds {
        let caller = Caller { handler: HandlerId(1), context: ContextId(nth as u32 % contexts) };
        black_box(callers.access(caller, key(nth, blocks)));
    }
}

/// ARC and its index, without an engine.
fn segment(frames: u32, rounds: u64) {
    let mut directory: Directory<Hashed> = Directory::new(FIRST_POLICY_LIST + Arc::LISTS, frames, Arc::ghosts(frames));
    let mut arc = Arc::new(FIRST_POLICY_LIST, frames);
    for block in 0..frames {
        let class = arc.miss(&mut directory, None);
        if let Some(slot) = directory.assign(BlockKey::new(FileId(0), block), FETCHING) {
            directory.frames.clear(slot, flag::ABSENT);
            arc.insert(&mut directory, slot, class);
        }
    }
    for nth in 0..rounds {
        if let Some(slot) = black_box(&directory).find(key(nth, frames)) {
            arc.hit(&mut directory, slot);
        }
    }
}

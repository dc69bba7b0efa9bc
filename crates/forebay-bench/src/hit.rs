//! A hit of 4 KiB in the library, in instructions without the copy: look up, book, hold, let go.
//! Callgrind counts it as the difference of two runs, without start-up, less a loop that only
//! copies. A look-up in `quick_cache` is counted the same way beside it.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, bail};
use forebay_core::{DeviceCost, DeviceId};
use forebay_live::engine::{Config, Engine};
use forebay_source::{Fetch, Identity, Name, Object, Version};

use crate::report::Row;
use crate::{contexts, contexts_engine, distances, partitions, prefetch_cache};

/// Blocks that are hit in turn, in an order that no prefetcher of the processor knows.
const BLOCKS: u64 = 4096;

/// Counts both and compares.
pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let hits = if smoke { Rounds::new(1_000, 2_000) } else { Rounds::new(100_000, 300_000) };
    let each = |what: &str| each(what, hits);
    let frame = each("nothing")?;
    let (ours, theirs) = (each("forebay")? - each("copy")?, each("quick-cache")? - frame);
    Ok(vec![Row {
        bench: "hit",
        what: "instructions a 4 KiB hit".into(),
        against: "quick_cache (ratio in detail)".into(),
        ratio: ours,
        wanted: Some(150.0),
        detail: format!("quick_cache {theirs:.0}, {:.2} times", ours / theirs),
        point: None,
    }])
}

/// Two lengths of a loop.
#[derive(Clone, Copy)]
pub(crate) struct Rounds {
    pub(crate) few: u64,
    pub(crate) many: u64,
}

impl Rounds {
    pub(crate) const fn new(few: u64, many: u64) -> Rounds {
        Rounds { few, many }
    }
}

/// Instructions of one round of a loop: the difference of two lengths.
pub(crate) fn each(what: &str, Rounds { few, many }: Rounds) -> anyhow::Result<f64> {
    let (a, b) = (counted(what, few)?, counted(what, many)?);
    Ok((b as f64 - a as f64) / (many - few) as f64)
}

/// Runs one loop in a process of its own under callgrind, and returns all its instructions.
fn counted(what: &str, hits: u64) -> anyhow::Result<u64> {
    let me = std::env::current_exe()?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(me)
        .args(["--count", what, "--hits", &hits.to_string()])
        .output()
        .context("valgrind counts the instructions and is not there")?;
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text.lines().find_map(|line| line.split("Collected :").nth(1));
    match collected.and_then(|number| number.trim().parse().ok()) {
        Some(instructions) => Ok(instructions),
        None => bail!("callgrind counted nothing: {text}"),
    }
}

/// The loop itself.
pub(crate) fn count(what: &str, hits: u64) -> anyhow::Result<()> {
    if let Some(what) = what.strip_prefix(partitions::PREFIX) {
        return partitions::count(what, hits);
    }
    if let Some(what) = what.strip_prefix(distances::PREFIX) {
        return distances::count(what, hits);
    }
    if let Some(what) = what.strip_prefix(contexts::PREFIX) {
        return contexts::count(what, hits);
    }
    if let Some(what) = what.strip_prefix(contexts_engine::PREFIX) {
        return contexts_engine::count(what, hits);
    }
    if let Some((what, policy)) = what.split_once(':') {
        return prefetch_cache::count(what, policy, hits);
    }
    match what {
        "forebay" => library("competitive", hits)?,
        "copy" => {
            let (from, mut to) = (vec![1u8; 4096], vec![0u8; 4096]);
            for i in 0..hits {
                black_box(block(i));
                black_box(to.as_mut_slice()).copy_from_slice(black_box(&from));
            }
        }
        "quick-cache" => {
            let cache = quick_cache::sync::Cache::<u64, Arc<()>>::new(2 * BLOCKS as usize);
            (0..BLOCKS).for_each(|i| cache.insert(i, Arc::new(())));
            for i in 0..hits {
                let _ = black_box(cache.get(&block(i)));
            }
        }
        "nothing" => {
            for i in 0..hits {
                black_box(block(i));
            }
        }
        other => bail!("there is no loop named {other}"),
    }
    Ok(())
}

/// Hits of 4 KiB in a live engine.
pub(crate) fn library(policy: &str, hits: u64) -> anyhow::Result<()> {
    let config = Config::new(64 << 20, policy.parse()?);
    let engine = Engine::start(config, vec![DeviceCost::flat(0, 1 << 30, 1)])?;
    let file = engine.open(Arc::new(Zeros(zeros())), DeviceId(0));
    let mut buffer = vec![0; 4096];
    // Twice: the first round fetches the blocks, and the second one references some for the first
    // time.
    for i in (0..BLOCKS).chain(0..BLOCKS) {
        file.read(1, i * 4096, &mut buffer)?;
    }
    for i in 0..hits {
        black_box(file.read(1, block(i) * 4096, &mut buffer)?);
    }
    Ok(())
}

/// The block of the next hit.
fn block(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9) % BLOCKS
}

/// A file of zeros whose reads are answered at once.
struct Zeros(Identity);

fn zeros() -> Identity {
    let version = Version { size: BLOCKS * 4096, ..Version::default() };
    Identity { name: Name::path(&"memory".into(), Path::new("zeros")), version }
}

impl Object for Zeros {
    fn identity(&self) -> &Identity {
        &self.0
    }

    fn fetch(&self, fetch: Fetch) {
        fetch.finish(Ok(()));
    }
}

//! Program contexts live (AMP §5): real programs under the preload library read a mount over the
//! papers' disk, in real time. The mount has memory for a part of their data. The same programs
//! read the same disk through the kernel's own page cache.
//!
//! ```text
//!  bash, cscope, sed; glimpseindex; sqlite3 ─┬─▶ mount: competitive+amp | +arc | auto | linux ─┬─▶ ext4 on ibm-10k
//!        └── which context a thread is in ──▶│─── table ──┘                                    │
//!                                            └─▶ page cache of as many bytes ──────────────────┘
//! ```
//!
//! The programs are those of the recorded workloads (`workloads/record.sh run NAME`). They run in
//! their data folder, seen through the mount. Each run has a mount of its own without hints of
//! earlier runs, and the programs of every policy are preloaded, so that all pay alike. A mount is
//! read-only: the files that glimpseindex writes, and then reads again and again, are elsewhere. So
//! its only loops on the mount are those over the indexed files, two in a run. Each is of a context
//! of its own; the detector sees it loop in the second run, and the third gains something from
//! that. The paper compares with Linux's page cache within one kernel. Here `linux` is its
//! read-ahead over LRU, in the same mount, and the kernel is today's. Without such a device the
//! kernel is left out, and each mount paces its own reads of the prepared folder.
//!
//! The disk runs at its real speed. On a faster disk, the work of programs and mount itself would
//! take as long as the disk, and on a busy machine longer.

mod block;
mod data;
mod scene;

use anyhow::Context;
use forebay_testkit::mounts;
use forebay_testkit::tools::find;

use crate::report::{Row, median};
use block::Block;
use data::Data;
use scene::{Ground, Run, on_a_mount, on_the_kernel, own};

/// The disk's seconds in one real second.
const SPEED: f64 = 1.0;

/// The measured policy, and then those that it is compared with; the kernel comes after them.
/// `auto` has contexts, too, and duels between them and ARC.
const POLICIES: [&str; 4] = ["competitive+amp", "competitive+arc", "auto", "linux"];

/// The paper compares AMP with Linux's page cache, so its figures apply to these policies and those
/// after them.
const LINUX: usize = 3;

/// A program's run, and the paper's figures for it.
struct Workload {
    name: &'static str,
    what: &'static str,
    /// Programs that the run needs.
    needs: &'static [&'static str],
    /// The parts of the data folder that it reads.
    reads: &'static [&'static str],
    /// How often it runs, one run after the other.
    times: u32,
    /// The mount's budget, MiB: a third to a half of the data.
    memory: u64,
    /// The time and the bytes read of the paper's AMP, as shares of those of Linux's page cache.
    wanted: Option<[f64; 2]>,
}

/// A figure of a run: its name, its unit, and the function that computes it.
type Figure = (&'static str, &'static str, fn(&Run) -> f64);

const FIGURES: [Figure; 2] = [("time", "s", |run| run.seconds), ("read", "MB", |run| run.disk.bytes / 1e6)];

const WORKLOADS: [Workload; 3] = [
    Workload {
        name: "cscope",
        what: "cscope, twelve queries",
        needs: &["cscope"],
        reads: &["tree", "cscope.out"],
        times: 1,
        memory: 64,
        wanted: None,
    },
    Workload {
        name: "glimpse",
        what: "glimpseindex, three times",
        needs: &[],
        reads: &["tree"],
        times: 3,
        memory: 88,
        // Fig. 14: -13 % and -43 %, where AMP gained most.
        wanted: Some([0.87, 0.57]),
    },
    Workload {
        name: "sqlite",
        what: "SQLite, TPC-H-like queries",
        needs: &["sqlite3"],
        reads: &["tpch.db"],
        times: 1,
        memory: 44,
        // Fig. 15: -9.6 % and -24.8 %, of PostgreSQL.
        wanted: Some([0.904, 0.752]),
    },
];

/// Measures all workloads, or those named by `only`. Missing data is an error, unless all benches
/// run (`any`).
pub(crate) fn run(smoke: bool, quick: bool, only: &[String], any: bool) -> anyhow::Result<Vec<Row>> {
    if !mounts::possible() {
        return Ok(Vec::new());
    }
    let chosen: Vec<&Workload> = WORKLOADS
        .iter()
        .filter(|workload| only.is_empty() || only.iter().any(|name| workload.name.starts_with(name.as_str())))
        .filter(|workload| has(workload))
        .collect();
    let data = if smoke { Data::tiny() } else { Data::prepared(chosen.iter().flat_map(|workload| workload.reads)) };
    let data = match data {
        Err(error) if any => {
            eprintln!("amp is left out: {error:#}");
            return Ok(Vec::new());
        }
        data => data?,
    };
    let rounds = if smoke || quick { 1 } else { 3 };
    // At a pace at which tiny data take no time.
    let speed = if smoke { 50.0 } else { SPEED };
    let reads = chosen.iter().flat_map(|workload| workload.reads).filter(|name| data.folder().join(name).exists());
    let mut ground = Block::with(&data, reads, speed)?.map_or(Ground::Paced(speed), Ground::Block);
    let mut rows = Vec::new();
    for workload in chosen {
        rows.extend(workload.compare(&data, &mut ground, rounds, smoke).with_context(|| workload.what)?);
    }
    Ok(rows)
}

/// Whether its programs are there; reports missing ones.
fn has(workload: &Workload) -> bool {
    let missing: Vec<&str> = workload.needs.iter().copied().filter(|name| find(name).is_none()).collect();
    if !missing.is_empty() {
        eprintln!("{} is left out: {} is missing", workload.what, missing.join(", "));
    }
    missing.is_empty()
}

impl Workload {
    /// Measures the policies in turn, each in a cache and on a mount of its own, and then the
    /// kernel.
    fn compare(&self, data: &Data, ground: &mut Ground, rounds: u64, smoke: bool) -> anyhow::Result<Vec<Row>> {
        // The smallest budget of a mount.
        let memory = if smoke { 20 } else { self.memory } << 20;
        let own = if let Ground::Block(_) = ground { own(data, self)? } else { 0 };
        let mut seen: Vec<Vec<Run>> = Vec::new();
        for seed in 1..=rounds {
            let mut runs = Vec::new();
            for policy in POLICIES {
                let run = on_a_mount(data, self, policy, ground, seed, memory)?;
                eprintln!("{}, {policy}, round {seed}: {run}", self.what);
                runs.push(run);
            }
            if let Ground::Block(block) = ground {
                let run = on_the_kernel(self, block, memory, own)?;
                eprintln!("{}, kernel, {} MB beside it, round {seed}: {run}", self.what, own / 1_000_000);
                runs.push(run);
            }
            seen.push(runs);
        }
        Ok(self.rows(&seen))
    }

    /// The gain of contexts over each of the others, which run in the same order in each round.
    fn rows(&self, seen: &[Vec<Run>]) -> Vec<Row> {
        let there = seen[0].len();
        let mut rows = Vec::new();
        for (figure, (kind, unit, of)) in FIGURES.into_iter().enumerate() {
            let all = |which: usize| median(seen.iter().map(|runs| of(&runs[which])).collect());
            let names = ["amp", "arc", "auto", "linux", "kernel"].iter().zip(0..there);
            let each: Vec<String> = names.map(|(name, which)| format!("{name} {:.1}", all(which))).collect();
            for other in 1..there {
                let mount = POLICIES.get(other).map(|policy| format!("the mount with {policy}"));
                rows.push(Row {
                    bench: "amp",
                    what: format!("{}: {kind}", self.tool()),
                    against: mount.unwrap_or_else(|| "the kernel's page cache".into()),
                    ratio: median(seen.iter().map(|runs| of(&runs[0]) / of(&runs[other])).collect()),
                    wanted: self.wanted.filter(|_| other >= LINUX).map(|wanted| wanted[figure]),
                    detail: format!("{unit}: {}; {}", each.join(", "), seen[0][0].scene()),
                    point: None,
                });
            }
        }
        rows
    }

    /// The name of the program. Without glimpse, grep reads the same files.
    fn tool(&self) -> &'static str {
        if self.is_grep() { "grep -r in place of glimpseindex, three times" } else { self.what }
    }

    fn is_grep(&self) -> bool {
        self.name == "glimpse" && find("glimpseindex").is_none()
    }
}

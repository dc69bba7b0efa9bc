//! Program contexts live (AMP §5): real programs under the preload library read a mount over the
//! papers' disk in real time, which has memory for a part of what they read, and the same disk by
//! the kernel's own page cache.
//!
//! ```text
//!  bash, cscope, sed; glimpseindex; sqlite3 ─┬─▶ mount: competitive+amp | +arc | auto | linux ─┬─▶ ext4 on ibm-10k
//!        └── which context a thread is in ──▶│─── table ──┘                                    │
//!                                            └─▶ page cache of as many bytes ──────────────────┘
//! ```
//!
//! The programs are the recorded workloads' (`workloads/record.sh run NAME`), in whose data folder
//! they run, seen through the mount. Every run has a mount of its own that knows nothing of earlier
//! ones, and every policy's programs are preloaded, so that all pay alike. A mount is only read:
//! what glimpseindex writes, and then reads again and again, lies elsewhere, which leaves of its
//! loops those over the indexed files, two in a run. Each is of a context of its own, which is seen
//! to loop in the second run, and has something of that in the third. The paper compares with
//! Linux's page cache within one kernel; here `linux` is its read-ahead over LRU, in the same
//! mount, and the kernel is today's. Where there can be no such device it is left out, and each
//! mount paces its own reads of the prepared folder.
//!
//! The disk is as fast as it was. Were it faster, what programs and mount do by themselves would
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

/// The disk's seconds in one of ours.
const SPEED: f64 = 1.0;

/// The measured policies, and then those they stand against; the kernel comes after them. `auto`
/// has contexts, too, and duels between them and ARC.
const POLICIES: [&str; 4] = ["competitive+amp", "competitive+arc", "auto", "linux"];

/// The paper's AMP is compared with Linux's page cache: with these of all, and with those after
/// them.
const LINUX: usize = 3;

/// What a program's run takes and what the paper says of it.
struct Workload {
    name: &'static str,
    what: &'static str,
    /// Programs without which it cannot be run.
    needs: &'static [&'static str],
    /// Of the data folder, what it reads.
    reads: &'static [&'static str],
    /// How often it is run, one after the other.
    times: u32,
    /// The mount's budget, MiB: a third to a half of what is read.
    memory: u64,
    /// Of `linux`, the share of its time and of its bytes read that the paper's AMP had of Linux's
    /// page cache.
    wanted: Option<[f64; 2]>,
}

/// A figure of a run: its name, its unit, how it is had.
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

/// Measures all of them, or those named by `only`. Without data that is an error, unless everything
/// there is is measured (`any`).
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

/// Whether its programs are there; says so if not.
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
        // As little as a mount takes.
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

    /// What contexts are worth against each of the others, who stand in their order in each round.
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

    /// What runs: where there is no glimpse, grep reads the same files.
    fn tool(&self) -> &'static str {
        if self.is_grep() { "grep -r in place of glimpseindex, three times" } else { self.what }
    }

    fn is_grep(&self) -> bool {
        self.name == "glimpse" && find("glimpseindex").is_none()
    }
}

//! Supply-chain prefetching (SCM §5) live: readers at limited rates through a real mount, over a
//! modelled array in real time.
//!
//! ```text
//!  readers at rates ─▶ mount ─▶ [ HTTP ─▶ a second level ─▶ ] array of six disks
//! ```
//!
//! The parts are below; `--only` chooses. `ets`: two streams at different rates, §5.2.1. `copy`: a
//! fast copy beside seven slow ones, §5.2.2. `http`: 20 downloads from nginx at five bandwidths,
//! §5.2.3. `labels`: RA over SARC with and without labels, §5.3. The simulator judges the claims
//! (`forebay repro`), and explains the array. This bench shows the same effects with real bytes.
//! All clocks but the real one run at [`SPEED`]. Rates, the array and the slots in which rates are
//! measured are that much slower than in the paper. So the machine's own work (a request through
//! the kernel, threads that wake up late) is small beside the array's. Times are given in the
//! array's seconds.

mod copy;
mod ets;
mod http;
mod labels;
mod reader;
mod scene;

use forebay_testkit::mounts;

use crate::report::{Row, median};

/// The devices' seconds in one real second.
const SPEED: f64 = 0.25;

/// Bytes of a request: the paper's page.
const REQUEST: u64 = 4096;

/// A part of the bench.
type Part = fn(&Plan) -> anyhow::Result<Vec<Row>>;

/// The amount of measuring. Seconds are the array's.
#[derive(Clone, Copy, Debug)]
struct Plan {
    rounds: u64,
    warm_up: f64,
    seconds: f64,
}

pub(crate) fn run(smoke: bool, quick: bool, only: &[String]) -> anyhow::Result<Vec<Row>> {
    if !mounts::possible() {
        return Ok(Vec::new());
    }
    let plan = match (smoke, quick) {
        (true, _) => Plan { rounds: 1, warm_up: 0.05, seconds: 0.1 },
        (_, true) => Plan { rounds: 1, warm_up: 0.5, seconds: 2.0 },
        _ => Plan { rounds: 5, warm_up: 1.0, seconds: 5.0 },
    };
    let mut rows = Vec::new();
    let parts: [(&str, Part); 4] =
        [("ets", ets::run), ("copy", copy::run), ("http", http::run), ("labels", labels::run)];
    for (part, measure) in parts {
        if only.is_empty() || only.iter().any(|name| part.starts_with(name.as_str())) {
            rows.extend(measure(&plan)?);
        }
    }
    Ok(rows)
}

/// A policy whose rates are measured in slots of the array's time.
fn at_speed(policy: &str) -> String {
    match policy {
        "ets" | "esf" => format!("{policy}:slot={:.0}", 100.0 / SPEED),
        policy => policy.to_owned(),
    }
}

/// The median over rounds of how many times as good `ours` is as `theirs`.
fn ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    median(ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect())
}

/// The same for times, where less is better.
fn quicker(ours: &[f64], theirs: &[f64]) -> f64 {
    ratio(theirs, ours)
}

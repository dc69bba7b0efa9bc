//! `auto` and presets of single papers, live and simulated. Two workloads are of one kind each:
//! whole files, and a loop beside scans. Two mix kinds: a hundred slow readers beside a copy, and a
//! report on a fast device beside scans of a slow one. Four are loads of today, on a store and on a
//! disk. Live means in real time on paced stores; the simulation has the same tasks, places, frames
//! and devices. The figures are the distance of the two throughputs, and whether they put policies
//! in the same order.

mod live;
mod workloads;

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use forebay_core::Policy;
use forebay_device::device;
use forebay_live::budget::Budget;
use forebay_play::{Content, lay};
use forebay_sim::Unwatched;
use forebay_sim::timed::{self, DeviceSetup, Mapping, Setup, Span, Spread, Workload};

use crate::report::{Row, median};
use live::Stores;
use workloads::Case;

/// The compared policies: `auto`, the nearest preset of each paper, and the policy of kernels.
const POLICIES: [&str; 5] = ["auto", "competitive-em", "ets-competitive", "lazy+amp", "linux"];

/// A fraction of the data of each workload.
const MEMORY: u64 = 64 << 20;

/// Two policies nearer to each other than this in the simulator have no order.
const APART: f64 = 0.05;

/// The length of a run.
#[derive(Clone, Copy, Debug)]
struct Plan {
    warm_up: f64,
    counted: f64,
    rounds: u64,
    /// The number of files, in sixteenths.
    scale: u64,
}

impl Plan {
    /// The part that does not count. A load that ends counts from its beginning.
    fn warm_up(&self, case: &Case) -> Option<Span> {
        case.goes_on().then_some(Span::Seconds(self.warm_up))
    }

    /// When a run ends.
    fn end(&self) -> Span {
        Span::Seconds(self.warm_up + self.counted)
    }
}

/// The throughputs of one load, in MB/s.
#[derive(Clone, Copy, Debug)]
struct Both {
    live: f64,
    simulated: f64,
}

impl Both {
    /// The smaller over the larger one.
    fn ratio(&self) -> f64 {
        (self.live / self.simulated).min(self.simulated / self.live)
    }
}

pub(crate) fn run(smoke: bool, quick: bool, only: &[String]) -> anyhow::Result<Vec<Row>> {
    let plan = match (smoke, quick) {
        (true, _) => Plan { warm_up: 0.05, counted: 0.2, rounds: 1, scale: 1 },
        (false, true) => Plan { warm_up: 1.5, counted: 4.0, rounds: 1, scale: 8 },
        (false, false) => Plan { warm_up: 15.0, counted: 30.0, rounds: 3, scale: 16 },
    };
    let mut rows = Vec::new();
    for case in Case::all(plan.scale) {
        if only.is_empty() || only.iter().any(|name| case.name.starts_with(name.as_str())) {
            rows.extend(compare(&case, plan)?);
        }
    }
    Ok(rows)
}

/// All policies on one workload: a row each, and one for their order.
fn compare(case: &Case, plan: Plan) -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let mut seen = vec![Vec::new(); POLICIES.len()];
    for seed in 1..=plan.rounds {
        let workload = case.workload(plan.warm_up + plan.counted, seed)?;
        lay(&workload, folder.path(), Content::Pattern, &|_, _| false)?;
        for (policy, seen) in POLICIES.iter().zip(&mut seen) {
            let stores = Stores::new(folder.path(), case.devices, seed)?;
            let simulated = simulated(case, &workload, &stores, policy, plan, seed)?;
            let live = stores.run(case, &workload, policy.parse()?, plan)?;
            eprintln!("  {}, {policy}, seed {seed}: live {live:.1}, simulated {simulated:.1} MB/s", case.name);
            seen.push(Both { live, simulated });
        }
    }
    let mut rows: Vec<Row> = POLICIES.iter().zip(&seen).map(|(policy, seen)| bridge(case, policy, seen)).collect();
    rows.push(order(case, &seen));
    Ok(rows)
}

/// The throughput in virtual time, in MB/s.
fn simulated(
    case: &Case,
    workload: &Workload,
    stores: &Stores,
    policy: &str,
    plan: Plan,
    seed: u64,
) -> anyhow::Result<f64> {
    let policy: Policy = policy.parse()?;
    let frames = Budget::divide(MEMORY, policy)?.frames;
    let mut setup = Setup::new(policy, u64::from(frames) * 4096, device(case.devices[0])?, case.handlers);
    let described: Result<_, _> = case.devices.iter().map(|name| device(name).map(DeviceSetup::new)).collect();
    setup.devices = described?;
    setup.seed = seed;
    setup.placement.mapping = Mapping::Modulo;
    let names = workload.file_table().iter().map(|file| file.name);
    let places: BTreeMap<u64, u64> =
        names.map(|file| Ok((file, stores.place(file)?))).collect::<anyhow::Result<_>>()?;
    setup.placement.spread = Spread::Known(places);
    (setup.warm_up, setup.limit) = (plan.warm_up(case), Some(plan.end()));
    let outcome = timed::run(&setup, workload, &Unwatched)?;
    let whole = !case.goes_on() || outcome.seconds > 0.99 * plan.counted;
    ensure!(whole, "{}: the load ended before its time", case.name);
    Ok(outcome.throughput_mb_s)
}

/// The distance of a policy's two throughputs.
fn bridge(case: &Case, policy: &str, seen: &[Both]) -> Row {
    let pairs: Vec<String> = seen.iter().map(|both| format!("{:.1}/{:.1}", both.live, both.simulated)).collect();
    Row {
        bench: "auto",
        what: format!("{}: {policy}, live", case.name),
        against: "simulator".into(),
        ratio: median(seen.iter().map(Both::ratio).collect()),
        wanted: Some(0.9),
        detail: format!("MB/s live/simulated: {}", pairs.join(", ")),
        point: None,
    }
}

/// How many pairs of policies are in the same order, of the pairs that have one.
fn order(case: &Case, seen: &[Vec<Both>]) -> Row {
    let middle = |side: fn(&Both) -> f64| -> Vec<f64> {
        seen.iter().map(|seen| median(seen.iter().map(side).collect())).collect()
    };
    let (live, simulated) = (middle(|both| both.live), middle(|both| both.simulated));
    let pairs = (0..seen.len()).flat_map(|a| (a + 1..seen.len()).map(move |b| (a, b)));
    let ordered = pairs.filter(|&(a, b)| (simulated[a] / simulated[b]).max(simulated[b] / simulated[a]) > 1.0 + APART);
    let ordered: Vec<(usize, usize)> = ordered.collect();
    let alike = ordered.iter().filter(|&&(a, b)| (simulated[a] > simulated[b]) == (live[a] > live[b])).count();
    let ranking = |figures: &[f64]| {
        let mut by: Vec<usize> = (0..figures.len()).collect();
        by.sort_by(|&a, &b| figures[b].total_cmp(&figures[a]));
        by.iter().map(|&at| format!("{} {:.1}", POLICIES[at], figures[at])).collect::<Vec<_>>().join(" > ")
    };
    Row {
        bench: "auto",
        what: format!("{}: the order of policies, live", case.name),
        against: "simulator".into(),
        ratio: if ordered.is_empty() { 1.0 } else { alike as f64 / ordered.len() as f64 },
        wanted: Some(1.0),
        detail: format!("MB/s live: {}; simulated: {}", ranking(&live), ranking(&simulated)),
        point: None,
    }
}

/// The store of a file, among `stores`.
fn store_of(file: u64, stores: usize) -> anyhow::Result<usize> {
    (file % stores.max(1) as u64).try_into().context("few stores")
}

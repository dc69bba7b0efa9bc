//! Two levels, RA over SARC, with and without labels (scm-labels; SCM §5.3, Figs. 12, 13): a mount
//! over `forebay serve` over a disk, in real time. A text search and a database read it at the same
//! time (`multi-3`). Each makes the same requests in every run, so a larger gain of one does not
//! increase its weight.
//!
//! ```text
//!  applications ─▶ mount, fixed ─▶ HTTP, Forebay-Demand, Forebay-Hits ─▶ serve, sarc ─▶ disk
//! ```

use forebay_core::level::Labels;
use std::sync::Arc;

use anyhow::Context;
use forebay_core::DeviceCost;
use forebay_device::device;
use forebay_device::scheduler::Elevator;
use forebay_live::engine::{Config, Engine};
use forebay_play::{Content, Folder, Play, lay};
use forebay_serve::{Options, Server};
use forebay_source::RemoteSource;
use forebay_source::local::LocalSource;
use forebay_source::object::StoreOptions;
use forebay_source::paced::PacedSource;
use forebay_trace::generate::{self, Given};
use forebay_trace::{Span, Workload};

use super::scene::{Scene, tree};
use super::{Plan, median, quicker, ratio};
use crate::report::Row;

const MODES: [(&str, Labels); 3] = [("no labels", Labels::Off), ("demand", Labels::Demand), ("hits", Labels::Hits)];
/// The experiment's disk. On a faster one (`ibm-10k`) wasted prefetching costs readers little
/// (simulated: 4.3 → 3.3 ms a request, where this one has 17.3 → 5.7).
const DISK: &str = "cheetah-9lp";
const WORKLOAD: &str = "multi-3";
const SCALE: &str = "0.0625";
/// A text search and a database.
const APPLICATIONS: u32 = 2;
/// Some 5 MiB of each are frames, a third of the data of so short a run. In the simulator's long
/// run the frames are a hundredth above and four below, with much the same outcome.
const MEMORY: (u64, u64) = (18 << 20, 18 << 20);

/// Requests of a run.
fn requests(plan: &Plan) -> u64 {
    (plan.seconds * 1000.0) as u64
}

/// The result of one run.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    response_ms: f64,
    /// The share of the blocks that the level above asked for and the level below had.
    hits: f64,
    /// Prefetched blocks of the level below that were given up unread, for each request of the
    /// applications.
    wasted: f64,
    /// Bytes from the disk for each request, and requests to it.
    disk_bytes: f64,
    disk_requests: f64,
}

fn once(
    workload: &Workload,
    folder: &std::path::Path,
    labels: Labels,
    plan: &Plan,
    seed: u64,
) -> anyhow::Result<Outcome> {
    let local = Arc::new(LocalSource::new(folder)?);
    let disk = PacedSource::new(local, device(DISK)?.build(seed)?, Box::new(Elevator::default()), 1.0)?;
    let cost = forebay_source::Source::cost(&disk).context("a model knows its cost")?;
    let below = Engine::start(Config::new(MEMORY.1, "sarc".parse()?), vec![cost])?;
    let server = Server::start(tree(&below, Arc::new(disk))?, "127.0.0.1:0".parse()?, Options::default())?;
    let options = StoreOptions { labels, ..StoreOptions::default() };
    let store = RemoteSource::open_uri(&format!("http://{}/", server.address()), &options)?;
    // The cost of this device, which RA does not use.
    let cost = DeviceCost::flat(5_000_000, 100_000_000, 4);
    let above = Scene::over(Arc::new(store), cost, "fixed", MEMORY.0)?;
    // The disk's counters begin with the first request, the applications' after a warm-up of a
    // quarter, as in the simulator.
    let play = Play { warm_up: Some(Span::Requests(requests(plan) / 4)), ..Play::new(APPLICATIONS) };
    let outcome = play.run(workload, &Folder::new(above.point()), &|_, _| false)?;
    let (lower, upper) = (below.stats(&[]).counts, above.engine().stats(&[]).counts);
    let asked = (lower.hits + lower.misses + lower.joined + lower.late).max(1) as f64;
    let wanted = (upper.hits + upper.misses + upper.joined + upper.late).max(1) as f64;
    drop(above);
    server.stop();
    Ok(Outcome {
        response_ms: outcome.response_ms,
        hits: lower.hits as f64 / asked,
        wasted: lower.wasted as f64 / wanted,
        disk_bytes: lower.fetched_bytes as f64 / wanted,
        disk_requests: lower.fetches as f64 / wanted,
    })
}

pub(super) fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let mut seen = MODES.map(|_| Vec::new());
    for seed in 1..=plan.rounds {
        let parameters = format!("requests={},scale={SCALE}", requests(plan));
        let workload = Workload::load(&mut generate::named(WORKLOAD, &Given::list(&parameters)?, seed)?)?;
        let folder = tempfile::tempdir()?;
        lay(&workload, folder.path(), Content::Zeros, &|_, _| false)?;
        for ((name, labels), all) in MODES.into_iter().zip(&mut seen) {
            let outcome = once(&workload, folder.path(), labels, plan, seed)?;
            eprintln!("  labels, {name}, seed {seed}: {outcome:.3?}");
            all.push(outcome);
        }
    }
    let figures = |mode: usize, of: fn(&Outcome) -> f64| seen[mode].iter().map(of).collect::<Vec<f64>>();
    let mut rows = Vec::new();
    for mode in [1, 2] {
        let name = MODES[mode].0;
        let mut row = |what: &str, figure: f64, wanted, of: fn(&Outcome) -> f64, unit: &str| {
            let [ours, theirs] = [mode, 0].map(|mode| median(figures(mode, of)));
            rows.push(Row {
                bench: "supply-chain",
                what: format!("RA over SARC, labels: {name}: {what}"),
                against: MODES[0].0.into(),
                ratio: figure,
                wanted,
                detail: format!("{unit}: {name} {ours:.2}, {} {theirs:.2}", MODES[0].0),
                point: None,
            });
        };
        // The paper: response −61.9 %, hits +180 %, unused prefetch half, less from the disk in
        // about twice as many requests.
        let less = |of: fn(&Outcome) -> f64| quicker(&figures(mode, of), &figures(0, of));
        let more = |of: fn(&Outcome) -> f64| ratio(&figures(mode, of), &figures(0, of));
        row("response", less(|one| one.response_ms), Some(1.0 / (1.0 - 0.619)), |one| one.response_ms, "ms");
        row("hits below", more(|one| one.hits), Some(2.8), |one| one.hits * 100.0, "per cent");
        row("fetched ahead unused", less(|one| one.wasted), Some(2.0), |one| one.wasted, "blocks a block");
        row("from the disk", less(|one| one.disk_bytes), Some(1.0), |one| one.disk_bytes / 4096.0, "blocks a block");
        row("requests to the disk", more(|one| one.disk_requests), None, |one| one.disk_requests, "a block");
    }
    Ok(rows)
}

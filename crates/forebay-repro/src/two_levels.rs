//! Two levels before a disk as in SCM §5.3: a client's cache, a network, a server's cache, a disk;
//! and all combinations of policies at both, with and without labels.
//!
//! The paper says: a two-level simulator over DiskSim, four algorithms "to work independently
//! at each level", a trace of several applications. Sizes of caches, network and disk it leaves to
//! earlier papers; what is chosen here stands at the fields, with its reason, and may be said
//! otherwise in an experiment's description.

use forebay_core::level::Labels;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_device::{device, network};
use forebay_trace::generate::{self, Given};
use serde::Deserialize;

use crate::disks::Trace;
use crate::{Context, Error, Experiment, Job};
use forebay_sim::timed::{self, Level, LevelFigures, Load, Outcome, Setup, Span, Workload};
use forebay_sim::{processors, sweep};

/// The levels and what is below.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Levels {
    /// The disk: one that DiskSim was validated with, of the years of the simulator (10,000 rpm).
    pub(crate) drive: String,
    /// The upper cache as a share of the blocks that the trace touches: a hundredth, a client's,
    /// far from holding the data.
    pub(crate) upper: f64,
    /// The lower cache as a multiple of the upper one: a server's. It must be larger, for level-2
    /// hits to be worth a figure: of the same size it holds little but what the upper one has, too.
    pub(crate) lower: f64,
    /// A page, bytes.
    pub(crate) page_bytes: u32,
    /// The network: a local one, 1 Gbit/s.
    pub(crate) link: network::Description,
    /// The part of a trace, at its beginning, that is not counted: by then both caches are full.
    pub(crate) warm_up: f64,
}

impl Default for Levels {
    fn default() -> Levels {
        let link = network::Description { latency_us: 50.0, overhead_us: 5.0, gbit_s: 1.0, ..Default::default() };
        let drive = "cheetah-9lp".to_owned();
        Levels { drive, upper: 0.01, lower: 4.0, page_bytes: 4096, link, warm_up: 0.25 }
    }
}

/// A trace, loaded.
pub(crate) struct Loaded {
    workload: Workload,
    /// Pages that are read.
    touched: u64,
    /// Applications that run at the same time.
    handlers: u32,
}

impl Loaded {
    /// A trace by its description; if a small part will do, a sixtieth of it.
    fn new(trace: &Trace, experiment: &Experiment, context: &Context<'_>) -> Result<Loaded, Error> {
        let mut workload = trace.load(experiment, context)?;
        // Files are as large as they are, however little of them is read.
        let given: Vec<Given<'_>> = trace.parameters.iter().map(|(name, value)| Given { name, value }).collect();
        let source = generate::named(&trace.workload, &given, context.seed);
        let source = source.map_err(|error| experiment.wrong(&error.to_string()))?;
        for file in forebay_trace::Source::files(&source) {
            workload.lengthen(file.file, file.bytes.unwrap_or(0));
        }
        let handlers = u32::try_from(workload.tasks()).unwrap_or(u32::MAX);
        Ok(Loaded { touched: touched(&workload, Levels::default().page_bytes), workload, handlers })
    }
}

/// Loads all traces, by their names.
pub(crate) fn load(
    traces: &[Trace],
    experiment: &Experiment,
    context: &Context<'_>,
) -> Result<BTreeMap<String, Loaded>, Error> {
    traces.iter().map(|trace| Ok((trace.name.clone(), Loaded::new(trace, experiment, context)?))).collect()
}

/// How many different pages are read.
fn touched(workload: &Workload, page: u32) -> u64 {
    let page = u64::from(page);
    let mut pages: Vec<Vec<bool>> =
        workload.file_table().iter().map(|file| vec![false; file.bytes.div_ceil(page) as usize]).collect();
    for place in 0..workload.requests() as u32 {
        let entry = workload.entry(place);
        for number in entry.offset / page..entry.end().div_ceil(page) {
            if let Some(seen) = pages[entry.file() as usize].get_mut(number as usize) {
                *seen = true;
            }
        }
    }
    pages.iter().flatten().filter(|&&seen| seen).count() as u64
}

/// A policy at each level.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pair {
    pub(crate) upper: String,
    pub(crate) lower: String,
}

impl Pair {
    /// Every pair of policies, by the upper one as in SCM Fig. 12.
    pub(crate) fn all(policies: &[String]) -> Vec<Pair> {
        let with = |upper: &String| {
            let pair = |lower: &String| Pair { upper: upper.clone(), lower: lower.clone() };
            policies.iter().map(pair).collect::<Vec<_>>()
        };
        policies.iter().flat_map(with).collect()
    }
}

/// A run that is to be: which trace, which policies, what the lower one is told.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Case {
    pub(crate) trace: String,
    pub(crate) upper: String,
    pub(crate) lower: String,
    pub(crate) labels: &'static str,
}

impl Case {
    pub(crate) fn new(trace: &str, pair: &Pair, labels: Labels) -> Case {
        let Pair { upper, lower } = pair.clone();
        Case { trace: trace.to_owned(), upper, lower, labels: labels.name() }
    }
}

impl Levels {
    fn setup(&self, case: &Case, trace: &Loaded, job: Job<'_>) -> Result<Setup, Error> {
        let Job { experiment, context } = job;
        let page = u64::from(self.page_bytes);
        let bytes = |share: f64| ((trace.touched as f64 * share) as u64).max(64) * page;
        let upper = Level { link: Some(self.link), ..Level::new(experiment.policy(&case.upper)?, bytes(self.upper)) };
        let labels = case.labels.parse().unwrap_or_default();
        let lower = Level { labels, ..Level::new(experiment.policy(&case.lower)?, bytes(self.upper * self.lower)) };
        let counted_from = ((trace.workload.requests() as f64 * self.warm_up) as u64).max(1);
        Ok(Setup {
            block_bytes: self.page_bytes,
            call_off: false,
            load: Load::closed(trace.handlers),
            warm_up: Some(Span::Requests(counted_from)),
            seed: context.seed,
            levels: vec![upper.clone(), lower],
            ..Setup::new(upper.policy, upper.memory_bytes, device(&self.drive)?, trace.handlers)
        })
    }

    /// Runs every case, on all processors.
    pub(crate) fn run(&self, cases: Vec<Case>, traces: &BTreeMap<String, Loaded>, job: Job<'_>) -> Result<Runs, Error> {
        let Job { experiment, context } = job;
        let done = AtomicUsize::new(0);
        let one = |case: &Case| {
            let trace = traces.get(&case.trace);
            let trace = trace.ok_or_else(|| experiment.wrong(&format!("no trace is called `{}`", case.trace)))?;
            let outcome = timed::run(&self.setup(case, trace, job)?, &trace.workload, context.watch)?;
            context.step(done.fetch_add(1, Ordering::Relaxed) + 1, cases.len())?;
            Ok(outcome)
        };
        let outcomes = sweep(&cases, processors(), || context.watch.stopped(), one);
        let outcomes: Vec<Outcome> =
            outcomes.into_iter().map(|outcome| outcome.unwrap_or(Err(Error::Stopped))).collect::<Result<_, _>>()?;
        Ok(Runs { outcomes: cases.into_iter().zip(outcomes).collect() })
    }
}

/// The outcomes of all runs.
pub(crate) struct Runs {
    outcomes: BTreeMap<Case, Outcome>,
}

impl Runs {
    /// A figure of a run; not a number if there was none.
    pub(crate) fn get(&self, case: &Case, figure: impl Fn(&Outcome) -> f64) -> f64 {
        self.outcomes.get(case).map_or(f64::NAN, figure)
    }

    /// A figure with labels over the same without.
    pub(crate) fn change(&self, case: &Case, from: Labels, figure: impl Fn(&Outcome) -> f64) -> f64 {
        let without = Case { labels: from.name(), ..case.clone() };
        self.get(case, &figure) / self.get(&without, &figure)
    }
}

/// Milliseconds of a request, in the mean.
pub(crate) fn response(outcome: &Outcome) -> f64 {
    outcome.response_ms
}

fn lower(outcome: &Outcome) -> LevelFigures {
    outcome.levels.get(1).cloned().unwrap_or_default()
}

/// The hit ratio of the lower cache.
pub(crate) fn lower_hits(outcome: &Outcome) -> f64 {
    lower(outcome).hit_ratio()
}

/// The same of what readers wait for in the upper one.
pub(crate) fn lower_demand_hits(outcome: &Outcome) -> f64 {
    lower(outcome).demand_hit_ratio()
}

/// "The number of data blocks that are fetched into the L2 cache but are evicted later without
/// being used".
pub(crate) fn unused(outcome: &Outcome) -> f64 {
    lower(outcome).counters.wasted as f64
}

/// Data from the disk, 10^6 bytes.
pub(crate) fn disk_mb(outcome: &Outcome) -> f64 {
    outcome.device_bytes as f64 / 1e6
}

/// Requests to the disk.
pub(crate) fn disk_requests(outcome: &Outcome) -> f64 {
    outcome.device_requests as f64
}

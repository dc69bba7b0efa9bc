//! today-told: what a told list brings on today's loads, and what it costs a reader beside.

use std::collections::{BTreeMap, BTreeSet};

use forebay_core::{Event, EventKind, HandlerId, Policy};
use forebay_device::random::Random;
use forebay_device::{Description, ModelDescription, device};
use forebay_sim::timed::{self, Load, Outcome, Record, Setup, Span, Told, Workload};
use forebay_trace::generate::{self, Given};
use forebay_trace::{Memory, Request, Shape, Source};
use serde::Deserialize;

use crate::{CellFigure, Context, Error, Experiment, Finding, Measure};

/// Bytes of a block.
const BLOCK: u64 = 4096;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    device: String,
    policy: String,
    /// Memory for this share of the distinct blocks.
    memory: f64,
    handlers: u32,
    loads: Vec<Today>,
    other: Other,
}

/// One of today's loads.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Today {
    name: String,
    /// Whether handlers share one order.
    pool: bool,
}

/// The reader beside.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Other {
    requests: u64,
    bytes: u32,
    file_mib: u64,
    seconds: f64,
    /// Samples that are read beside, at most.
    training: u64,
}

/// A load, read once.
struct Loaded {
    requests: Vec<Request>,
    workload: Workload,
    distinct: u64,
}

/// The machine of all runs.
struct Machine<'a> {
    parameters: &'a Parameters,
    policy: Policy,
    device: Description,
    context: &'a Context<'a>,
}

/// Looks a description through, before anything runs.
pub(super) fn read(experiment: &Experiment) -> Result<Parameters, Error> {
    let parameters: Parameters = experiment.parameters()?;
    experiment.share("`memory`", parameters.memory)?;
    if parameters.loads.is_empty() || parameters.handlers == 0 {
        return Err(experiment.wrong("it has no `loads`, or no `handlers` to read them"));
    }
    Ok(parameters)
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters = read(experiment)?;
    let policy = experiment.policy(&parameters.policy)?;
    let machine = Machine { policy, device: device(&parameters.device)?, parameters: &parameters, context };
    let (mut measures, mut cells, mut worst) = (Vec::new(), Vec::new(), (f64::INFINITY, ""));
    let loads = if context.quick { &parameters.loads[..1] } else { &parameters.loads[..] };
    for (done, load) in loads.iter().enumerate() {
        context.step(done, loads.len() + 1)?;
        let loaded = loaded(experiment, &load.name, &[], context.seed)?;
        let run = |told| timed::run(&machine.setup(&loaded, load.pool, told), &loaded.workload, context.watch);
        let (untold, told) = (run(Told::Nobody)?, run(Told::Everybody)?);
        let ceiling = machine.ceiling(experiment, load, &loaded)?;
        let share = told.throughput_mb_s / ceiling;
        worst = if share < worst.0 { (share, &load.name) } else { worst };
        let ours = format!("{:.0} instead of {:.0} MB/s of {ceiling:.0}", told.throughput_mb_s, untold.throughput_mb_s);
        measures.push(Measure::shown(&load.name, "", ours));
        cells.extend([("untold", untold), ("told", told)].map(|(how, it)| machine.cell(&load.name, how, &it, ceiling)));
    }
    let of = format!("{:.2} of the ceiling ({})", worst.0, worst.1);
    measures.push(experiment.judged("ceiling", worst.0, Measure::shown("the worst load told", "", of.clone()))?);
    let (before, after) = beside(experiment, &machine)?;
    let kept = after as f64 / before as f64;
    let ours = format!("{after} reads instead of {before}");
    measures.push(experiment.judged("beside", kept, Measure::shown("another reader beside training", "", ours))?);
    let ours = format!("{of}; another reader keeps {:.0} %", kept * 100.0);
    Ok(Finding { cells, ..Finding::new(ours, measures, Vec::new()) })
}

fn loaded(experiment: &Experiment, load: &str, with: &[Given<'_>], seed: u64) -> Result<Loaded, Error> {
    let wrong = |error: generate::WrongWorkload| experiment.wrong(&error.to_string());
    let mut source = generate::named(load, with, seed).map_err(wrong)?;
    let mut requests = Vec::new();
    while source.read(&mut requests)? > 0 {}
    let blocks = |it: &Request| it.offset / BLOCK..(it.offset + u64::from(it.len)).div_ceil(BLOCK);
    let all = requests.iter().flat_map(|it| blocks(it).map(|block| (it.file, block)));
    let distinct = all.collect::<BTreeSet<_>>().len() as u64;
    let workload = Workload::load(&mut generate::named(load, with, seed).map_err(wrong)?)?;
    Ok(Loaded { requests, workload, distinct })
}

impl Machine<'_> {
    fn memory(&self, distinct: u64) -> u64 {
        (distinct as f64 * self.parameters.memory) as u64
    }

    fn setup(&self, loaded: &Loaded, pool: bool, told: Told) -> Setup {
        let Parameters { handlers, .. } = *self.parameters;
        let memory = self.memory(loaded.distinct) * BLOCK;
        let setup = Setup::new(self.policy, memory, self.device.clone(), handlers);
        Setup { load: pooled(setup.load.clone(), pool), told, seed: self.context.seed, ..setup }
    }

    /// A run as a figure. Its bound is the ceiling.
    fn cell(&self, load: &str, how: &str, outcome: &Outcome, ceiling: f64) -> CellFigure {
        CellFigure {
            load: load.to_owned(),
            device: self.parameters.device.clone(),
            memory: self.parameters.memory,
            policy: format!("{}, {how}", self.parameters.policy),
            figure: outcome.throughput_mb_s,
            unit: "MB/s",
            bound: Some(ceiling),
            ..CellFigure::of(outcome)
        }
    }

    /// The rate that the store can give if no more is fetched than the lists allow, in MB/s.
    fn ceiling(&self, experiment: &Experiment, load: &Today, loaded: &Loaded) -> Result<f64, Error> {
        let ModelDescription::ObjectStore(store) = &self.device.model else {
            return Err(experiment.wrong("the ceiling is that of an object store"));
        };
        let Some(median_ms) = store.first_byte.median_ms else {
            return Err(experiment.wrong("the ceiling is that of a store with a `median_ms`"));
        };
        let p99_ms = store.first_byte.p99_ms.unwrap_or(median_ms);
        let missed = missed(&loaded.requests, self.memory(loaded.distinct) * BLOCK, load.pool);
        let (count, bytes) = missed.values().fold((0, 0), |(count, bytes), it| (count + it.0, bytes + it.1));
        let slowest = slowest(median_ms, p99_ms, self.context.seed);
        let busy = slowest[1] * count as f64 + bytes as f64 / (store.rate_mb_s * 1e6);
        let by_connections = busy / f64::from(store.connections);
        let by_rate = bytes as f64 / (store.total_mb_s.unwrap_or(f64::INFINITY) * 1e6);
        // A list of its own is over when its slowest request is.
        let lists = missed.values().map(|&(count, _)| slowest[(count as usize).min(MOST)]).sum::<f64>();
        let by_lists = if load.pool { 0.0 } else { lists / f64::from(self.parameters.handlers) };
        Ok(loaded.workload.read_bytes() as f64 / 1e6 / by_connections.max(by_rate).max(by_lists))
    }
}

/// The most requests of a list whose slowest is told apart.
const MOST: usize = 128;

/// The mean latency of the slowest of so many requests, in seconds, by number.
fn slowest(median_ms: f64, p99_ms: f64, seed: u64) -> Vec<f64> {
    const DRAWS: usize = 2000;
    let deviation = (p99_ms / median_ms).ln() / 2.326;
    let mut random = Random::new(seed);
    let mut unit = || (random.below(1 << 30) + 1) as f64 / (1_u64 << 30) as f64;
    let mut sums = vec![0.0; MOST + 1];
    for _ in 0..DRAWS {
        let mut most = 0.0_f64;
        for sum in &mut sums[1..] {
            // Box and Muller. The latency's logarithm is normal.
            let normal = (-2.0 * unit().ln()).sqrt() * (2.0 * std::f64::consts::PI * unit()).cos();
            most = most.max(median_ms / 1e3 * (deviation * normal).exp());
            *sum += most / DRAWS as f64;
        }
    }
    sums
}

/// By task, how many requests are missed in a cache of so many bytes, and their bytes. A request is
/// whole: half of it costs its reader a request all the same; neighbours of one task are one. Where
/// all is told Belady's rule is known, and else the request that was made last stays (LRU).
fn missed(requests: &[Request], memory: u64, all: bool) -> BTreeMap<u32, (u64, u64)> {
    let mut next_of = BTreeMap::new();
    let mut nexts = vec![0; requests.len()];
    for (at, request) in requests.iter().enumerate().rev() {
        let never = usize::MAX - at;
        nexts[at] = next_of.insert((request.file, request.offset, request.len), at).unwrap_or(never);
    }
    // By next use: bytes and last use; and the other way round.
    let (mut cache, mut by_last) = (BTreeMap::new(), BTreeMap::new());
    let (mut held, mut before) = (0, (u32::MAX, 0, 0));
    let mut missed: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (at, request) in requests.iter().enumerate() {
        let bytes = u64::from(request.len);
        if let Some((bytes, last)) = cache.remove(&at) {
            by_last.remove(&last);
            held -= bytes;
        } else {
            let task = missed.entry(request.handler).or_default();
            let apart = before != (request.handler, request.file, request.offset);
            *task = (task.0 + u64::from(apart), task.1 + bytes);
            before = (request.handler, request.file, request.offset + bytes);
        }
        cache.insert(nexts[at], (bytes, at));
        by_last.insert(at, nexts[at]);
        held += bytes;
        while held > memory {
            let last = if all { cache.keys().next_back().copied() } else { by_last.values().next().copied() };
            let Some((bytes, last)) = last.and_then(|goes| cache.remove(&goes)) else { break };
            by_last.remove(&last);
            held -= bytes;
        }
    }
    missed
}

fn pooled(load: Load, shared: bool) -> Load {
    match load {
        Load::Closed { handlers, think_ns, cpu_ns, cpu_ns_per_kib, processors, private_bytes, .. } => {
            Load::Closed { handlers, think_ns, cpu_ns, cpu_ns_per_kib, processors, private_bytes, pool: shared }
        }
        open @ Load::Open { .. } => open,
    }
}

/// How many reads of the first reader were told the core.
#[derive(Default)]
struct First(u64);

impl Record for First {
    fn record(&mut self, _level: usize, event: Event, _actions: &[forebay_core::Action]) {
        if let EventKind::Read { handler: HandlerId(1), .. } = event.kind {
            self.0 += 1;
        }
    }
}

/// The reads of another reader beside training, untold and told.
fn beside(experiment: &Experiment, machine: &Machine<'_>) -> Result<(u64, u64), Error> {
    let Other { requests, bytes, file_mib, seconds, .. } = machine.parameters.other;
    let tasks = machine.parameters.other.training.to_string();
    let training = loaded(experiment, "epochs", &[Given { name: "tasks", value: &tasks }], machine.context.seed)?;
    let last = training.requests.iter().map(|it| it.file.max(u64::from(it.handler))).max().unwrap_or(0);
    let mut random = Random::new(machine.context.seed);
    let places = (file_mib << 20) / u64::from(bytes);
    let mut all: Vec<Request> = (0..requests)
        .map(|_| Request {
            file: last + 1,
            offset: random.below(places) * u64::from(bytes),
            len: bytes,
            handler: last as u32 + 1,
            ..Request::default()
        })
        .collect();
    all.extend(&training.requests);
    let mut source = Memory::new(all.clone(), Shape::Ranges { block_bytes: BLOCK as u32 });
    let (distinct, workload) = (training.distinct + (file_mib << 20) / BLOCK, Workload::load(&mut source)?);
    let both = Loaded { requests: all, workload, distinct };
    let counted = |told| -> Result<u64, Error> {
        let setup = machine.setup(&both, true, told);
        let load = match setup.load.clone() {
            Load::Closed { handlers, think_ns, cpu_ns_per_kib, processors, private_bytes, pool, .. } => {
                // It works a millisecond on each of its reads; so do the others.
                let (handlers, cpu_ns, processors) = (handlers + 1, 1_000_000, processors.max(handlers + 1));
                Load::Closed { handlers, think_ns, cpu_ns, cpu_ns_per_kib, processors, private_bytes, pool }
            }
            open @ Load::Open { .. } => open,
        };
        let mut first = First::default();
        let setup = Setup { load, limit: Some(Span::Seconds(seconds)), ..setup };
        let _: Outcome = timed::run_recorded(&setup, &both.workload, machine.context.watch, &mut first)?;
        Ok(first.0)
    };
    Ok((counted(Told::Nobody)?, counted(Told::From(1))?))
}

//! With time: policies × sizes × schedulers × handlers, each a simulation of its own, side by side
//! on all processors.

use forebay_core::Policy;
use forebay_core::level::Labels;
use forebay_core::presets::PREFETCHERS;
use forebay_core::tier::Rules;
use forebay_device::device;
use forebay_device::scheduler::SchedulerKind;
use forebay_sim::timed::{
    self, DeviceSetup, Host, Level, Load, Outcome, Placement, Setup, Striping, TierSetup, Told, Workload,
};
use forebay_sim::untimed::Capacity;
use forebay_sim::{processors, sweep};
use forebay_trace::{FileInfo, Keys, Shape};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{chart, memory, open};
use crate::failure::Failure;
use crate::options::Sim;
use crate::options::sim::{Slow, Span, Spread, Writes};
use crate::progress::Progress;
use crate::report;

/// The default block of a simulation with time, in bytes: a page of the papers' kernels.
const BLOCK: u32 = 4096;

/// A result, with its settings.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    #[serde(flatten)]
    pub(super) outcome: Outcome,
    pub(super) scheduler: String,
    /// The scheduler before an array as a whole, and how many requests its controller accepts;
    /// `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    host_scheduler: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_depth: Option<u32>,
    /// The labels that levels get, if there are several levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) labels: Option<Labels>,
    #[serde(flatten)]
    levels: Map<String, Value>,
    #[serde(flatten)]
    tier: Map<String, Value>,
    block_bytes: u32,
    trace: String,
}

/// Simulates, and shows the results.
pub(super) fn run(sim: &Sim) -> Result<(), Failure> {
    let prepared = prepare(sim)?;
    let runs = prepared.setups.len();
    let progress = Progress::new("simulating", runs);
    let records = records(sim, &progress, &prepared);
    progress.clear();
    let records = records?;
    report::show(&records, &sim.report, || Some(chart::timed(&records, &super::name(sim))))?;
    progress.outcome(records.len(), runs)
}

/// The results that were finished.
pub(super) fn records(
    sim: &Sim,
    progress: &Progress,
    Prepared { setups, workload, .. }: &Prepared,
) -> Result<Vec<Record>, Failure> {
    let threads = sim.threads.map_or_else(processors, usize::from);
    let outcomes = sweep(setups, threads, || progress.stopped(), |setup| timed::run(setup, workload, &progress.run()));
    let mut records = Vec::new();
    for (setup, outcome) in setups.iter().zip(outcomes) {
        match outcome {
            Some(Ok(outcome)) => records.push(record(sim, setup, outcome)),
            None | Some(Err(timed::Error::Stopped)) => {}
            Some(Err(error)) => return Err(Failure::input(error)),
        }
    }
    Ok(records)
}

/// A trace to be simulated.
pub(in crate::command) struct Prepared {
    pub(in crate::command) setups: Vec<Setup>,
    pub(in crate::command) workload: Workload,
    /// The files that the trace has names or sizes of.
    pub(in crate::command) files: Vec<FileInfo>,
}

/// The setups to run, and the workload.
pub(in crate::command) fn prepare(sim: &Sim) -> Result<Prepared, Failure> {
    let setups = setups(sim, &policies(sim)?, &devices(sim)?)?;
    let mut source = open(sim).map_err(Failure::input)?;
    let mut workload = Workload::load(&mut source).map_err(Failure::input)?;
    let files = source.files();
    for file in &files {
        workload.lengthen(file.file, file.bytes.unwrap_or(0));
    }
    Ok(Prepared { setups, workload, files })
}

fn record(sim: &Sim, setup: &Setup, outcome: Outcome) -> Record {
    let scheduler = setup.devices.first().map(|device| device.scheduler.to_string()).unwrap_or_default();
    let (block_bytes, trace) = (setup.block_bytes, super::name(sim));
    let labels = setup.levels.get(1).map(|level| level.labels);
    Record {
        levels: super::levels::fields(&outcome, block_bytes),
        tier: super::levels::tier(&outcome),
        outcome,
        scheduler,
        host_scheduler: setup.host.map(|host| host.scheduler.to_string()),
        host_depth: setup.host.map(|host| host.depth),
        labels,
        block_bytes,
        trace,
    }
}

/// The devices, with their slowdowns, behind the default scheduler.
fn devices(sim: &Sim) -> Result<Vec<DeviceSetup>, Failure> {
    let names = &sim.time.device;
    if let Some(number) = sim.time.slowdown.iter().filter_map(|slow| slow.device).find(|&number| number > names.len()) {
        return Err(Failure::input(format!("--slowdown {number}@…: there is no device {number} of {}", names.len())));
    }
    let one = |(number, name): (usize, &String)| {
        let of = |slow: &&Slow| slow.device.is_none_or(|device| device == number);
        let slowdowns = sim.time.slowdown.iter().filter(of).map(|slow| slow.slowdown).collect();
        Ok(DeviceSetup { slowdowns, ..DeviceSetup::new(device(name).map_err(Failure::input)?) })
    };
    (1..).zip(names).map(one).collect()
}

/// Every combination, in the order in which they are shown.
fn setups(sim: &Sim, policies: &[Policy], devices: &[DeviceSetup]) -> Result<Vec<Setup>, Failure> {
    let sizes = memory(sim);
    let block_bytes = sim.block_bytes.map(|size| super::block(size.bytes())).transpose()?.unwrap_or(BLOCK);
    let unit_bytes = sim.time.unit_bytes.map(|size| super::block(size.bytes())).transpose()?;
    let below = sim.time.level.iter().map(|level| level.memory).chain(sim.time.disk);
    let all = sizes.iter().copied().chain(below);
    let distinct =
        if all.into_iter().any(|size| matches!(size, Capacity::Share(_))) { distinct(sim, block_bytes)? } else { 0 };
    let bytes = |size| bytes(size, distinct, block_bytes);
    let level = |policy, size, labels| Level { link: sim.time.link, labels, ..Level::new(policy, bytes(size)) };
    let tier = tier(sim, bytes)?;
    let untold = [Labels::Off];
    let labels = if sim.time.labels.is_empty() { &untold[..] } else { &sim.time.labels };
    let handlers = if sim.time.handlers.is_empty() { vec![1] } else { sim.time.handlers.clone() };
    let unsaid = [SchedulerKind::default()];
    let schedulers = if sim.time.scheduler.is_empty() { &unsaid[..] } else { &sim.time.scheduler };
    let mut setups = Vec::new();
    for &policy in policies {
        for &size in &sizes {
            for &scheduler in schedulers {
                for &handlers in &handlers {
                    for &labels in labels {
                        let of = |device: &DeviceSetup| DeviceSetup { scheduler, ..device.clone() };
                        let below = sim.time.level.iter().map(|below| level(below.policy, below.memory, labels));
                        setups.push(Setup {
                            levels: std::iter::once(level(policy, size, Labels::Off)).chain(below).collect(),
                            block_bytes,
                            unit_bytes,
                            streams: sim.time.streams,
                            call_off: !sim.time.no_call_off,
                            buffered: 1,
                            devices: devices.iter().map(of).collect(),
                            tier: tier.clone(),
                            striping: striping(sim),
                            host: sim
                                .time
                                .host_scheduler
                                .map(|scheduler| Host { scheduler, depth: sim.time.host_depth }),
                            placement: placement(sim),
                            load: load(sim, handlers),
                            writes: writes(sim),
                            told: if sim.time.told { Told::Everybody } else { Told::Nobody },
                            warm_up: sim.time.warm_up.map(Span::of_run),
                            limit: sim.time.limit.map(Span::of_run),
                            samples: None,
                            seed: sim.seed,
                        });
                    }
                }
            }
        }
    }
    Ok(setups)
}

/// The disk tier, whose size `bytes` knows.
fn tier(sim: &Sim, bytes: impl Fn(Capacity) -> u64) -> Result<Option<TierSetup>, Failure> {
    let Some(size) = sim.time.disk else { return Ok(None) };
    let device = DeviceSetup::new(device(&sim.time.disk_device).map_err(Failure::input)?);
    Ok(Some(TierSetup { bytes: bytes(size), device, rules: Rules::default() }))
}

/// The policies that the user names, each once. `all` stands for every way of looking ahead.
fn policies(sim: &Sim) -> Result<Vec<Policy>, Failure> {
    let mut policies: Vec<Policy> = Vec::new();
    for name in &sim.policies() {
        let names =
            if name == "all" { PREFETCHERS.iter().map(|entry| entry.name).collect() } else { vec![name.as_str()] };
        for name in names {
            if name == "opt" {
                return Err(Failure::input("opt is the bound of replays without time: leave out --device for it"));
            }
            let policy = name.parse().map_err(Failure::input)?;
            if !policies.contains(&policy) {
                policies.push(policy);
            }
        }
    }
    Ok(policies)
}

/// How many distinct blocks of this size the trace has.
fn distinct(sim: &Sim, block_bytes: u32) -> Result<u64, Failure> {
    let mut source = open(sim).map_err(Failure::input)?;
    let mut keys = Keys::new(Shape::Ranges { block_bytes });
    let (mut batch, mut numbers) = (Vec::new(), Vec::new());
    while source.read(&mut batch).map_err(Failure::input)? > 0 {
        let mut rest = &batch[..];
        while !rest.is_empty() {
            let done = keys.append(rest, &mut numbers).map_err(Failure::input)?;
            rest = &rest[done..];
            numbers.clear();
        }
        batch.clear();
    }
    Ok(u64::from(keys.distinct()))
}

/// The bytes of a cache of this size, at least one block.
fn bytes(size: Capacity, distinct: u64, block_bytes: u32) -> u64 {
    let block = u64::from(block_bytes);
    match size {
        Capacity::Bytes(bytes) => bytes,
        Capacity::Blocks(blocks) => blocks.saturating_mul(block),
        Capacity::Share(share) => ((distinct as f64 * share * (1.0 + 1e-12)) as u64).max(1) * block,
    }
}

fn load(sim: &Sim, handlers: u32) -> Load {
    let time = &sim.time;
    if time.open {
        return Load::Open { speed: time.speed.unwrap_or(1.0) };
    }
    let nanos = |period: crate::period::Period| u64::try_from(period.duration().as_nanos()).unwrap_or(u64::MAX);
    Load::Closed {
        handlers,
        think_ns: time.think.map(nanos),
        cpu_ns: time.cpu.map_or(0, nanos),
        cpu_ns_per_kib: time.cpu_per_mib.map_or(0, nanos) / 1024,
        processors: time.processors.unwrap_or(1),
        pool: time.pool,
        private_bytes: time.private_memory.map_or(0, |size| size.bytes()),
    }
}

fn striping(sim: &Sim) -> Striping {
    match (sim.time.stripe, sim.time.stripe_files) {
        (Some(unit), _) => Striping::Array(unit.bytes()),
        (None, Some(unit)) => Striping::Files(unit.bytes()),
        (None, None) => Striping::Off,
    }
}

fn placement(sim: &Sim) -> Placement {
    let spread = match sim.time.placement {
        Spread::Packed => timed::Spread::Packed,
        Spread::Even => timed::Spread::Even,
        Spread::FirstAccess => timed::Spread::FirstAccess,
        Spread::Scattered => timed::Spread::Scattered,
    };
    Placement { spread, ..Placement::default() }
}

fn writes(sim: &Sim) -> timed::Writes {
    match sim.time.writes {
        Writes::Device if !sim.reads_only => timed::Writes::Device,
        _ => timed::Writes::Skip,
    }
}

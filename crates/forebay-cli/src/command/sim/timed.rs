//! With time: policies × sizes × schedulers × handlers, each a simulation of its own, side by side on all processors.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_core::Policy;
use forebay_core::presets::PREFETCHERS;
use forebay_device::scheduler::SchedulerKind;
use forebay_device::{Description, device};
use forebay_sim::timed::{self, DeviceSetup, Level, Load, Outcome, Placement, Setup, Workload};
use forebay_sim::untimed::Capacity;
use forebay_trace::{Keys, Shape};
use serde::Serialize;

use super::{chart, memory, open};
use crate::failure::Failure;
use crate::options::Sim;
use crate::options::sim::{Span, Spread, Writes};
use crate::progress::Progress;
use crate::report;

/// The block of a simulation with time, in bytes, unless another is asked for: a page of the papers' kernels.
const BLOCK: u32 = 4096;

/// A result, and what it is the result of.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    #[serde(flatten)]
    pub(super) outcome: Outcome,
    pub(super) scheduler: String,
    block_bytes: u32,
    trace: String,
}

/// Simulates and shows.
pub(super) fn run(sim: &Sim) -> Result<(), Failure> {
    let policies = policies(sim)?;
    let devices: Vec<Description> =
        sim.time.device.iter().map(|name| device(name)).collect::<Result<_, _>>().map_err(Failure::input)?;
    let setups = setups(sim, &policies, &devices)?;
    let progress = Progress::new("simulating", setups.len());
    let mut source = open(sim).map_err(Failure::input)?;
    let workload = Workload::load(&mut source).map_err(Failure::input)?;
    let outcomes = simulate(&setups, &workload, threads(sim), &progress);
    progress.clear();
    let mut records = Vec::new();
    for (setup, outcome) in setups.iter().zip(outcomes) {
        match outcome {
            Some(Ok(outcome)) => records.push(record(sim, setup, outcome)),
            None | Some(Err(timed::Error::Stopped)) => {}
            Some(Err(error)) => return Err(Failure::input(error)),
        }
    }
    report::show(&records, &sim.report, || Some(chart::timed(&records, &super::name(sim))))?;
    progress.outcome(records.len(), setups.len())
}

fn record(sim: &Sim, setup: &Setup, outcome: Outcome) -> Record {
    let scheduler = setup.devices.first().map(|device| device.scheduler.to_string()).unwrap_or_default();
    Record { outcome, scheduler, block_bytes: setup.block_bytes, trace: super::name(sim) }
}

/// Every combination, in the order in which they are shown.
fn setups(sim: &Sim, policies: &[Policy], devices: &[Description]) -> Result<Vec<Setup>, Failure> {
    let sizes = memory(sim);
    let block_bytes = sim.block_bytes.map(|size| super::block(size.bytes())).transpose()?.unwrap_or(BLOCK);
    let all = sizes.iter().copied().chain(sim.time.level.iter().map(|level| level.memory));
    let distinct =
        if all.into_iter().any(|size| matches!(size, Capacity::Share(_))) { distinct(sim, block_bytes)? } else { 0 };
    let bytes = |size| bytes(size, distinct, block_bytes);
    let below: Vec<Level> = sim.time.level.iter().map(|level| Level::new(level.policy, bytes(level.memory))).collect();
    let handlers = if sim.time.handlers.is_empty() { vec![1] } else { sim.time.handlers.clone() };
    let unsaid = [String::from("elevator")];
    let schedulers = if sim.time.scheduler.is_empty() { &unsaid[..] } else { &sim.time.scheduler };
    let mut setups = Vec::new();
    for &policy in policies {
        for &size in &sizes {
            for scheduler in schedulers {
                let scheduler: SchedulerKind = scheduler.parse().map_err(Failure::input)?;
                for &handlers in &handlers {
                    let of =
                        |description: &Description| DeviceSetup { scheduler, ..DeviceSetup::new(description.clone()) };
                    let levels = std::iter::once(Level::new(policy, bytes(size))).chain(below.iter().cloned());
                    setups.push(Setup {
                        levels: levels.collect(),
                        block_bytes,
                        devices: devices.iter().map(of).collect(),
                        stripe: sim.time.stripe.map(|size| size.bytes()),
                        placement: placement(sim),
                        load: load(sim, handlers),
                        writes: writes(sim),
                        warm_up: sim.time.warm_up.map(span),
                        limit: sim.time.limit.map(span),
                        seed: sim.seed,
                    });
                }
            }
        }
    }
    Ok(setups)
}

/// Runs all of them on so many threads. `None` where nothing came of it because somebody stopped it.
fn simulate(
    setups: &[Setup],
    workload: &Workload,
    threads: usize,
    progress: &Progress,
) -> Vec<Option<Result<Outcome, timed::Error>>> {
    let next = AtomicUsize::new(0);
    let outcomes: Vec<Mutex<Option<_>>> = setups.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(setups.len()) {
            scope.spawn(|| {
                while !progress.stopped() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(setup), Some(outcome)) = (setups.get(number), outcomes.get(number)) else { return };
                    let result = timed::run(setup, workload, &progress.run());
                    *outcome.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(result);
                }
            });
        }
    });
    let unlocked = |slot: Mutex<_>| slot.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    outcomes.into_iter().map(unlocked).collect()
}

fn threads(sim: &Sim) -> usize {
    sim.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// The policies that are asked for, each once. `all` is every way of looking ahead.
fn policies(sim: &Sim) -> Result<Vec<Policy>, Failure> {
    let mut policies: Vec<Policy> = Vec::new();
    for name in &sim.policy {
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
        processors: time.processors.unwrap_or(1),
        private_bytes: time.private_memory.map_or(0, |size| size.bytes()),
    }
}

fn placement(sim: &Sim) -> Placement {
    let spread = match sim.time.placement {
        Spread::Packed => timed::Spread::Packed,
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

fn span(span: Span) -> timed::Span {
    match span {
        Span::Requests(requests) => timed::Span::Requests(requests),
        Span::Time(period) => timed::Span::Seconds(period.duration().as_secs_f64()),
    }
}

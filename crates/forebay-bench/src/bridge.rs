//! The bridge between the two drivers: the load of `handlers`, live in real time on a paced store,
//! and simulated in virtual time on the same model. Both have the same files at the same places,
//! the same tasks in the same order, the same frames, scheduler and policy. The live run is
//! recorded and replayed; the bench fails unless the actions are the same. The figure is the
//! smaller of the two throughputs as a share of the larger one.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use forebay_core::{DeviceId, Policy};
use forebay_device::device;
use forebay_device::scheduler::Elevator;
use forebay_live::budget::Budget;
use forebay_live::engine::{Config, Engine};
use forebay_live::flight::{Replayed, replay};
use forebay_play::handlers::{Load, Portion, READ};
use forebay_sim::Unwatched;
use forebay_sim::timed::{self, Setup, Span, Spread, Workload};
use forebay_source::Source;
use forebay_source::local::LocalSource;
use forebay_source::paced::PacedSource;
use forebay_trace::{Memory, Request, Shape};

use crate::handlers::{FILE_BYTES, FILES, MEMORY, data, load};
use crate::report::{Row, median};

const DISK: &str = "ibm-10k";
const POLICY: &str = "competitive";

/// More tasks a second than the disk can finish: whole files at 45 MB/s, portions of a mean of 2
/// MB.
const TASKS_A_SECOND: f64 = 30.0;

pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let files = data(folder.path(), if smoke { 8 } else { FILES })?;
    let (handlers, seconds, rounds): (&[u32], f64, u64) = if smoke { (&[2], 0.2, 1) } else { (&[1, 16, 64], 6.0, 3) };
    let mut rows = Vec::new();
    for portion in [Portion::Whole, Portion::Random] {
        for &handlers in handlers {
            let mut seen = Vec::new();
            for seed in 1..=rounds {
                let load = load(&files, handlers, portion, seconds, seed);
                seen.push((live(folder.path(), &load)?, simulated(folder.path(), &load)?));
            }
            let shares = seen.iter().map(|&((live, _), sim)| (live / sim).min(sim / live)).collect();
            let pairs = seen.iter().map(|&((live, _), sim)| format!("{sim:.1}/{live:.1}")).collect::<Vec<_>>();
            let actions: u64 = seen.iter().map(|((_, replayed), _)| replayed.same).sum();
            rows.push(Row {
                bench: "bridge",
                what: format!("simulator, {portion:?}, {handlers} handlers").to_lowercase(),
                against: "live engine, paced".into(),
                ratio: median(shares),
                wanted: Some(0.9),
                detail: format!("MB/s simulated/live: {}; {actions} actions replayed alike", pairs.join(", ")),
                point: None,
            });
        }
    }
    Ok(rows)
}

/// The disk with the files of a folder on it, paced.
fn paced(folder: &Path, seed: u64) -> anyhow::Result<PacedSource> {
    let local: Arc<dyn Source> = Arc::new(LocalSource::new(folder)?);
    Ok(PacedSource::new(local, device(DISK)?.build(seed)?, Box::new(Elevator::default()), 1.0)?)
}

/// The throughput in MB/s, and the result of the flight's replay.
fn live(folder: &Path, load: &Load) -> anyhow::Result<(f64, Replayed)> {
    let source = paced(folder, load.seed)?;
    let cost = source.cost().context("a model knows its cost")?;
    let source: Arc<dyn Source> = Arc::new(source);
    let record = tempfile::NamedTempFile::new()?;
    let config = Config { record: Some(record.path().to_owned()), ..Config::new(MEMORY, POLICY.parse()?) };
    let engine = Engine::start(config, vec![cost])?;
    let throughput = load.run(&engine, &source, DeviceId(0))?;
    // A fetch under way holds the engine, whose end writes the rest of the flight.
    while engine.stats(&[]).devices[0].in_flight > 0 || Arc::strong_count(&engine) > 1 {
        std::thread::yield_now();
    }
    drop(engine);
    let replayed = replay(record.path())?;
    ensure!(replayed.differs_at.is_none() && replayed.same > 0, "the replayed flight differs: {replayed:?}");
    Ok((throughput, replayed))
}

/// The same in virtual time.
fn simulated(folder: &Path, load: &Load) -> anyhow::Result<f64> {
    let policy: Policy = POLICY.parse()?;
    let budget = Budget::divide(MEMORY, policy)?;
    let mut setup = Setup::new(policy, u64::from(budget.frames) * 4096, device(DISK)?, load.handlers);
    let source = paced(folder, load.seed)?;
    let place = |(number, path): (u64, &std::path::PathBuf)| -> anyhow::Result<(u64, u64)> {
        let run = source.open(path)?.layout();
        Ok((number, run.first().context("a file on a disk has a place")?.at_byte))
    };
    setup.placement.spread = Spread::Known((0..).zip(&load.files).map(place).collect::<Result<_, _>>()?);
    let seconds = (load.warm_up.as_secs_f64(), load.counted.as_secs_f64());
    (setup.warm_up, setup.limit) = (Some(Span::Seconds(seconds.0)), Some(Span::Seconds(seconds.0 + seconds.1)));
    setup.seed = load.seed;
    Ok(timed::run(&setup, &workload(load, seconds.0 + seconds.1)?, &Unwatched)?.throughput_mb_s)
}

/// The reads of the handlers of a load in this many seconds, and more.
fn workload(load: &Load, seconds: f64) -> anyhow::Result<Workload> {
    let order = load.order();
    let tasks = (seconds * TASKS_A_SECOND) as usize + load.handlers as usize;
    let requests = (0..tasks).flat_map(|number| {
        let (file, bytes) = load.task(number, &order, FILE_BYTES);
        (0..bytes).step_by(READ as usize).map(move |offset| Request {
            file: file as u64,
            handler: number as u32,
            offset,
            len: READ.min(bytes - offset) as u32,
            ..Request::default()
        })
    });
    let mut workload = Workload::load(&mut Memory::new(requests.collect(), Shape::Ranges { block_bytes: 4096 }))?;
    workload.at_least(FILE_BYTES);
    Ok(workload)
}

//! `forebay sim`: replays of a trace. They yield miss ratios without time, whole curves of them,
//! or, with a device, times.

mod chart;
mod curve;
mod levels;
mod replay;
mod sized;
pub(super) mod timed;

use forebay_sim::untimed::{Capacity, Options, Outcome};
use forebay_trace::Source;
use serde::Serialize;

use crate::failure::Failure;
use crate::options::Sim;
use crate::progress::Progress;
use crate::report::{Fields, fields};
use crate::traces;

/// The default size.
const MEMORY: Capacity = Capacity::Share(0.1);

/// Runs the command.
pub(crate) fn run(sim: &Sim) -> Result<(), Failure> {
    if sim.sizes {
        return sized::run(sim);
    }
    match (sim.curve.is_empty(), sim.time.device.is_empty()) {
        (false, _) => curve::run(sim),
        (true, false) => timed::run(sim),
        (true, true) => replay::run(sim),
    }
}

/// The results as records of fields, without showing them.
pub(crate) fn records(sim: &Sim, progress: &Progress) -> Result<Vec<Fields>, Failure> {
    if sim.sizes {
        return fields(&sized::records(sim, progress, &sized::runs(sim)?)?);
    }
    match (sim.curve.is_empty(), sim.time.device.is_empty()) {
        (false, _) => fields(&curve::records(sim, progress)?.records),
        (true, false) => fields(&timed::records(sim, progress, &timed::prepare(sim)?)?),
        (true, true) => fields(&replay::records(sim, progress, &replay::runs(sim)?)?),
    }
}

/// Outcomes as [`records`] has them.
pub(crate) fn of_outcomes(sim: &Sim, outcomes: Vec<Outcome>) -> Result<Vec<Fields>, Failure> {
    fields(&outcomes.into_iter().map(|outcome| Record::new(outcome, sim)).collect::<Vec<_>>())
}

/// A result without time, with its settings.
#[derive(Debug, Serialize)]
struct Record {
    #[serde(flatten)]
    outcome: Outcome,
    trace: String,
    seed: u64,
}

impl Record {
    fn new(outcome: Outcome, sim: &Sim) -> Record {
        Record { outcome, trace: name(sim), seed: sim.seed }
    }
}

/// Opens the trace from its beginning.
pub(crate) fn open(sim: &Sim) -> Result<Box<dyn Source>, forebay_trace::Error> {
    match &sim.given {
        Some(given) => Ok(given.open()),
        None => traces::open(&sim.trace, &sim.reading.options(), sim.seed),
    }
}

/// The trace's name.
fn name(sim: &Sim) -> String {
    if sim.given.is_some() { sim.trace.to_string_lossy().into_owned() } else { traces::name(&sim.trace) }
}

/// The sizes that the user names, or the default.
pub(crate) fn memory(sim: &Sim) -> Vec<Capacity> {
    if sim.memory.is_empty() { vec![MEMORY] } else { sim.memory.clone() }
}

/// The options of a replay without time.
pub(crate) fn untimed(sim: &Sim) -> Result<Options, Failure> {
    let block_bytes = sim.block_bytes.map(|size| block(size.bytes())).transpose()?;
    Ok(Options { block_bytes, reads_only: sim.reads_only, threads: sim.threads.map(usize::from) })
}

/// A size that a block can have.
fn block(bytes: u64) -> Result<u32, Failure> {
    u32::try_from(bytes)
        .ok()
        .filter(|&bytes| bytes > 0 && bytes <= 1 << 30)
        .ok_or_else(|| Failure::input(format!("--block-bytes {bytes}: a block has 1 byte to 1 GiB")))
}

/// A fault of the trace or of the options: nothing was replayed.
fn refusal(error: forebay_sim::untimed::Error) -> Failure {
    Failure::input(error)
}

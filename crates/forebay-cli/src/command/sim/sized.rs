//! Miss ratios of objects and of bytes, of caches that count bytes: policies × sizes.

use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::untimed::{NotSized, SizedOptions, SizedOutcome, SizedPolicy, SizedRun, replay_sized};
use serde::Serialize;

use super::{memory, name, open, refusal};
use crate::failure::Failure;
use crate::options::Sim;
use crate::progress::Progress;
use crate::report;

/// A result, with its settings.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    #[serde(flatten)]
    outcome: SizedOutcome,
    trace: String,
    seed: u64,
}

/// Replays, and shows the results.
pub(super) fn run(sim: &Sim) -> Result<(), Failure> {
    let runs = runs(sim)?;
    let progress = Progress::new("replaying", 1);
    let records = records(sim, &progress, &runs);
    progress.clear();
    let records = records?;
    report::show(&records, &sim.report, || Some(chart(&records, &name(sim))))?;
    progress.outcome(records.len(), runs.len())
}

/// The caches to replay: every policy at every size.
pub(super) fn runs(sim: &Sim) -> Result<Vec<SizedRun>, Failure> {
    let mut policies: Vec<SizedPolicy> = Vec::new();
    for name in &sim.policies() {
        match name.as_str() {
            "all" => policies.extend(SizedPolicy::all()),
            name => policies.push(name.parse().map_err(|error: NotSized| Failure::input(error))?),
        }
    }
    let sizes = memory(sim);
    let at_sizes = |&policy| sizes.iter().map(move |&capacity| SizedRun { policy, capacity });
    Ok(policies.iter().flat_map(at_sizes).collect())
}

/// The results.
pub(super) fn records(sim: &Sim, progress: &Progress, runs: &[SizedRun]) -> Result<Vec<Record>, Failure> {
    let admit_below = sim.admit_below.map(|size| size.bytes());
    let options = SizedOptions { reads_only: sim.reads_only, admit_below };
    let outcomes = replay_sized(&|| open(sim), &options, runs, &progress.run()).map_err(refusal)?;
    let record = |outcome| Record { outcome, trace: name(sim), seed: sim.seed };
    Ok(outcomes.into_iter().map(record).collect())
}

/// Byte miss ratios over sizes, a line a policy.
fn chart(records: &[Record], trace: &str) -> Chart {
    let mut series: Vec<Series> = Vec::new();
    for Record { outcome, .. } in records {
        let point = (outcome.capacity_bytes as f64, outcome.byte_miss_ratio);
        match series.iter_mut().find(|line| line.name == outcome.policy) {
            Some(line) => line.points.push(point),
            None => series.push(Series { name: outcome.policy.clone(), points: vec![point] }),
        }
    }
    Chart {
        title: format!("Byte miss ratios of {trace}"),
        x: Axis::logarithmic("bytes in the cache"),
        y: Axis::linear("byte miss ratio"),
        series,
    }
}

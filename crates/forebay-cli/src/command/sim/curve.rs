//! Whole miss-ratio curves.

use forebay_sim::untimed::{self, Points, Sampling};

use super::{Record, chart, open, refusal};
use crate::failure::Failure;
use crate::options::Sim;
use crate::progress::Progress;
use crate::report;

/// The curves that were finished.
pub(super) struct Curves {
    pub(super) records: Vec<Record>,
    finished: usize,
}

/// Draws a curve for each policy, and shows them.
pub(super) fn run(sim: &Sim) -> Result<(), Failure> {
    let progress = Progress::new("replaying", sim.curve.len());
    let Curves { records, finished } = records(sim, &progress)?;
    progress.clear();
    report::show(&records, &sim.report, || Some(chart::miss_ratios(&records, &super::name(sim))))?;
    progress.outcome(finished, sim.curve.len())
}

/// Computes a curve for each policy.
pub(super) fn records(sim: &Sim, progress: &Progress) -> Result<Curves, Failure> {
    let options = super::untimed(sim)?;
    let points = if sim.memory.is_empty() { Points::Spread(sim.points) } else { Points::At(sim.memory.clone()) };
    let sampling = match (sim.sample, sim.sample_size) {
        (Some(share), _) => Sampling::Rate(share),
        (None, Some(blocks)) => Sampling::Size(blocks),
        (None, None) => Sampling::Exact,
    };
    let mut records = Vec::new();
    let mut finished = 0;
    for &algorithm in &sim.curve {
        let outcomes = untimed::curve(&|| open(sim), &options, algorithm, sampling, &points, &progress.run());
        records.extend(outcomes.map_err(refusal)?.into_iter().map(|outcome| Record::new(outcome, sim)));
        if progress.stopped() {
            break;
        }
        finished += 1;
    }
    Ok(Curves { records, finished })
}

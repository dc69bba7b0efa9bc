//! Miss ratios without time: policies × sizes.

use forebay_core::Policy;
use forebay_core::presets::Prefetch;
use forebay_core::presets::Replacement;
use forebay_sim::untimed::{self, Algorithm, Run};

use super::{Record, chart, memory, open, refusal};
use crate::failure::Failure;
use crate::options::Sim;
use crate::progress::Progress;
use crate::report;

/// Replays, and shows the results.
pub(super) fn run(sim: &Sim) -> Result<(), Failure> {
    let runs = runs(sim)?;
    let progress = Progress::new("replaying", 1);
    let records = records(sim, &progress, &runs);
    progress.clear();
    let records = records?;
    report::show(&records, &sim.report, || Some(chart::miss_ratios(&records, &super::name(sim))))?;
    progress.outcome(records.len(), runs.len())
}

/// The caches to replay: every policy at every size.
pub(super) fn runs(sim: &Sim) -> Result<Vec<Run>, Failure> {
    let algorithms = algorithms(sim)?;
    let sizes = memory(sim);
    let at_sizes = |&algorithm| sizes.iter().map(move |&capacity| Run { algorithm, capacity });
    Ok(algorithms.iter().flat_map(at_sizes).collect())
}

/// The results that were finished.
pub(super) fn records(sim: &Sim, progress: &Progress, runs: &[Run]) -> Result<Vec<Record>, Failure> {
    let outcomes = untimed::replay(&|| open(sim), &super::untimed(sim)?, runs, &progress.run());
    Ok(outcomes.map_err(refusal)?.into_iter().map(|outcome| Record::new(outcome, sim)).collect())
}

/// The algorithms that the user names, the bound first.
fn algorithms(sim: &Sim) -> Result<Vec<Algorithm>, Failure> {
    let mut algorithms = if sim.no_opt { Vec::new() } else { vec![Algorithm::Opt] };
    for name in &sim.policies() {
        let named = match name.as_str() {
            "all" => Replacement::ALL.iter().map(|&policy| Algorithm::Online(policy)).collect(),
            name => vec![algorithm(name)?],
        };
        for algorithm in named {
            if !algorithms.contains(&algorithm) {
                algorithms.push(algorithm);
            }
        }
    }
    Ok(algorithms)
}

/// An algorithm by its name, or the reason why it cannot be replayed.
fn algorithm(name: &str) -> Result<Algorithm, Failure> {
    match (name.parse::<Algorithm>(), name.parse::<Policy>()) {
        (Ok(algorithm), _) => Ok(algorithm),
        (Err(_), Ok(Policy { prefetch: Prefetch::None, .. })) => Err(Failure::input(format!(
            "policy '{name}' divides the cache by how long devices take: add devices to simulate time, as in --device ibm-10k"
        ))),
        (Err(_), Ok(_)) => Err(Failure::input(format!(
            "policy '{name}' looks ahead, which gains nothing but time: add a device to simulate time, as in --device ibm-10k"
        ))),
        (Err(unknown), Err(wrong)) => Err(Failure::input(match wrong.option {
            Some(_) => wrong.to_string(),
            None => format!("{unknown}; with --device, all that `forebay policies` lists"),
        })),
    }
}

//! auto-regret: random systems and workloads by the thousand: how much worse `auto` is than the
//! best single preset, and why.

use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_core::Policy;
use serde::Deserialize;

use crate::scenario::Scenario;
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::timed::{Outcome, run};
use forebay_sim::{processors, sweep};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Their seeds are the run's and those after it.
    scenarios: u64,
    policy: String,
    /// The presets it is measured against.
    presets: Vec<String>,
    /// The policy without one of its parts, to see which part it is.
    without: Vec<String>,
    /// How many of the worst are shown and explained.
    worst: usize,
}

/// The outcome of a scenario.
struct Trial {
    scenario: Scenario,
    own: Outcome,
    /// The best preset, by name.
    best: (String, Outcome),
}

impl Trial {
    fn regret(&self) -> f64 {
        self.scenario.figure(&self.own) / self.scenario.figure(&self.best.1)
    }
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let mut parameters: Parameters = experiment.parameters()?;
    if context.quick {
        (parameters.scenarios, parameters.worst) = (6, 2);
    }
    let own = experiment.policy(&parameters.policy)?;
    let presets = all_named(&parameters.presets, experiment)?;
    let without = all_named(&parameters.without, experiment)?;
    let seeds: Vec<u64> = (0..parameters.scenarios).map(|number| context.seed.wrapping_add(number)).collect();
    let done = AtomicUsize::new(0);
    let step = || context.step(done.fetch_add(1, Ordering::Relaxed) + 1, seeds.len() + parameters.worst);
    let one = |&seed: &u64| {
        let trial = trial(seed, own, &presets, context)?;
        step()?;
        Ok(trial)
    };
    let mut trials: Vec<Trial> = all(sweep(&seeds, processors(), || context.watch.stopped(), one))?;
    trials.sort_by(|a, b| b.regret().total_cmp(&a.regret()));
    let worst = &trials[..parameters.worst.min(trials.len())];
    let explained = |trial: &Trial| {
        let text = explain(trial, &without, context)?;
        step()?;
        Ok(text)
    };
    let reasons: Vec<String> = all(sweep(worst, processors(), || context.watch.stopped(), explained))?;
    finding(&trials, &reasons, &parameters.policy, experiment)
}

/// A scenario under the policy and all presets.
fn trial(seed: u64, own: Policy, presets: &[Named<'_>], context: &Context<'_>) -> Result<Trial, Error> {
    let scenario = Scenario::new(seed);
    let workload = scenario.workload()?;
    let simulate = |policy| Ok::<_, Error>(run(&scenario.setup(policy, &workload)?, &workload, context.watch)?);
    let own = simulate(own)?;
    let mut best: Option<(String, Outcome)> = None;
    for &Named { name, policy } in presets {
        let outcome = simulate(policy)?;
        let better = |(_, known): &(String, Outcome)| scenario.figure(&outcome) < scenario.figure(known);
        if best.as_ref().is_none_or(better) {
            best = Some((name.to_owned(), outcome));
        }
    }
    Ok(Trial { scenario, own, best: best.ok_or(Error::Stopped)? })
}

fn finding(trials: &[Trial], reasons: &[String], policy: &str, experiment: &Experiment) -> Result<Finding, Error> {
    // The worst comes first.
    let at = |share: f64| {
        let place = (trials.len() as f64 * (1.0 - share)) as usize;
        trials.get(place).map_or(f64::NAN, Trial::regret)
    };
    let worst = trials.first().map_or(f64::NAN, Trial::regret);
    let above = |bound: f64| trials.iter().filter(|trial| trial.regret() > bound).count();
    let text = format!(
        "median {:.3}, 90 % {:.3}, 99 % {:.3}, worst {worst:.2}; {} of {} above 1.25, {} better than every preset",
        at(0.5),
        at(0.9),
        at(0.99),
        above(1.25),
        trials.len(),
        trials.iter().filter(|trial| trial.regret() < 1.0).count()
    );
    let what = "its figure over the best preset's";
    let mut measures = vec![experiment.judged("worst", worst, Measure::shown(what, "at most 1.25", text.clone()))?];
    for (trial, reason) in trials.iter().zip(reasons) {
        let what = format!("seed {}: {}", trial.scenario.seed, trial.scenario);
        measures.push(Measure::shown(&what, "", reason.clone()));
    }
    let points =
        |(place, trial): (usize, &Trial)| ((trials.len() - place) as f64 / trials.len() as f64 * 100.0, trial.regret());
    let chart = Chart {
        title: "Scenarios by regret".to_owned(),
        x: Axis::linear("% of scenarios"),
        y: Axis::linear("over the best preset"),
        series: vec![Series { name: policy.to_owned(), points: trials.iter().enumerate().map(points).rev().collect() }],
    };
    Ok(Finding::new(text, measures, vec![chart]))
}

/// The differences between a run and the best one, and the part of the policy behind them.
fn explain(trial: &Trial, without: &[Named<'_>], context: &Context<'_>) -> Result<String, Error> {
    let Trial { scenario, own, best: (name, best) } = trial;
    let workload = scenario.workload()?;
    let (ours, theirs) = (scenario.figure(own), scenario.figure(best));
    let mut shares = Vec::new();
    for &Named { name: part, policy } in without {
        let outcome = run(&scenario.setup(policy, &workload)?, &workload, context.watch)?;
        shares.push((part, (ours - scenario.figure(&outcome)) / (ours - theirs)));
    }
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let parts: Vec<String> =
        shares.iter().take(3).map(|(part, share)| format!("{part} {:.0} %", share * 100.0)).collect();
    Ok(format!(
        "{:.2} × {name} in {} ({}; {}); the loss goes by: {}",
        trial.regret(),
        scenario.unit(),
        figures(ours, theirs),
        differences(own, best),
        parts.join(", ")
    ))
}

fn figures(ours: f64, theirs: f64) -> String {
    if ours < 1.0 {
        format!("{:.3} and {:.3} ms", ours * 1e3, theirs * 1e3)
    } else {
        format!("{ours:.1} and {theirs:.1} s")
    }
}

/// The figures that are larger, as multiples, the largest first; what is the same is left out.
fn differences(own: &Outcome, best: &Outcome) -> String {
    let block = own.bytes.max(1) as f64 / (own.hits + own.misses).max(1) as f64;
    let counts = |outcome: &Outcome| {
        let not_there = outcome.misses - outcome.late;
        [
            ("demand misses", not_there),
            ("late", outcome.late),
            ("wasted", outcome.wasted),
            ("requests to devices", outcome.device_requests),
            ("blocks from devices", (outcome.device_bytes as f64 / block) as u64),
        ]
    };
    let mut found: Vec<(f64, String)> = counts(own)
        .into_iter()
        .zip(counts(best))
        .filter(|&((_, a), (_, b))| a.abs_diff(b) * 50 > a.max(b))
        .map(|((what, a), (_, b))| ((a as f64 + 10.0) / (b as f64 + 10.0), format!("{what} {a} and {b}")))
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", ")
}

/// A policy with its name.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    pub(crate) policy: Policy,
}

/// Policies by their names.
pub(crate) fn all_named<'a>(names: &'a [String], experiment: &Experiment) -> Result<Vec<Named<'a>>, Error> {
    names.iter().map(|name| Ok(Named { name, policy: experiment.policy(name)? })).collect()
}

/// The result of every run, or why one of them gave nothing.
fn all<T>(results: Vec<Option<Result<T, Error>>>) -> Result<Vec<T>, Error> {
    results.into_iter().map(|result| result.unwrap_or(Err(Error::Stopped))).collect()
}

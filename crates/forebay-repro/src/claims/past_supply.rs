//! What goes past SCM's way of dividing trigger distances, each beside the plain one on the paper's
//! array: past-supply-memory, past-supply-degree.

use serde::Deserialize;

use crate::disks::{highest, lowest};
use crate::raid::{Part, Place, Raid, Run, closed, mean, percent, percents, run};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::Axis;
use forebay_sim::timed;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    raid: Raid,
    seeds: u64,
    cases: Vec<Case>,
}

/// A load that varies in one thing, and what is asked of policies on it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    load: Load,
    part: Part,
    /// What varies, and over what.
    varies: String,
    over: Vec<f64>,
    seconds: f64,
    warm_up: f64,
    policies: Vec<String>,
    of: Of,
    judged: Vec<Judged>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Load {
    Open,
    Closed,
}

/// What is compared; of either, below 1 is better for `Response`, above for `Throughput`.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Of {
    Response,
    Throughput,
}

impl Of {
    fn of(self, run: &Run) -> f64 {
        match self {
            Of::Response => run.outcome.response_ms,
            Of::Throughput => run.outcome.throughput_mb_s,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Of::Response => "response, ms",
            Of::Throughput => "MB/s",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Judged {
    rule: String,
    policy: String,
    over: String,
    at: At,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum At {
    Mean,
    Highest,
    Lowest,
}

impl Case {
    fn places(&self, quick: bool) -> Vec<Place> {
        let shorter = if quick { 0.1 } else { 1.0 };
        let place = |&at: &f64| Place {
            at,
            parts: vec![self.part.with(&self.varies, &at.to_string())],
            load: match self.load {
                Load::Open => timed::Load::Open { speed: 1.0 },
                Load::Closed => closed(),
            },
            seconds: Some(self.seconds * shorter),
            warm_up: Some(self.warm_up * shorter),
        };
        self.over.iter().map(place).collect()
    }
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { raid, seeds, cases } = experiment.parameters()?;
    let (mut measures, mut charts, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for case in &cases {
        let table = run(&case.places(context.quick), &case.policies, seeds, &raid, (experiment, context))?;
        let of = |run: &Run| case.of.of(run);
        for judged in &case.judged {
            let ratios = table.ratios((&judged.policy, &judged.over), of);
            let value = match judged.at {
                At::Mean => mean(&ratios),
                At::Highest => highest(&ratios).1,
                At::Lowest => lowest(&ratios).1,
            };
            let what = format!("{}: {}, {} over {}", case.name, case.of.name(), judged.policy, judged.over);
            measures.push(experiment.judged(&judged.rule, value, (&what, ""), percents(&ratios))?);
            ours.push(format!("{}: {} {}", case.name, judged.policy, percent(value)));
        }
        for policy in &case.policies {
            let line = table.line(policy, of);
            let what = format!("{}, {policy}: {}", case.name, case.of.name());
            measures.push(Measure::shown(&what, "", crate::raid::listed(&line)));
            let unread = table.line(policy, |run| run.streams.unread());
            let what = format!("{}, {policy}: blocks fetched and unread", case.name);
            measures.push(Measure::shown(&what, "", crate::raid::listed(&unread)));
        }
        charts.push(table.chart(&case.name, (Axis::linear(&case.varies), case.of.name()), of));
    }
    Ok(Finding::new(ours.join("; "), measures, charts))
}

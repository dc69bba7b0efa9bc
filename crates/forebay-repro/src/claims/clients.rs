//! Claims that a sheet judges by sweeps over SAC's client and its disks: sac-….

use forebay_sim::timed::Writes;
use serde::Deserialize;

use crate::disks::{self, Case, Disks, Figures, Old, Trace};
use crate::line::Line;
use crate::sheet::{Asked, Columns, Formula, Names, Value, Wrong, filled, worked_out};
use crate::{Context, Error, Experiment, Finding, Job};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    disks: Disks,
    traces: Vec<Trace>,
    /// The first is the one that a sheet means if it names none.
    sweeps: Vec<Sweep>,
}

/// Policies on disks that get older, or more of which are old.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sweep {
    name: String,
    trace: String,
    /// Texts, which may have formulas of `at`.
    policies: Vec<String>,
    /// The places of the axis; fewer if a small part will do.
    over: Vec<f64>,
    quick: Option<Vec<f64>>,
    /// How many disks are how old: formulas of `at`, the place on the axis.
    count: String,
    years: String,
    /// Whether writes go to the disks, if it matters; else they take no time.
    writes: Option<bool>,
}

/// A place on the axis.
struct Place(f64);

impl Names for Place {
    fn name(&self, name: &str) -> Result<Value, Wrong> {
        if name == "at" { Ok(Value::Number(self.0)) } else { Err(Wrong::Unknown { name: name.to_owned() }) }
    }
}

impl Place {
    fn value(&self, formula: &str) -> Result<Value, Wrong> {
        worked_out(&Formula::read(formula)?, self)
    }

    fn old(&self, sweep: &Sweep) -> Result<Old, Wrong> {
        let number = |formula: &str| Ok(self.value(formula)?.number(formula)? as u32);
        Ok(Old { count: number(&sweep.count)?, years: number(&sweep.years)? })
    }
}

impl Sweep {
    fn cases(&self, disks: &Disks, traces: &disks::Loaded, job: Job<'_>) -> Result<Vec<Case>, Error> {
        let experiment = job.experiment;
        let trace = traces.get(&self.trace);
        let trace = trace.ok_or_else(|| experiment.wrong(&format!("no trace is called `{}`", self.trace)))?;
        let over = self.quick.as_ref().filter(|_| job.context.quick).unwrap_or(&self.over);
        let mut cases = Vec::new();
        for policy in &self.policies {
            for &at in over {
                let place = Place(at);
                let run = experiment.made(filled(policy, |formula| place.value(formula)))?;
                let mut setup = disks.setup(&run, experiment.made(place.old(self))?, trace, job)?;
                if let Some(writes) = self.writes {
                    setup.writes = if writes { Writes::Device } else { Writes::Skip };
                }
                let (sweep, trace) = (self.name.clone(), self.trace.clone());
                cases.push(Case { sweep, trace, policy: policy.clone(), at, setup });
            }
        }
        Ok(cases)
    }
}

/// The outcome of them.
struct Clients {
    figures: Figures,
    first: String,
}

pub(super) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { disks, traces, sweeps } = experiment.parameters()?;
    let job = Job { experiment, context };
    let traces = disks::load(&traces, experiment, context)?;
    let cases = sweeps.iter().map(|sweep| sweep.cases(&disks, &traces, job)).collect::<Result<Vec<_>, _>>()?;
    let figures = disks::run(cases.concat(), &traces, experiment, context)?;
    let first = sweeps.into_iter().next().map(|sweep| sweep.name).unwrap_or_default();
    experiment.finding(&Clients { figures, first })
}

impl Columns for Clients {
    fn column(&self, name: &str, asked: &Asked<'_>) -> Option<Line> {
        let sweep = asked.of.unwrap_or(&self.first);
        match name {
            "throughput" => Some(self.figures.throughput(sweep, asked.policy)),
            "hits" => Some(self.figures.line(sweep, asked.policy, |outcome| 1.0 - outcome.miss_ratio)),
            _ => None,
        }
    }
}

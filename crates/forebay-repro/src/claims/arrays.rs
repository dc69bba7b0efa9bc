//! Claims that a sheet judges by sweeps over SCM's array: scm-…, past-supply-….

use std::collections::BTreeMap;

use forebay_sim::timed;
use serde::Deserialize;

use crate::line::Line;
use crate::raid::{self, Part, Place, Raid, Run, Table, closed};
use crate::sheet::{Asked, Columns, Formula, Names, Value, Wrong, worked_out};
use crate::{Context, Error, Experiment, Finding, Job};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    raid: Raid,
    policies: Vec<String>,
    /// The first is the one that a sheet means if it names none.
    sweeps: Vec<Sweep>,
}

/// A load that varies.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sweep {
    name: String,
    /// Another array than the others have.
    raid: Option<Raid>,
    policies: Option<Vec<String>>,
    /// The places of the axis; fewer if a small part will do.
    over: Vec<f64>,
    quick: Option<Vec<f64>>,
    parts: Vec<Varied>,
    /// Whether requests come at their times, or when the one before is answered and thought about.
    #[serde(default)]
    open: bool,
    /// How long streams run; and whether to their end, however long that takes.
    seconds: f64,
    #[serde(default)]
    to_the_end: bool,
    /// The part of that which is not counted.
    warm_up: Option<f64>,
    /// How many times as short all of it is if a small part will do.
    #[serde(default = "ten")]
    shorter: f64,
    seeds: u64,
}

fn ten() -> f64 {
    10.0
}

/// A generated workload, of which something varies.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Varied {
    workload: String,
    #[serde(default, deserialize_with = "crate::given::texts")]
    parameters: BTreeMap<String, String>,
    /// Formulas of `at`, the place on the axis, and `seconds`.
    #[serde(default, deserialize_with = "crate::given::texts")]
    varies: BTreeMap<String, String>,
}

/// The names that formulas of a workload know.
struct Moment {
    at: f64,
    seconds: f64,
}

impl Names for Moment {
    fn name(&self, name: &str) -> Result<Value, Wrong> {
        match name {
            "at" => Ok(Value::Number(self.at)),
            "seconds" => Ok(Value::Number(self.seconds)),
            _ => Err(Wrong::Unknown { name: name.to_owned() }),
        }
    }
}

impl Varied {
    fn part(&self, moment: &Moment) -> Result<Part, Wrong> {
        let mut parameters = self.parameters.clone();
        for (name, formula) in &self.varies {
            let number = worked_out(&Formula::read(formula)?, moment)?.number(formula)?;
            parameters.insert(name.clone(), number.to_string());
        }
        Ok(Part { workload: self.workload.clone(), parameters })
    }
}

impl Sweep {
    fn places(&self, job: Job<'_>) -> Result<Vec<Place>, Error> {
        let quick = job.context.quick;
        let shorter = if quick { self.shorter } else { 1.0 };
        let seconds = self.seconds / shorter;
        let over = self.quick.as_ref().filter(|_| quick).unwrap_or(&self.over);
        let place = |&at: &f64| {
            let parts = self.parts.iter().map(|part| part.part(&Moment { at, seconds })).collect();
            Ok(Place {
                at,
                parts: job.experiment.made(parts)?,
                load: if self.open { timed::Load::Open { speed: 1.0 } } else { closed() },
                seconds: (!self.to_the_end).then_some(seconds),
                warm_up: self.warm_up.map(|warm_up| warm_up / shorter),
            })
        };
        over.iter().map(place).collect()
    }
}

/// The outcome of a sweep.
struct Ran {
    name: String,
    table: Table,
}

/// The outcomes of all of them.
struct Arrays(Vec<Ran>);

pub(super) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { raid, policies, sweeps } = experiment.parameters()?;
    let job = Job { experiment, context };
    let ran = |sweep: Sweep| {
        let (raid, policies) = (sweep.raid.as_ref().unwrap_or(&raid), sweep.policies.as_ref().unwrap_or(&policies));
        Ok(Ran { table: raid::run(&sweep.places(job)?, policies, sweep.seeds, raid, job)?, name: sweep.name })
    };
    experiment.finding(&Arrays(sweeps.into_iter().map(ran).collect::<Result<_, Error>>()?))
}

impl Columns for Arrays {
    fn column(&self, name: &str, asked: &Asked<'_>) -> Option<Line> {
        let number = asked.number(0);
        let of: Box<dyn Fn(&Run) -> f64> = match (name, number) {
            ("throughput", None) => Box::new(|run| run.outcome.throughput_mb_s),
            ("response", None) => Box::new(|run| run.outcome.response_ms),
            ("shortage", None) => Box::new(|run| run.streams.shortage()),
            ("unread", None) => Box::new(|run| run.streams.unread()),
            ("unread_each", None) => Box::new(|run| run.streams.unread() / run.streams.handlers.len().max(1) as f64),
            ("inventory", None) => Box::new(|run| run.streams.inventory()),
            // Of a stream, by its number.
            ("response", Some(number)) => Box::new(move |run| run.streams.handler(number as u32).response_ms()),
            ("distance", Some(number)) => Box::new(move |run| run.streams.handler(number as u32).distance()),
            ("rate", Some(number)) => Box::new(move |run| rate(run, number)),
            ("seconds", Some(number)) => {
                let step = asked.number(1)?.max(1.0);
                Box::new(move |run| seconds(run, number as u32, step as usize))
            }
            _ => return None,
        };
        let ran = self.0.iter().find(|ran| asked.of.is_none_or(|of| of == ran.name));
        Some(ran.map(|ran| ran.table.line(asked.policy, of)).unwrap_or_default())
    }
}

/// 10^6 bytes a second of a stream; a negative number counts from the last one.
fn rate(run: &Run, number: f64) -> f64 {
    let all = &run.streams.handlers;
    let place = (all.len() as f64 + number) as usize;
    let handler = if number < 0.0 { all.values().nth(place) } else { all.get(&(number as u32)) };
    handler.map_or(0, |handler| handler.bytes) as f64 / 1e6 / run.outcome.seconds
}

/// How long streams take from their first request to their last answer, in the mean of one and
/// every so many behind it.
fn seconds(run: &Run, first: u32, step: usize) -> f64 {
    let last = run.streams.handlers.keys().next_back().copied().unwrap_or(0);
    let seconds: Vec<f64> = (first..=last).step_by(step).map(|number| run.streams.handler(number).seconds()).collect();
    seconds.iter().sum::<f64>() / seconds.len().max(1) as f64
}

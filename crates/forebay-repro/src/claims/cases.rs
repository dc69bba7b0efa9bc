//! Policies compared on several servers and workloads, each comparison judged: em-blast,
//! em-factors, and the options that go past the papers.

use forebay_device::device;
use serde::Deserialize;

use crate::line::Line;
use crate::server::{Parameters, Point, Server, Sweep, Table, percent};
use crate::{Context, Error, Experiment, Finding, Measure};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    cases: Vec<Case>,
}

/// A server, what runs on it, and what is asked of that.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    server: Server,
    sweep: Sweep,
    judged: Vec<Judged>,
}

/// A comparison.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Judged {
    rule: String,
    /// This policy …
    policy: String,
    over: Over,
    at: At,
    /// The paper's figure.
    #[serde(default)]
    paper: String,
}

/// … over what.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Over {
    /// Another policy.
    Policy(String),
    /// The offline optimum S / (S/R + C) of streams of so many bytes (CP §3.2).
    Optimum(f64),
}

/// With how many handlers.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum At {
    Fewest,
    Most,
    Best,
    Worst,
    Mean,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Cases { cases } = experiment.parameters()?;
    let (mut measures, mut charts, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for case in cases {
        let table = Parameters { server: case.server.clone(), sweep: case.sweep }.run(experiment, context)?;
        for benchmark in table.benchmarks() {
            let name = format!("{}, {benchmark}", case.name);
            for judged in &case.judged {
                let ratios = judged.ratios(&table, benchmark, &case.server, context)?;
                let value = judged.at.of(&ratios);
                let (over, at) = (judged.over.name(), judged.at.name());
                let what = format!("{name}: {} over {over}, {at}", judged.policy);
                let measure = Measure::shown(&what, &judged.paper, ratios.listed(percent));
                measures.push(experiment.judged(&judged.rule, value, measure)?);
                ours.push(Ours { value, text: format!("{} {at} {}", case.name, percent(value)) });
            }
            charts.push(table.chart(benchmark, &name, "MB/s", Point::throughput));
        }
    }
    Ok(Finding::new(summary(&ours), measures, charts))
}

/// A value that was judged, and the words for it.
struct Ours {
    value: f64,
    text: String,
}

/// All of a few; of many the extremes.
fn summary(ours: &[Ours]) -> String {
    if ours.len() <= 4 {
        return ours.iter().map(|ours| ours.text.as_str()).collect::<Vec<_>>().join("; ");
    }
    let extreme = |a: &&Ours, b: &&Ours| a.value.total_cmp(&b.value);
    let text = |found: Option<&Ours>| found.map_or(String::new(), |ours| ours.text.clone());
    format!("from {} to {}", text(ours.iter().min_by(extreme)), text(ours.iter().max_by(extreme)))
}

impl Judged {
    /// By numbers of handlers.
    fn ratios(&self, table: &Table, benchmark: &str, server: &Server, context: &Context<'_>) -> Result<Line, Error> {
        Ok(match &self.over {
            Over::Policy(other) => table.ratios(benchmark, &self.policy, other),
            Over::Optimum(bytes) => {
                let optimum = device(&server.drive)?.build(context.seed)?.cost().optimum(*bytes);
                table.line(benchmark, &self.policy, |point| point.throughput() / optimum)
            }
        })
    }
}

impl Over {
    fn name(&self) -> &str {
        match self {
            Over::Policy(name) => name,
            Over::Optimum(_) => "the optimum",
        }
    }
}

impl At {
    fn of(self, ratios: &Line) -> f64 {
        match self {
            At::Fewest => ratios.first().value,
            At::Most => ratios.last().value,
            At::Best => ratios.highest().value,
            At::Worst => ratios.lowest().value,
            At::Mean => ratios.mean(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            At::Fewest => "fewest handlers",
            At::Most => "most handlers",
            At::Best => "at best",
            At::Worst => "at worst",
            At::Mean => "in the mean",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Point;

    #[test]
    fn where_a_ratio_is_taken() {
        let ratios = [(2.0, 1.5), (8.0, 3.0), (64.0, 0.5), (512.0, 1.0)];
        let ratios = ratios.map(|(at, value)| Point { at, value }).into_iter().collect();
        let at = [At::Fewest, At::Most, At::Best, At::Worst, At::Mean].map(|at| at.of(&ratios));
        assert_eq!(at, [1.5, 1.0, 3.0, 0.5, 1.5]);
    }
}

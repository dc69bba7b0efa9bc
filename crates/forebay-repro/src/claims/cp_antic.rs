//! cp-antic: the microbenchmarks of CP §3.1 with anticipatory scheduling (CP Fig. 4).

use crate::server::{Parameters, Point, largest, least, listed, mean, percent};
use crate::{Context, Error, Experiment, Finding, Measure};

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters: Parameters = experiment.parameters()?;
    let table = parameters.run(experiment, context)?;
    let (mut measures, mut charts, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for benchmark in table.benchmarks() {
        let gain = table.ratios(benchmark, ("competitive:shares=off", "linux"), Point::throughput);
        // What is farthest from one; or the mean.
        let (rule, what, value) = match benchmark {
            "one-whole-0" => {
                let (low, high) = (least(&gain).1, largest(&gain).1);
                ("whole", "farthest from linux", if high - 1.0 > 1.0 - low { high } else { low })
            }
            _ => ("portions", "in the mean", mean(&gain)),
        };
        measures.push(Measure {
            what: format!("{benchmark}: competitive over linux, {what}"),
            paper: if rule == "whole" { "about equal" } else { "significantly more" }.to_owned(),
            ours: listed(&gain),
            verdict: Some(experiment.rule(rule)?.judge(value)),
        });
        ours.push(format!("{benchmark} {}", percent(value)));
        let more = table.ratios(benchmark, ("aggressive", "competitive:shares=off"), Point::throughput);
        measures.push(Measure {
            what: format!("{benchmark}: aggressive over competitive"),
            paper: String::new(),
            ours: listed(&more),
            verdict: None,
        });
        charts.push(table.chart(benchmark, &format!("{benchmark}, anticipatory"), "MB/s", Point::throughput));
    }
    Ok(Finding::new(ours.join(", "), measures, charts))
}

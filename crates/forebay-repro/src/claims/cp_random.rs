//! cp-random: random access, where nothing is to be gained by looking ahead (CP Fig. 5).

use crate::server::{Parameters, Point, largest, least, listed, percent};
use crate::{Context, Error, Experiment, Finding, Measure};

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters: Parameters = experiment.parameters()?;
    let policies = parameters.sweep.policies.clone();
    let table = parameters.run(experiment, context)?;
    let (mut measures, mut charts, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for benchmark in table.benchmarks() {
        for policy in policies.iter().filter(|policy| *policy != "linux") {
            let ratios = table.ratios(benchmark, (policy, "linux"), Point::throughput);
            let (low, high) = (least(&ratios).1, largest(&ratios).1);
            let farthest = if high - 1.0 > 1.0 - low { high } else { low };
            measures.push(Measure {
                what: format!("{benchmark}: {policy} over linux, the farthest"),
                paper: "similar".to_owned(),
                ours: listed(&ratios),
                verdict: Some(experiment.rule("alike")?.judge(farthest)),
            });
            ours.push(format!("{policy} {} at the farthest", percent(farthest)));
        }
        charts.push(table.chart(benchmark, benchmark, "MB/s", Point::throughput));
    }
    Ok(Finding::new(ours.join(", "), measures, charts))
}

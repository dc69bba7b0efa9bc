//! cp-micro: the microbenchmarks of CP §3.1 without anticipatory scheduling (CP Fig. 3).

use crate::server::{Parameters, Point, largest, least, listed, percent};
use crate::{Context, Error, Experiment, Finding, Measure};

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters: Parameters = experiment.parameters()?;
    let table = parameters.run(experiment, context)?;
    let (mut measures, mut charts, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    let mut best = Vec::new();
    for benchmark in table.benchmarks() {
        let ratios = |policy, other| table.ratios(benchmark, (policy, other), Point::throughput);
        let gain = ratios("competitive:shares=off", "linux");
        measures.push(Measure {
            what: format!("{benchmark}: competitive over linux, at its best"),
            paper: "very effective".to_owned(),
            ours: listed(&gain),
            verdict: Some(experiment.rule("each_gain")?.judge(largest(&gain).1)),
        });
        best.push(largest(&gain));
        measures.push(Measure {
            what: format!("{benchmark}: the same, at its least"),
            paper: String::new(),
            ours: percent(least(&gain).1),
            verdict: Some(experiment.rule("least_gain")?.judge(least(&gain).1)),
        });
        let more = ratios("aggressive", "competitive:shares=off");
        let (rule, paper) = match benchmark {
            "one-whole-0" => ("aggressive_whole", "at most +14 %"),
            _ => ("aggressive_portions", "below"),
        };
        measures.push(Measure {
            what: format!("{benchmark}: aggressive over competitive, at its most"),
            paper: paper.to_owned(),
            ours: listed(&more),
            verdict: Some(experiment.rule(rule)?.judge(largest(&more).1)),
        });
        ours.push(format!(
            "{benchmark} up to {:.2} × linux, aggressive {} at its most",
            largest(&gain).1,
            percent(largest(&more).1)
        ));
        charts.push(table.chart(benchmark, &format!("{benchmark}, elevator"), "MB/s", Point::throughput));
    }
    let (handlers, best) = largest(&best);
    let all = Measure {
        what: "competitive over linux, the best of all".to_owned(),
        paper: "up to 2 ×".to_owned(),
        ours: format!("{best:.2} × at {handlers}"),
        verdict: Some(experiment.rule("best_gain")?.judge(best)),
    };
    measures.insert(0, all);
    Ok(Finding::new(ours.join("; "), measures, charts))
}

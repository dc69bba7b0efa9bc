//! cp-index: the index searching server (CP Figs. 6 and 7).

use crate::server::{Parameters, Point, largest, least, listed, mean, percent};
use crate::{Context, Error, Experiment, Finding, Measure};

const INDEX: &str = "index-search";

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters: Parameters = experiment.parameters()?;
    let table = parameters.run(experiment, context)?;
    let ratios = |policy, other| table.ratios(INDEX, (policy, other), Point::throughput);
    let (gain, aggressive) = (ratios("competitive:shares=off", "linux"), ratios("aggressive", "linux"));
    let ahead = ratios("competitive:shares=off", "aggressive");
    let response = table.ratios(INDEX, ("competitive:shares=off", "linux"), Point::response);
    let last = aggressive.last().map_or(f64::NAN, |ratio| ratio.1);
    let fading = last / largest(&aggressive).1;
    let judge = |rule: &str, value: f64| experiment.rule(rule).map(|rule| Some(rule.judge(value)));
    let measure = |what: &str, paper: &str, ours: String, verdict| Measure {
        what: what.to_owned(),
        paper: paper.to_owned(),
        ours,
        verdict,
    };
    let measures = vec![
        measure("competitive over linux, at its best", "+47 %", listed(&gain), judge("gain", largest(&gain).1)?),
        measure(
            "aggressive over linux, at its best",
            "at most +29 %",
            listed(&aggressive),
            judge("aggressive", largest(&aggressive).1)?,
        ),
        measure(
            "of that, what is left with the most handlers",
            "quickly diminishes",
            format!("{} of {}", percent(last), percent(largest(&aggressive).1)),
            judge("fading", fading)?,
        ),
        measure(
            "competitive over aggressive, at its least",
            "above",
            listed(&ahead),
            judge("over_aggressive", least(&ahead).1)?,
        ),
        measure("response of a query, in the mean", "-28 %", listed(&response), judge("response", mean(&response))?),
    ];
    let ours = format!(
        "{} at best, aggressive {}, {} at last; response {}",
        percent(largest(&gain).1),
        percent(largest(&aggressive).1),
        percent(last),
        percent(mean(&response))
    );
    let charts = vec![
        table.chart(INDEX, "I/O throughput of the index searching server", "MB/s", Point::throughput),
        table.chart(INDEX, "Response time of a query", "seconds", Point::response),
    ];
    Ok(Finding::new(ours, measures, charts))
}

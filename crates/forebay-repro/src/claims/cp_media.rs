//! cp-media: a web server that hosts media clips (CP Fig. 8).

use crate::server::{Parameters, Point, listed, percent};
use crate::{Context, Error, Experiment, Finding, Measure};

const CLIPS: &str = "media-clips";

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters: Parameters = experiment.parameters()?;
    let table = parameters.run(experiment, context)?;
    let gain = table.ratios(CLIPS, ("competitive:shares=off", "linux"), Point::throughput);
    let at = |place: Option<&(u32, f64)>| place.map_or(f64::NAN, |ratio| ratio.1);
    let (few, many) = (at(gain.first()), at(gain.last()));
    let counts = table.handlers();
    let (fewest, most) = (counts.first().copied().unwrap_or(0), counts.last().copied().unwrap_or(0));
    let measure = |what: String, paper: &str, rule: &str, value: f64, ours: String| {
        let verdict = Some(experiment.rule(rule)?.judge(value));
        Ok::<_, Error>(Measure { what, paper: paper.to_owned(), ours, verdict })
    };
    let measures = vec![
        measure(format!("competitive over linux, {fewest} handlers"), "+6 %", "few", few, percent(few))?,
        measure(format!("competitive over linux, {most} handlers"), "+15 %", "many", many, percent(many))?,
        measure("the one over the other".to_owned(), "more evident", "growth", many / few, listed(&gain))?,
        Measure {
            what: "aggressive over linux".to_owned(),
            paper: String::new(),
            ours: listed(&table.ratios(CLIPS, ("aggressive", "linux"), Point::throughput)),
            verdict: None,
        },
    ];
    let ours = format!("{} at {fewest}, {} at {most}", percent(few), percent(many));
    let charts = vec![
        table.chart(CLIPS, "I/O throughput of a web server with media clips", "MB/s", Point::throughput),
        table.chart(CLIPS, "Response time of a clip", "seconds", Point::response),
    ];
    Ok(Finding::new(ours, measures, charts))
}

//! scm-mixed: streams of video with a random load beside them (SCM §5.2.4, Fig. 11).

use crate::claims::scm_vod::{Parameters, throughput};
use crate::disks::highest;
use crate::raid::{ETS, LINUX, Run, listed, mean, percent, percents};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::Axis;

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let mut parameters: Parameters = experiment.parameters()?;
    if parameters.queries == 0 {
        return Err(experiment.wrong("there are no queries beside the streams"));
    }
    let table = parameters.run(experiment, context)?;
    // Queries are the last handlers.
    let queries = parameters.queries as usize;
    let random = |run: &Run| {
        let bytes: u64 = run.streams.handlers.values().rev().take(queries).map(|handler| handler.bytes).sum();
        bytes as f64 / 1e6 / run.outcome.seconds
    };
    let gains = table.ratios((ETS, LINUX), throughput);
    let beside = table.ratios((ETS, LINUX), random);
    let judged = |rule: &str, value, what: &str, paper: &str, ours| experiment.judged(rule, value, (what, paper), ours);
    let mut measures = vec![
        judged("mean", mean(&gains), "all together: ets over linux, in the mean", "+26.1 %", percents(&gains))?,
        judged("best", highest(&gains).1, "the same, at best", "+53.0 %", percent(highest(&gains).1))?,
        judged("random", mean(&beside), "the random load: ets over linux", "+2.6 %", percents(&beside))?,
    ];
    for policy in [LINUX, ETS] {
        measures.push(Measure::shown(&format!("{policy}: MB/s"), "", listed(&table.line(policy, throughput))));
        measures.push(Measure::shown(&format!("{policy}: MB/s at random"), "", listed(&table.line(policy, random))));
    }
    let ours = format!(
        "all {} on average, {} at best; the random load {}",
        percent(mean(&gains)),
        percent(highest(&gains).1),
        percent(mean(&beside))
    );
    let x = || Axis::linear("streams");
    let charts = vec![
        table.chart("Video on demand and a random load", (x(), "MB/s"), throughput),
        table.chart("The random load", (x(), "MB/s"), random),
    ];
    Ok(Finding::new(ours, measures, charts))
}

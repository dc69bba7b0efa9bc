//! scm-copy: concurrent copies, one to a fast consumer and seven to slow ones (SCM §5.2.2, Fig. 7).

use serde::Deserialize;

use crate::disks::highest;
use crate::raid::{ESF, ETS, LINUX, Part, Place, Raid, Run, closed, listed, mean, percent, percents, run};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::Axis;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    raid: Raid,
    /// MB/s that the fast consumer takes, case by case.
    fast: Vec<f64>,
    /// MB/s of the fastest and the slowest of the others, and how many there are of all.
    slow: f64,
    slowest: f64,
    streams: u32,
    seconds: f64,
    warm_up: f64,
    seeds: u64,
}

/// Bytes a second of a handler.
fn rate(run: &Run, handler: u32) -> f64 {
    run.streams.handler(handler).bytes as f64 / run.outcome.seconds
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let mut parameters: Parameters = experiment.parameters()?;
    if context.quick {
        (parameters.seconds, parameters.warm_up) = (parameters.seconds / 10.0, parameters.warm_up / 10.0);
    }
    let Parameters { raid, fast, slow, slowest, streams, seconds, warm_up, seeds } = parameters;
    let place = |&fast: &f64| Place {
        at: fast,
        parts: vec![Part::new(
            "copies",
            &[
                ("streams", streams.to_string()),
                ("fast", format!("{:.0}", fast * 1e6)),
                ("slow", format!("{:.0}", slow * 1e6)),
                ("slowest", format!("{:.0}", slowest * 1e6)),
                // Nobody comes to an end before the others.
                ("seconds", format!("{}", seconds.ceil() as u64 + 1)),
            ],
        )],
        load: closed(),
        seconds: Some(seconds),
        warm_up: Some(warm_up),
    };
    let places: Vec<Place> = fast.iter().map(place).collect();
    let policies = [LINUX, "even", ETS, ESF].map(str::to_owned);
    let table = run(&places, &policies, seeds, &raid, (experiment, context))?;
    let total = |run: &Run| run.outcome.throughput_mb_s;
    let first = |run: &Run| rate(run, 1);
    let gain = |policy: &str, of: &dyn Fn(&Run) -> f64| table.ratios((policy, LINUX), of);
    let slow_off = |policy: &str| {
        let off = (2..=streams).flat_map(|handler| gain(policy, &move |run| rate(run, handler)));
        highest(&off.map(|(at, ratio)| (at, (ratio - 1.0).abs())).collect::<Vec<_>>()).1
    };
    let judged = |rule: &str, line: &[(f64, f64)], what: &str, paper: &str| {
        experiment.judged(rule, mean(line), (what, paper), percents(line))
    };
    let mut measures = vec![
        judged("ets-fast", &gain(ETS, &first), "the fast copy, ets over linux", "+39.0 %")?,
        judged("ets-total", &gain(ETS, &total), "all copies, ets over linux", "+33.3 %")?,
        judged("esf-fast", &gain(ESF, &first), "the fast copy, esf over linux", "+26.3 %")?,
        judged("esf-total", &gain(ESF, &total), "all copies, esf over linux", "+22.4 %")?,
    ];
    let within = slow_off(ETS).max(slow_off(ESF));
    measures.push(experiment.judged(
        "slow",
        within,
        ("a slow copy, ets or esf over linux: the farthest", "within 5 %"),
        format!("{:.1} %", within * 100.0),
    )?);
    measures.push(Measure::shown("the fast copy, even over linux", "", percents(&gain("even", &first))));
    for policy in &policies {
        for (what, line) in [
            ("MB/s of all", table.line(policy, total)),
            ("MB/s of the fast copy", table.line(policy, |run| rate(run, 1) / 1e6)),
            ("distance of the fast copy", table.line(policy, |run| run.streams.handler(1).distance())),
            ("distance of the slowest copy", table.line(policy, |run| run.streams.handler(streams).distance())),
        ] {
            if line.iter().all(|point| point.1.is_finite()) {
                measures.push(Measure::shown(&format!("{policy}: {what}"), "", listed(&line)));
            }
        }
    }
    let of = |policy: &str| (percent(mean(&gain(policy, &first))), percent(mean(&gain(policy, &total))));
    let ((ets, ets_all), (esf, esf_all)) = (of(ETS), of(ESF));
    let ours = format!(
        "fast copy {ets} (ets), {esf} (esf); all {ets_all}, {esf_all}; slow ones within {:.1} %",
        within * 100.0
    );
    let x = || Axis::linear("MB/s that the fast consumer takes");
    let charts = vec![
        table.chart("Concurrent copies: the fast one", (x(), "MB/s"), |run| rate(run, 1) / 1e6),
        table.chart("Concurrent copies: all", (x(), "MB/s"), total),
    ];
    Ok(Finding::new(ours, measures, charts))
}

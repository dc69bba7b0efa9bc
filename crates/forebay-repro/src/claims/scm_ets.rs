//! scm-ets: two streams of different rates, trigger distances in proportion to these (SCM §5.2.1,
//! Fig. 5).

use serde::Deserialize;

use crate::disks::{highest, lowest};
use crate::raid::{ETS, EVEN, LINUX, Part, Place, Raid, Run, listed, mean, percent, percents, run};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::Axis;
use forebay_sim::timed::Load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    raid: Raid,
    /// Requests a second of the first stream, and of the second, case by case.
    rate: f64,
    others: Vec<f64>,
    /// Milliseconds of a slot. In each the deviation of a stream's requests is the root of their
    /// mean: that of the stable stream of the paper's next experiment. At fixed gaps streams beat
    /// against the turning of the disks.
    slot: f64,
    /// The paper's trigger distances, case by case.
    distances: Vec<(f64, f64)>,
    /// How long streams run.
    seconds: f64,
    seeds: u64,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { raid, rate, others, slot, distances, seconds, seeds } = experiment.parameters()?;
    if others.len() != distances.len() {
        return Err(experiment.wrong("each case has its distances"));
    }
    let seconds = if context.quick { seconds / 10.0 } else { seconds };
    let place = |&other: &f64| Place {
        at: other,
        parts: vec![Part::new(
            "rates",
            &[
                ("requests", format!("{}", ((rate + other) * seconds) as u64)),
                ("rate", rate.to_string()),
                ("others", other.to_string()),
                ("deviation", (rate * slot / 1000.0).sqrt().to_string()),
                ("deviations", (other * slot / 1000.0).sqrt().to_string()),
                ("slot", slot.to_string()),
            ],
        )],
        load: Load::Open { speed: 1.0 },
        seconds: None,
        warm_up: None,
    };
    let places: Vec<Place> = others.iter().map(place).collect();
    let policies = [LINUX, EVEN, ETS].map(str::to_owned);
    let table = run(&places, &policies, seeds, &raid, (experiment, context))?;
    let response = |run: &Run| run.outcome.response_ms;
    let shortage = |run: &Run| run.streams.shortage();
    let ets = table.ratios((ETS, LINUX), response);
    let even = table.ratios((EVEN, LINUX), response);
    let distance = |stream: u32| table.line(ETS, move |run| run.streams.handler(stream).distance());
    let (slow, fast) = (distance(1), distance(2));
    let off = |ours: &[(f64, f64)], paper: Vec<f64>| {
        let off = ours.iter().zip(paper).map(|(&(at, ours), paper)| (at, (ours / paper - 1.0).abs()));
        highest(&off.collect::<Vec<_>>()).1
    };
    let worst = off(&slow, distances.iter().map(|pair| pair.0).collect());
    let worst = worst.max(off(&fast, distances.iter().map(|pair| pair.1).collect()));
    let pairs = |slow: &[(f64, f64)], fast: &[(f64, f64)]| {
        let pair = |(slow, fast): (&(f64, f64), &(f64, f64))| format!("({:.1}, {:.1})", slow.1, fast.1);
        slow.iter().zip(fast).map(pair).collect::<Vec<_>>().join(", ")
    };
    let ours = pairs(&slow, &fast);
    let shortages = table.ratios((ETS, LINUX), shortage);
    let judged = |rule: &str, value, what: &str, paper: &str, ours| experiment.judged(rule, value, (what, paper), ours);
    let mut measures = vec![
        judged("distances", worst, "trigger distances of both streams", "(13, 35), (8, 40), (7, 41)", ours.clone())?,
        judged("mean", mean(&ets), "response, ets over linux, in the mean", "-19.0 %", percents(&ets))?,
        judged("best", lowest(&ets).1, "the same, at best", "-25.4 %", percent(lowest(&ets).1))?,
        judged("even", mean(&even), "response, even (24-48) over linux", "worse", percents(&even))?,
        judged("shortage", mean(&shortages), "misses per cycle, ets over linux", "very close", percents(&shortages))?,
        judged(
            "shortage-even",
            mean(&table.ratios((EVEN, LINUX), shortage)),
            "misses per cycle, even over linux",
            "disproportionately higher",
            percents(&table.ratios((EVEN, LINUX), shortage)),
        )?,
    ];
    for policy in &policies {
        for (what, line) in [
            ("mean response, ms", table.line(policy, response)),
            ("misses per cycle", table.line(policy, shortage)),
            ("response of the slow stream, ms", table.line(policy, |run| run.streams.handler(1).response_ms())),
            ("response of the fast stream, ms", table.line(policy, |run| run.streams.handler(2).response_ms())),
        ] {
            measures.push(Measure::shown(&format!("{policy}: {what}"), "", listed(&line)));
        }
    }
    let reads_on = Raid { read_ahead: true, ..raid };
    let hidden = run(&places, &policies, 1, &reads_on, (experiment, context))?;
    for policy in &policies {
        let what = format!("{policy}: mean response, ms, if drives read ahead");
        measures.push(Measure::shown(&what, "", listed(&hidden.line(policy, response))));
    }
    let ours = format!("{ours}; response {} on average, {} at best", percent(mean(&ets)), percent(lowest(&ets).1));
    let x = || Axis::linear("requests a second of the second stream");
    let charts = vec![
        table.chart("Two streams of different rates", (x(), "mean response, ms"), response),
        table.chart("Misses per prefetching cycle", (x(), "misses"), shortage),
    ];
    Ok(Finding::new(ours, measures, charts))
}

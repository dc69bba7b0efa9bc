//! past-hits: the note of what readers hit above (`labels=hits`) against the label alone, on all
//! sixteen combinations: where it pays, and what it costs in bytes.

use forebay_core::level::Labels;
use serde::Deserialize;

use crate::claims::scm_labels::change;
use crate::disks::Trace;
use crate::two_levels::{Case, Levels, Pair, Runs, load, response};
use crate::{Context, Error, Experiment, Finding, Job, Measure};
use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::timed::Outcome;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    levels: Levels,
    traces: Vec<Trace>,
    policies: Vec<String>,
    /// From this ratio on a label alone is said to have cost a combination something.
    masked: f64,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { levels, traces, policies, masked } = experiment.parameters()?;
    let names: Vec<String> = traces.iter().map(|trace| trace.name.clone()).collect();
    let loaded = load(&traces, experiment, context)?;
    let pairs = Pair::all(&policies);
    let of = |name: &String| pairs.iter().map(|pair| Case::new(name, pair, Labels::Hits)).collect::<Vec<_>>();
    let all: Vec<Case> = names.iter().flat_map(of).collect();
    let with = |case: &Case| Labels::ALL.map(|labels| Case { labels: labels.name(), ..case.clone() });
    let runs = levels.run(all.iter().flat_map(with).collect(), &loaded, Job { experiment, context })?;
    let label =
        |case: &Case| runs.change(&Case { labels: Labels::Demand.name(), ..case.clone() }, Labels::Off, response);
    let hidden: Vec<&Case> = all.iter().filter(|case| label(case) >= masked).collect();
    let note: Vec<f64> = hidden.iter().map(|case| runs.change(case, Labels::Demand, response)).collect();
    let pays = (note.iter().map(|ratio| ratio.ln()).sum::<f64>() / note.len() as f64).exp();
    let worst = all.iter().map(|case| (regret(&runs, case), case)).max_by(|a, b| a.0.total_cmp(&b.0));
    let (regret, of) = worst.map_or((f64::NAN, String::new()), |(ratio, case)| (ratio, name(case)));
    let bytes = all.iter().map(|case| runs.get(case, share)).fold(0.0, f64::max);
    let judged = |rule: &str, value: f64, what: &str, ours: String| {
        experiment.judged(rule, value, Measure::shown(what, "", ours))
    };
    let list = hidden.iter().map(|case| format!("{} {}", name(case), text(&runs, case))).collect::<Vec<_>>().join("; ");
    let mut measures = vec![
        judged("pays", pays, "where the label alone costs time: response with the note over without, in the mean", {
            format!("{} ({list})", change(pays))
        })?,
        judged("harmless", regret, "the note over the worse of label alone and nothing, the worst of all", {
            format!("{} ({of})", change(regret))
        })?,
        judged(
            "bytes",
            bytes,
            "bytes of labels over bytes of data between the levels, the most",
            format!("{:.3} %", bytes * 100.0),
        )?,
    ];
    for trace in &names {
        let of = all.iter().filter(|case| case.trace == *trace);
        let rows: Vec<String> = of.map(|case| format!("{}/{} {}", case.upper, case.lower, text(&runs, case))).collect();
        let what = format!("{trace}: response ms, nothing → label → note; bytes of labels a request");
        measures.push(Measure::shown(&what, "", rows.join(", ")));
    }
    let charts = names.iter().map(|trace| chart(&runs, trace, &pairs)).collect();
    Ok(Finding::new(
        format!("{} where a label alone costs time ({} of {})", change(pays), hidden.len(), all.len()),
        measures,
        charts,
    ))
}

fn name(case: &Case) -> String {
    format!("{} {}/{}", case.trace, case.upper, case.lower)
}

/// How much worse than both of what there is without it.
fn regret(runs: &Runs, case: &Case) -> f64 {
    let at = |labels: Labels| runs.get(&Case { labels: labels.name(), ..case.clone() }, response);
    at(Labels::Hits) / at(Labels::Off).max(at(Labels::Demand))
}

/// `2.45 → 3.08 → 2.42, 11.3 B`
fn text(runs: &Runs, case: &Case) -> String {
    let at = Labels::ALL.map(|labels| runs.get(&Case { labels: labels.name(), ..case.clone() }, response));
    let bytes = runs.get(case, |outcome| above(outcome, |bytes, fetches, _| bytes / fetches));
    format!("{:.2} → {:.2} → {:.2}, {bytes:.1} B", at[0], at[1], at[2])
}

/// Of the upper level: from bytes of labels, fetches, and pages fetched.
fn above(outcome: &Outcome, figure: impl Fn(f64, f64, f64) -> f64) -> f64 {
    outcome.levels.first().map_or(f64::NAN, |level| {
        let counters = &level.counters;
        figure(level.label_bytes as f64, counters.fetches as f64, counters.fetched as f64)
    })
}

/// Bytes of labels as a share of the pages that the upper level fetched.
fn share(outcome: &Outcome) -> f64 {
    above(outcome, |bytes, _, pages| bytes / (pages * f64::from(Levels::default().page_bytes)))
}

/// All combinations, in the order of SCM Fig. 12.
fn chart(runs: &Runs, trace: &str, pairs: &[Pair]) -> Chart {
    let line = |labels: Labels| {
        let values = pairs.iter().map(|pair| runs.get(&Case::new(trace, pair, labels), response));
        Series { name: format!("labels {labels}"), points: (1u32..).map(f64::from).zip(values).collect() }
    };
    let x = Axis::linear("RA, Linux, SARC, Gill above, of each the same four below");
    Chart { title: format!("{trace}: response"), x, y: Axis::linear("ms"), series: Labels::ALL.map(line).into() }
}

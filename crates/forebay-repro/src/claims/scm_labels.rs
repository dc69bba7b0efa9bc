//! scm-labels: the sixteen combinations of RA, Linux, SARC and Gill at two levels, the lower one
//! told what is demand or not (SCM §5.3, Figs. 12 and 13).

use forebay_core::level::Labels;
use serde::Deserialize;

use crate::disks::Trace;
use crate::two_levels::{
    Case, Levels, Loaded, Runs, disk_mb, disk_requests, lower_demand_hits, lower_hits, response, unused,
};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::timed::Outcome;

/// RA, Linux, SARC, Gill.
pub(crate) const POLICIES: [&str; 4] = ["fixed", "linux", "sarc", "gill"];
/// "Clearly one algorithm combination stands out."
const WORST: (&str, &str) = ("fixed", "sarc");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    levels: Levels,
    /// The first is judged.
    traces: Vec<Trace>,
}

/// Every pair of policies, by the upper one as in the paper's figure.
pub(crate) fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    POLICIES.into_iter().flat_map(|upper| POLICIES.map(|lower| (upper, lower)))
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { levels, traces } = experiment.parameters()?;
    let first = traces.first().map(|trace| trace.name.clone()).unwrap_or_default();
    let names: Vec<String> = traces.iter().map(|trace| trace.name.clone()).collect();
    let loaded = traces.iter().map(|trace| Ok((trace.name.clone(), Loaded::new(trace, experiment, context)?)));
    let loaded = loaded.collect::<Result<_, Error>>()?;
    let both = [Labels::Off, Labels::Demand];
    let of =
        |name: &String| pairs().flat_map(|pair| both.map(|labels| Case::new(name, pair, labels))).collect::<Vec<_>>();
    let runs = levels.run(names.iter().flat_map(of).collect(), &loaded, (experiment, context))?;
    let mut measures = bullwhip(&runs, &first, experiment)?;
    measures.extend(combinations(&runs, &first, experiment)?);
    measures.extend(names.iter().map(|name| table(&runs, name)));
    let ours = format!("RA over SARC {}", change(runs.change(&labelled(&first, WORST), Labels::Off, response)));
    let charts = vec![
        chart(&runs, &first, "Response times", "ms", response),
        chart(&runs, &first, "Prefetched by the lower level, evicted unused", "blocks", unused),
    ];
    Ok(Finding::new(ours, measures, charts))
}

fn labelled(trace: &str, pair: (&str, &str)) -> Case {
    Case::new(trace, pair, Labels::Demand)
}

/// `-61.9 %`
pub(crate) fn change(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

/// RA over SARC: Figure 13 and what is said of it.
fn bullwhip(runs: &Runs, trace: &str, experiment: &Experiment) -> Result<Vec<Measure>, Error> {
    let case = labelled(trace, WORST);
    let text = |figure: fn(&Outcome) -> f64| {
        let before = runs.get(&Case { labels: Labels::Off.name(), ..case.clone() }, figure);
        let changed = change(runs.change(&case, Labels::Off, figure));
        format!("{changed} ({before:.3} → {:.3})", runs.get(&case, figure))
    };
    let ratio = |rule: &str, what: &str, paper: &str, figure: fn(&Outcome) -> f64| {
        let (value, ours) = (runs.change(&case, Labels::Off, figure), text(figure));
        experiment.judged(rule, value, (&format!("RA over SARC: {what}"), paper), ours)
    };
    Ok(vec![
        ratio("response", "response time", "-61.9 %", response)?,
        ratio("hits", "lower cache, hit ratio of what readers wait for", "+180 %", lower_demand_hits)?,
        ratio("unused", "unused prefetch", "cut in half", unused)?,
        ratio("data", "data from the disk, MB", "significantly lowered", disk_mb)?,
        ratio("requests", "requests to the disk", "roughly doubles", disk_requests)?,
        Measure::shown(
            "RA over SARC: lower cache, hit ratio of all that is asked for",
            "+180 %, of either",
            text(lower_hits),
        ),
    ])
}

/// All sixteen: what labels do to each, and who goes well with whom.
fn combinations(runs: &Runs, trace: &str, experiment: &Experiment) -> Result<Vec<Measure>, Error> {
    let ratio =
        |pair: (&str, &str), figure: fn(&Outcome) -> f64| runs.change(&labelled(trace, pair), Labels::Off, figure);
    let worst = pairs().map(|pair| (ratio(pair, response), pair)).max_by(|a, b| a.0.total_cmp(&b.0));
    let (worst, of) = worst.unwrap_or((f64::NAN, WORST));
    let off = |figure: fn(&Outcome) -> f64| {
        let indifferent = pairs().filter(|pair| ["fixed", "linux"].contains(&pair.1));
        indifferent.map(|pair| (ratio(pair, figure) - 1.0).abs()).fold(0.0, f64::max)
    };
    let (times, blocks) = (off(response), off(unused));
    let with = |pair: (&str, &str)| runs.get(&labelled(trace, pair), response);
    let above = |upper: &str| POLICIES.map(|lower| with((upper, lower))).iter().sum::<f64>() / POLICIES.len() as f64;
    let ra_above = above("fixed") / above("linux").min(above("sarc"));
    let others = POLICIES.into_iter().filter(|&lower| lower != "sarc").map(|lower| with(("fixed", lower)));
    let sarc_below = with(WORST) / others.fold(f64::MAX, f64::min);
    let judged = |rule: &str, value: f64, what: &str, paper: &str, ours: String| {
        experiment.judged(rule, value, (what, paper), ours)
    };
    Ok(vec![
        judged("none-worse", worst, "response with labels over without, the worst of 16", "no negative impact", {
            format!("{} ({} over {})", change(worst), of.0, of.1)
        })?,
        judged(
            "indifferent",
            times,
            "RA or Linux below: response, the most that changes",
            "not noticeably",
            percent(times),
        )?,
        judged(
            "indifferent",
            blocks,
            "RA or Linux below: unused prefetch, the same",
            "not noticeably",
            percent(blocks),
        )?,
        judged(
            "sarc-below",
            sarc_below,
            "labelled, below RA: SARC over the best other",
            "outperforms all other",
            format!("{sarc_below:.3}"),
        )?,
        Measure::shown(
            "labelled, mean over what is below: RA above over the better of Linux and SARC",
            "\"does a better job\"",
            format!("{ra_above:.3}"),
        ),
    ])
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Response times of all combinations, ms without labels → with.
fn table(runs: &Runs, trace: &str) -> Measure {
    let text = |pair: (&str, &str)| {
        let case = labelled(trace, pair);
        let before = runs.get(&Case { labels: Labels::Off.name(), ..case.clone() }, response);
        format!("{}/{} {before:.2} → {:.2}", pair.0, pair.1, runs.get(&case, response))
    };
    Measure::shown(&format!("{trace}: response ms, upper/lower"), "", pairs().map(text).collect::<Vec<_>>().join(", "))
}

/// A figure of all combinations, in the order of the paper's bars.
fn chart(runs: &Runs, trace: &str, title: &str, unit: &str, figure: fn(&Outcome) -> f64) -> Chart {
    let line = |labels: Labels| {
        let at =
            |(number, pair): (u32, (&str, &str))| (number.into(), runs.get(&Case::new(trace, pair, labels), figure));
        Series { name: format!("labels {labels}"), points: (1..).zip(pairs()).map(at).collect() }
    };
    let x = Axis::linear("RA, Linux, SARC, Gill above, of each the same four below");
    Chart { title: title.to_owned(), x, y: Axis::linear(unit), series: vec![line(Labels::Off), line(Labels::Demand)] }
}

//! scm-labels: the sixteen combinations of RA, Linux, SARC and Gill at two levels, the lower one
//! told what is demand or not (SCM §5.3, Figs. 12 and 13).

use forebay_core::level::Labels;
use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::timed::Outcome;
use serde::Deserialize;

use crate::disks::Trace;
use crate::two_levels::{
    Case, Levels, Pair, Runs, disk_mb, disk_requests, load, lower_demand_hits, lower_hits, response, unused,
};
use crate::{Context, Error, Experiment, Finding, Job, Measure};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    levels: Levels,
    /// The first is judged.
    traces: Vec<Trace>,
    policies: Policies,
}

/// The combinations, and those that stand out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Policies {
    /// RA, Linux, SARC, Gill.
    all: Vec<String>,
    /// "Clearly one algorithm combination stands out."
    worst: Pair,
    /// Below, they do as much with labels as without.
    indifferent: Vec<String>,
    /// Above, they are said to do worse than the upper one of the worst pair.
    others: Vec<String>,
}

/// The runs on one trace.
struct Found<'a> {
    runs: &'a Runs,
    trace: &'a str,
    policies: &'a Policies,
    pairs: &'a [Pair],
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { levels, traces, policies } = experiment.parameters()?;
    let loaded = load(&traces, experiment, context)?;
    let pairs = Pair::all(&policies.all);
    let both = [Labels::Off, Labels::Demand];
    let of = |trace: &Trace| {
        let cases = pairs.iter().flat_map(|pair| both.map(|labels| Case::new(&trace.name, pair, labels)));
        cases.collect::<Vec<_>>()
    };
    let runs = levels.run(traces.iter().flat_map(of).collect(), &loaded, Job { experiment, context })?;
    let found = |trace| Found { runs: &runs, trace, policies: &policies, pairs: &pairs };
    let first = found(traces.first().map_or("", |trace| &trace.name));
    let mut measures = first.bullwhip(experiment)?;
    measures.extend(first.combinations(experiment)?);
    measures.extend(traces.iter().map(|trace| found(&trace.name).table()));
    let ours = format!("RA over SARC {}", change(first.ratio(&policies.worst, response)));
    let charts = vec![
        first.chart("Response times", "ms", response),
        first.chart("Prefetched by the lower level, evicted unused", "blocks", unused),
    ];
    Ok(Finding::new(ours, measures, charts))
}

/// `-61.9 %`
pub(crate) fn change(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

impl Found<'_> {
    fn figure(&self, pair: &Pair, labels: Labels, figure: fn(&Outcome) -> f64) -> f64 {
        self.runs.get(&Case::new(self.trace, pair, labels), figure)
    }

    /// A figure with labels over the same without.
    fn ratio(&self, pair: &Pair, figure: fn(&Outcome) -> f64) -> f64 {
        self.figure(pair, Labels::Demand, figure) / self.figure(pair, Labels::Off, figure)
    }

    /// RA over SARC: Figure 13 and what is said of it.
    fn bullwhip(&self, experiment: &Experiment) -> Result<Vec<Measure>, Error> {
        let pair = &self.policies.worst;
        let shown = |what: &str, paper: &str, figure: fn(&Outcome) -> f64| {
            let [before, after] = [Labels::Off, Labels::Demand].map(|labels| self.figure(pair, labels, figure));
            let ours = format!("{} ({before:.3} → {after:.3})", change(self.ratio(pair, figure)));
            Measure::shown(&format!("RA over SARC: {what}"), paper, ours)
        };
        let judged = |rule: &str, what: &str, paper: &str, figure: fn(&Outcome) -> f64| {
            experiment.judged(rule, self.ratio(pair, figure), shown(what, paper, figure))
        };
        Ok(vec![
            judged("response", "response time", "-61.9 %", response)?,
            judged("hits", "lower cache, hit ratio of what readers wait for", "+180 %", lower_demand_hits)?,
            judged("unused", "unused prefetch", "cut in half", unused)?,
            judged("data", "data from the disk, MB", "significantly lowered", disk_mb)?,
            judged("requests", "requests to the disk", "roughly doubles", disk_requests)?,
            shown("lower cache, hit ratio of all that is asked for", "+180 %, of either", lower_hits),
        ])
    }

    /// All sixteen: what labels do to each, and who goes well with whom.
    fn combinations(&self, experiment: &Experiment) -> Result<Vec<Measure>, Error> {
        let Policies { all, worst: stands_out, indifferent, others } = self.policies;
        let worst = self.pairs.iter().map(|pair| (self.ratio(pair, response), pair));
        let (worst, of) = worst.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::NAN, stands_out));
        let off = |figure: fn(&Outcome) -> f64| {
            let below = self.pairs.iter().filter(|pair| indifferent.contains(&pair.lower));
            below.map(|pair| (self.ratio(pair, figure) - 1.0).abs()).fold(0.0, f64::max)
        };
        let (times, blocks) = (off(response), off(unused));
        let with = |pair: &Pair| self.figure(pair, Labels::Demand, response);
        let above = |upper: &String| {
            let pairs = self.pairs.iter().filter(|pair| pair.upper == *upper);
            pairs.map(with).sum::<f64>() / all.len() as f64
        };
        let better = others.iter().map(above).fold(f64::INFINITY, f64::min);
        let ra_above = above(&stands_out.upper) / better;
        let beside = self.pairs.iter().filter(|pair| pair.upper == stands_out.upper && pair.lower != stands_out.lower);
        let sarc_below = with(stands_out) / beside.map(with).fold(f64::MAX, f64::min);
        let judged = |rule: &str, value: f64, what: &str, paper: &str, ours: String| {
            experiment.judged(rule, value, Measure::shown(what, paper, ours))
        };
        let text = format!("{} ({} over {})", change(worst), of.upper, of.lower);
        let what = "response with labels over without, the worst of 16";
        let (response, unused) =
            ("RA or Linux below: response, the most that changes", "RA or Linux below: unused prefetch, the same");
        let below = "labelled, below RA: SARC over the best other";
        Ok(vec![
            judged("none-worse", worst, what, "no negative impact", text)?,
            judged("indifferent", times, response, "not noticeably", percent(times))?,
            judged("indifferent", blocks, unused, "not noticeably", percent(blocks))?,
            judged("sarc-below", sarc_below, below, "outperforms all other", format!("{sarc_below:.3}"))?,
            Measure::shown(
                "labelled, mean over what is below: RA above over the better of Linux and SARC",
                "\"does a better job\"",
                format!("{ra_above:.3}"),
            ),
        ])
    }

    /// Response times of all combinations, ms without labels → with.
    fn table(&self) -> Measure {
        let text = |pair: &Pair| {
            let [before, after] = [Labels::Off, Labels::Demand].map(|labels| self.figure(pair, labels, response));
            format!("{}/{} {before:.2} → {after:.2}", pair.upper, pair.lower)
        };
        let what = format!("{}: response ms, upper/lower", self.trace);
        Measure::shown(&what, "", self.pairs.iter().map(text).collect::<Vec<_>>().join(", "))
    }

    /// A figure of all combinations, in the order of the paper's bars.
    fn chart(&self, title: &str, unit: &str, figure: fn(&Outcome) -> f64) -> Chart {
        let line = |labels: Labels| {
            let values = self.pairs.iter().map(|pair| self.figure(pair, labels, figure));
            Series { name: format!("labels {labels}"), points: (1u32..).map(f64::from).zip(values).collect() }
        };
        Chart {
            title: title.to_owned(),
            x: Axis::linear("RA, Linux, SARC, Gill above, of each the same four below"),
            y: Axis::linear(unit),
            series: vec![line(Labels::Off), line(Labels::Demand)],
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

//! sac-static: partitions of fixed sizes, in proportion to what a request takes on each disk, and
//! in other proportions (SAC §5.2, Figs. 3 and 4).

use serde::Deserialize;

use crate::disks::{Case, Disks, NO_CACHE, Trace, highest, listed, load, lowest, run};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};

const LRU: &str = "lru";
const STATIC: &str = "static";
/// What the second figure's cases are called.
const RATIO: &str = "ratio";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    disks: Disks,
    /// The first one is that of Fig. 3, the first line of Fig. 4, too; the last one that of its
    /// last line.
    traces: Vec<Trace>,
    /// The proportions of Fig. 3 beside "static".
    others: Vec<String>,
    /// Years of one disk in Fig. 3.
    ages: Vec<u32>,
    /// Its years in Fig. 4.
    years: u32,
    /// Its partition over another disk's, in halves.
    half_ratios: Vec<u32>,
}

impl Parameters {
    /// So many halves to the slow disk, one whole to each of the others.
    fn weights(&self, halves: u32) -> String {
        let before = "2/".repeat(self.disks.slow as usize);
        format!("static:weights={before}{halves}/2")
    }

    fn cases(&self, experiment: &Experiment, context: &Context<'_>) -> Result<(Vec<Case>, Loaded), Error> {
        let traces = load(&self.traces, experiment, context)?;
        let mut cases = Vec::new();
        let names = [NO_CACHE, LRU, STATIC].into_iter().chain(self.others.iter().map(String::as_str));
        let first = &self.traces[0].name;
        for policy in names {
            for &age in &self.ages {
                let setup = self.disks.setup(policy, (1, age), &traces[first], (experiment, context))?;
                cases.push(Case { trace: first.clone(), policy: policy.to_owned(), at: age.into(), setup });
            }
        }
        for Trace { name, .. } in &self.traces {
            for &halves in &self.half_ratios {
                let policy = self.weights(halves);
                let setup = self.disks.setup(&policy, (1, self.years), &traces[name], (experiment, context))?;
                let at = f64::from(halves) / 2.0;
                cases.push(Case { trace: name.clone(), policy: RATIO.to_owned(), at, setup });
            }
        }
        Ok((cases, traces))
    }
}

type Loaded = std::collections::BTreeMap<String, forebay_sim::timed::Workload>;

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters: Parameters = experiment.parameters()?;
    if parameters.traces.is_empty() {
        return Err(experiment.wrong("there is no trace"));
    }
    let (cases, traces) = parameters.cases(experiment, context)?;
    let figures = run(cases, &traces, experiment, context)?;
    let name = |number: usize| parameters.traces[number].name.as_str();
    let (first, last) = (name(0), name(parameters.traces.len() - 1));
    let gains = |policy: &str| -> Vec<(f64, f64)> {
        let over = |(at, value): (f64, f64)| (at, value / figures.at(first, LRU, at));
        figures.line(first, policy).into_iter().filter(|point| point.0 > 0.0).map(over).collect()
    };
    let (gain, two) = (gains(STATIC), figures.at(first, STATIC, parameters.years.into()));
    // What the paper's LRU has with fresh disks is judged by sac-motive; here throughputs are
    // shares of it.
    let share = |throughput: f64| throughput / figures.at(first, LRU, 0.0);
    let ratios = |trace: &str| figures.line(trace, RATIO);
    let near_best = |trace: &str, ratio: f64| figures.at(trace, RATIO, ratio) / highest(&ratios(trace)).1;
    let (top, bottom) = (highest(&ratios(first)), lowest(&ratios(first)));
    let best = highest(&ratios(last));
    let judged = |rule: &str, value, what: &str, paper: &str, ours| experiment.judged(rule, value, (what, paper), ours);
    let mut measures = vec![
        judged(
            "two-years",
            share(two),
            "static, one disk two years old, MB/s",
            "50 of 55",
            listed(&figures.line(first, STATIC)),
        )?,
        judged("gain", highest(&gain).1, "static over lru, at best", "significantly better", times(&gain))?,
        judged("never-worse", lowest(&gain).1, "static over lru, at worst", "", format!("{:.2} ×", lowest(&gain).1))?,
        judged(
            "top",
            share(top.1),
            &format!("{first}: the best of all ratios, MB/s"),
            "50 of 55",
            listed(&ratios(first)),
        )?,
        judged(
            "bottom",
            share(bottom.1),
            &format!("{first}: the worst, MB/s"),
            "30 of 55",
            format!("{:.1}", bottom.1),
        )?,
        judged("first-best", near_best(first, 2.0), &format!("{first}: 2:1 over the best ratio"), "the best", {
            format!("{:.3}, best at {}:1", near_best(first, 2.0), top.0)
        })?,
        judged("last-best", near_best(last, 40.0), &format!("{last}: 40:1 over the best ratio"), "nearly the best", {
            format!("{:.3}, best at {}:1", near_best(last, 40.0), best.0)
        })?,
        judged("last-two", near_best(last, 2.0), &format!("{last}: 2:1 over the best ratio"), "far from it", {
            format!("{:.2}", near_best(last, 2.0))
        })?,
    ];
    for policy in parameters.others.iter().map(String::as_str).chain([LRU, NO_CACHE]) {
        measures.push(Measure::shown(&format!("{policy}, MB/s by age"), "", listed(&figures.line(first, policy))));
    }
    for trace in &parameters.traces[1..] {
        measures.push(Measure::shown(&format!("{}, MB/s by ratio", trace.name), "", listed(&ratios(&trace.name))));
    }
    let ours = format!(
        "static {two:.1} MB/s at two years, up to {:.1} × lru; best {}:1 for {first}, {}:1 for {last}",
        highest(&gain).1,
        top.0,
        best.0
    );
    let mut by_age = figures.chart(first, "Static partitions, one old disk", Axis::linear("age of the disk, years"));
    by_age.series.retain(|line| line.name != RATIO);
    let line = |trace: &Trace| Series { name: trace.name.clone(), points: ratios(&trace.name) };
    let by_ratio = Chart {
        title: "One disk of two years: how large its partition is".to_owned(),
        x: Axis::logarithmic("its partition over another disk's"),
        y: Axis::linear("MB/s"),
        series: parameters.traces.iter().map(line).collect(),
    };
    Ok(Finding::new(ours, measures, vec![by_age, by_ratio]))
}

/// `2: 1.23 ×, 8: 4.10 ×`
fn times(ratios: &[(f64, f64)]) -> String {
    ratios.iter().map(|&(at, ratio)| format!("{at}: {ratio:.2} ×")).collect::<Vec<_>>().join(", ")
}

//! sac-web: a web server's trace as one disk of sixteen ages (SAC §5.6, Fig. 9).

use serde::Deserialize;

use crate::disks::{Case, Disks, Figures, Trace, listed, load, run};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart};
use forebay_sim::timed::Writes;

const LRU: &str = "lru";
/// T = 5 is five times the mean (sac-dynamic), 400 % above it.
const LAZY: &str = "lazy-lru:threshold=400";
const EAGER: &str = "eager-lru:threshold=400";
const LANDLORD: &str = "landlord";
const LAZY_CLOCK: &str = "lazy-clock:threshold=400";
/// The left graph, and the right one.
const LRU_LIKE: [&str; 4] = [LRU, LAZY, EAGER, LANDLORD];
const CLOCK_LIKE: [&str; 2] = ["clock", LAZY_CLOCK];
/// What the text says of falls over all years: the rule's name, the policy, the figure.
const FALLS: [(&str, &str, &str); 5] = [
    ("lru", LRU, "90 %"),
    ("lazy-lru", LAZY, "15 %"),
    ("eager-lru", EAGER, "38 %"),
    ("landlord", LANDLORD, "45 %"),
    ("lazy-clock", LAZY_CLOCK, "40 %"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    disks: Disks,
    trace: Trace,
    /// Whether writes go to the disks; else they take no time.
    writes: bool,
    /// Of one disk, years.
    ages: Vec<u32>,
    /// "A more realistic range": from none to so many years.
    realistic: u32,
    /// Policies that are only shown.
    #[serde(default)]
    others: Vec<String>,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { disks, mut trace, writes, mut ages, realistic, others } = experiment.parameters()?;
    if context.quick {
        trace.parameters.insert("tasks".to_owned(), "150".to_owned());
        ages.retain(|&age| age == 0 || age >= realistic);
    }
    let traces = load(std::slice::from_ref(&trace), experiment, context)?;
    let mut cases = Vec::new();
    for policy in LRU_LIKE.into_iter().chain(CLOCK_LIKE).chain(others.iter().map(String::as_str)) {
        for &age in &ages {
            let mut setup = disks.setup(policy, (1, age), &traces[&trace.name], (experiment, context))?;
            setup.writes = if writes { Writes::Device } else { Writes::Skip };
            cases.push(Case { trace: trace.name.clone(), policy: policy.to_owned(), at: age.into(), setup });
        }
    }
    let figures = run(cases, &traces, experiment, context)?;
    let oldest = ages.iter().copied().max().unwrap_or(0);
    let fall = |policy: &str, age: u32| {
        1.0 - figures.at(&trace.name, policy, age.into()) / figures.at(&trace.name, policy, 0.0)
    };
    let judged = |rule: &str, value: f64, what: &str, paper: &str| {
        experiment.judged(rule, value, (what, paper), format!("{:.0} %", value * 100.0))
    };
    let hits = figures.points.iter().find(|point| point.policy == LRU && point.at == 0.0);
    let hits = hits.map_or(f64::NAN, |point| 1.0 - point.outcome.miss_ratio);
    let mut measures = vec![judged("hits", hits, "hit rate of lru, all disks fresh", "near 50 %")?];
    for (rule, policy, paper) in FALLS {
        let what = format!("{policy}: what is lost with the oldest disk");
        measures.push(judged(rule, fall(policy, oldest), &what, paper)?);
    }
    let what = format!("{LRU}: what is lost with a disk of {realistic} years");
    measures.push(judged("realistic", fall(LRU, realistic), &what, "nearly 30 %")?);
    measures.push(worse(&figures, &trace.name, experiment)?);
    measures.extend(others.iter().map(|policy| {
        let what = format!("{policy}, past the paper: what is lost with the oldest disk");
        Measure::shown(&what, "", format!("{:.0} %", fall(policy, oldest) * 100.0))
    }));
    let shown = LRU_LIKE.into_iter().chain(CLOCK_LIKE).chain(others.iter().map(String::as_str));
    measures.extend(shown.map(|policy| {
        Measure::shown(&format!("{policy}, MB/s by age"), "", listed(&figures.line(&trace.name, policy)))
    }));
    let ours: Vec<String> =
        FALLS.iter().map(|&(rule, policy, _)| format!("{rule} {:.0} %", fall(policy, oldest) * 100.0)).collect();
    let charts = [(&LRU_LIKE[..], "Web server, LRU and its like"), (&CLOCK_LIKE[..], "Web server, Clock and its like")];
    let charts = charts.map(|(policies, title)| chart(&figures, &trace.name, policies, title));
    Ok(Finding::new(format!("lost over {oldest} years: {}", ours.join(", ")), measures, charts.to_vec()))
}

/// "However, Lazy LRU performs more poorly than Eager LRU or LANDLORD."
fn worse(figures: &Figures, trace: &str, experiment: &Experiment) -> Result<Measure, Error> {
    let mean = |policy| {
        let line = figures.line(trace, policy);
        line.iter().map(|point| point.1).sum::<f64>() / line.len() as f64
    };
    let ratio = mean(LAZY) / mean(EAGER).min(mean(LANDLORD));
    let what = "lazy-lru over the worse of eager-lru and landlord, the mean of all ages";
    experiment.judged("worse", ratio, (what, "more poorly"), format!("{ratio:.2}"))
}

fn chart(figures: &Figures, trace: &str, policies: &[&str], title: &str) -> Chart {
    let chart = figures.chart(trace, title, Axis::linear("age of the disk, years"));
    let series = chart.series.into_iter().filter(|line| policies.contains(&line.name.as_str())).collect();
    Chart { series, ..chart }
}

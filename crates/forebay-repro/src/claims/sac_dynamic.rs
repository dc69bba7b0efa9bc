//! sac-dynamic: partitions whose sizes follow wait times, and LANDLORD, as one disk of sixteen ages
//! (SAC §5.3, Fig. 5).

use serde::Deserialize;

use crate::disks::{Case, Disks, Figures, Trace, listed, load, run};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::Axis;

const LRU: &str = "lru";
/// T = 5 is five times the mean, 400 % above it.
const EAGER: &str = "eager-lru:threshold=400";
const LAZY: &str = "lazy-lru:threshold=400";
const LANDLORD: &str = "landlord";
const AWARE: [&str; 3] = [EAGER, LAZY, LANDLORD];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    disks: Disks,
    /// Trace 2, and Trace 3.
    traces: [Trace; 2],
    /// Of one disk, years.
    ages: Vec<u32>,
    /// Policies that are only shown.
    others: Vec<String>,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { disks, traces: [even, uneven], ages, others } = experiment.parameters()?;
    let traces = load(&[even.clone(), uneven.clone()], experiment, context)?;
    let mut cases = Vec::new();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    for name in [&even.name, &uneven.name] {
        for &policy in [LRU].iter().chain(&AWARE).chain(&others) {
            for &age in &ages {
                let setup = disks.setup(policy, (1, age), &traces[name], (experiment, context))?;
                cases.push(Case { trace: name.clone(), policy: policy.to_owned(), at: age.into(), setup });
            }
        }
    }
    let figures = run(cases, &traces, experiment, context)?;
    let oldest = f64::from(ages.iter().copied().max().unwrap_or(0));
    let mut measures = even_ones(&figures, &even.name, oldest, experiment)?;
    measures.extend(uneven_ones(&figures, &uneven.name, oldest, experiment)?);
    for name in [&even.name, &uneven.name] {
        for &policy in [LRU].iter().chain(&AWARE).chain(&others) {
            measures.push(Measure::shown(
                &format!("{name}, {policy}, MB/s by age"),
                "",
                listed(&figures.line(name, policy)),
            ));
        }
    }
    let span =
        |name: &str, policy| format!("{:.1} → {:.1}", figures.at(name, policy, 0.0), figures.at(name, policy, oldest));
    let ours = format!(
        "{}: lru {}, eager {}, lazy {}, landlord {}; {}: lru {}, eager {} MB/s",
        even.name,
        span(&even.name, LRU),
        span(&even.name, EAGER),
        span(&even.name, LAZY),
        span(&even.name, LANDLORD),
        uneven.name,
        span(&uneven.name, LRU),
        span(&uneven.name, EAGER)
    );
    let chart = |name: &str| figures.chart(name, name, Axis::linear("age of the disk, years"));
    Ok(Finding::new(ours, measures, vec![chart(&even.name), chart(&uneven.name)]))
}

/// The left graph: as many requests to each disk.
fn even_ones(figures: &Figures, trace: &str, oldest: f64, experiment: &Experiment) -> Result<Vec<Measure>, Error> {
    let at = |policy, age| figures.at(trace, policy, age);
    let judged = |rule: &str, value: f64, what: &str, paper: &str| {
        experiment.judged(rule, value, (&format!("{trace}: {what}"), paper), format!("{value:.2}"))
    };
    let mut measures = vec![
        judged("even-fresh", at(LRU, 0.0), "lru, all disks fresh, MB/s", "23")?,
        judged("even-old", at(LRU, oldest), "lru, one disk ten years old, MB/s", "6")?,
    ];
    for policy in [EAGER, LAZY] {
        let like = at(policy, 0.0) / at(LRU, 0.0);
        measures.push(judged("even-like", like, &format!("{policy} over lru, all disks fresh"), "similar")?);
        measures.push(judged(
            "even-kept",
            at(policy, oldest),
            &format!("{policy}, one ten years old, MB/s"),
            "16 to 20",
        )?);
        let other = at(policy, oldest) / at(LANDLORD, oldest);
        measures.push(judged(
            "even-landlord",
            other,
            &format!("{policy} over landlord, one ten years old"),
            "similar",
        )?);
    }
    Ok(measures)
}

/// The right graph: some disks get more requests.
fn uneven_ones(figures: &Figures, trace: &str, oldest: f64, experiment: &Experiment) -> Result<Vec<Measure>, Error> {
    let over = |policy, other, age| figures.at(trace, policy, age) / figures.at(trace, other, age);
    let judged = |rule: &str, value: f64, what: &str, paper: &str| {
        experiment.judged(rule, value, (&format!("{trace}: {what}"), paper), format!("{value:.2} ×"))
    };
    let mut measures = Vec::new();
    for policy in AWARE {
        let what = format!("{policy} over lru, all disks fresh");
        measures.push(judged("uneven-fresh", over(policy, LRU, 0.0), &what, "better")?);
    }
    measures.push(judged(
        "uneven-old",
        over(EAGER, LRU, oldest),
        &format!("{EAGER} over lru, one ten years old"),
        "over 3 ×",
    )?);
    let mean = |policy| {
        let line = figures.line(trace, policy);
        line.iter().map(|point| point.1).sum::<f64>() / line.len() as f64
    };
    for policy in [LAZY, LANDLORD] {
        let what = format!("{policy} over {EAGER}, mean of all ages");
        measures.push(judged("robust", mean(policy) / mean(EAGER), &what, "more robust")?);
    }
    Ok(measures)
}

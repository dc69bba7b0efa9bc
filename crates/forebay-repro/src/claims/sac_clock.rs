//! sac-clock: Lazy Clock and Clock as one disk of sixteen ages, and as more and more of them are
//! two years old (SAC §5.4, Figs. 6 and 7).

use serde::Deserialize;

use crate::disks::{Case, Disks, Figures, Trace, listed, load, lowest, run};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::Axis;

const CLOCK: &str = "clock";
/// T = 5 is five times the mean (sac-dynamic), 400 % above it.
const LAZY: &str = "lazy-clock:threshold=400";
/// "This throughput compares favorably to LANDLORD and Lazy LRU."
const COMPARED: [&str; 2] = ["landlord", "lazy-lru:threshold=400"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    disks: Disks,
    /// Trace 2, and Trace 3.
    traces: [Trace; 2],
    /// Of one disk, years.
    ages: Vec<u32>,
    /// How many disks are `years` old; from none to all.
    counts: Vec<u32>,
    years: u32,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { disks, traces: [even, uneven], mut ages, mut counts, years } = experiment.parameters()?;
    if context.quick {
        ends(&mut ages);
        ends(&mut counts);
    }
    let traces = load(&[even.clone(), uneven.clone()], experiment, context)?;
    let case = |name: &str, policy: &str, at: u32, old: (u32, u32)| {
        let setup = disks.setup(policy, old, &traces[name], (experiment, context))?;
        Ok(Case { trace: name.to_owned(), policy: policy.to_owned(), at: at.into(), setup })
    };
    let mut cases = Vec::new();
    for name in [&even.name, &uneven.name] {
        for policy in [LAZY, CLOCK].into_iter().chain(COMPARED) {
            cases.extend(ages.iter().map(|&age| case(name, policy, age, (1, age))).collect::<Result<Vec<_>, Error>>()?);
        }
    }
    let aged = run(cases, &traces, experiment, context)?;
    let mut cases = Vec::new();
    for policy in [LAZY, CLOCK] {
        let counted = counts.iter().map(|&count| case(&even.name, policy, count, (count, years)));
        cases.extend(counted.collect::<Result<Vec<_>, Error>>()?);
    }
    let several = run(cases, &traces, experiment, context)?;

    let oldest = f64::from(ages.iter().copied().max().unwrap_or(0));
    let mut measures = ageing(&aged, (&even.name, &uneven.name), oldest, experiment)?;
    measures.extend(growing(&several, &even.name, experiment)?);
    for name in [&even.name, &uneven.name] {
        for policy in [LAZY, CLOCK].into_iter().chain(COMPARED) {
            let what = format!("{name}, {policy}, MB/s by age");
            measures.push(Measure::shown(&what, "", listed(&aged.line(name, policy))));
        }
    }
    let span =
        |policy| format!("{:.1} → {:.1}", aged.at(&uneven.name, policy, 0.0), aged.at(&uneven.name, policy, oldest));
    let ours = format!("{}: lazy clock {}, clock {} MB/s", uneven.name, span(LAZY), span(CLOCK));
    let by_age = |name: &str| aged.chart(name, name, Axis::linear("age of the disk, years"));
    let title = format!("{}, disks that are {years} years old", even.name);
    let by_count = several.chart(&even.name, &title, Axis::linear("how many"));
    Ok(Finding::new(ours, measures, vec![by_age(&even.name), by_age(&uneven.name), by_count]))
}

/// Figure 6: one disk ages.
fn ageing(
    figures: &Figures,
    (even, uneven): (&str, &str),
    oldest: f64,
    experiment: &Experiment,
) -> Result<Vec<Measure>, Error> {
    let at = |trace, policy, age| figures.at(trace, policy, age);
    let judged = |rule: &str, value: f64, what: String, paper: &str| {
        experiment.judged(rule, value, (&what, paper), format!("{value:.2}"))
    };
    let (fresh, old) = (at(uneven, LAZY, 0.0), at(uneven, LAZY, oldest));
    let mut measures = vec![
        judged("fresh", fresh, format!("{uneven}: lazy-clock, all disks fresh, MB/s"), "21")?,
        judged("kept", old / fresh, format!("{uneven}: what is left of it with the oldest disk"), "17 of 21: 0.81")?,
    ];
    for policy in COMPARED {
        let what = format!("{uneven}: lazy-clock over {policy}, the oldest disk");
        measures.push(judged("favourable", old / at(uneven, policy, oldest), what, "compares favourably")?);
    }
    for trace in [even, uneven] {
        let what = format!("{trace}: lazy-clock over clock, the oldest disk");
        measures.push(judged("masked", at(trace, LAZY, oldest) / at(trace, CLOCK, oldest), what, "masks it")?);
    }
    Ok(measures)
}

/// Figure 7: more and more disks are old.
fn growing(figures: &Figures, trace: &str, experiment: &Experiment) -> Result<Vec<Measure>, Error> {
    let (lazy, clock) = (figures.line(trace, LAZY), figures.line(trace, CLOCK));
    let ratios: Vec<(f64, f64)> = lazy.iter().zip(&clock).map(|(lazy, clock)| (lazy.0, lazy.1 / clock.1)).collect();
    let ends = |line: &[(f64, f64)]| line.first().copied().zip(line.last().copied()).unwrap_or_default();
    let (none, all) = ends(&ratios);
    let (worst, best) = (lowest(&[none, all]).1, crate::disks::highest(&ratios));
    let text = |line: &[(f64, f64)]| {
        line.iter().map(|&(at, value)| format!("{at}: {value:.2}")).collect::<Vec<_>>().join(", ")
    };
    let judged = |rule: &str, value: f64, what: &str, paper: &str, ours: String| {
        experiment.judged(rule, value, (what, paper), ours)
    };
    let ahead = excess(&lazy);
    Ok(vec![
        judged(
            "graceful",
            ahead,
            "lazy-clock: by how much more it falls than the share of disks that are old",
            "only slowly degrades",
            format!("{:+.0} % of the whole fall; MB/s {}", ahead * 100.0, listed(&lazy)),
        )?,
        Measure::shown("clock: the same", "affected by any heterogeneity", {
            format!("{:+.0} % of the whole fall; MB/s {}", excess(&clock) * 100.0, listed(&clock))
        }),
        judged(
            "homogeneous",
            worst,
            "lazy-clock over clock, none or all old, the worse",
            "fairly close",
            format!("{worst:.2}"),
        )?,
        judged("mixed", best.1, "lazy-clock over clock, the best mixture", "masks", text(&ratios))?,
    ])
}

/// By how much a line falls more, at worst, than in proportion to what is on its axis: 0 if it
/// falls in proportion, near 1 if it falls at once.
fn excess(line: &[(f64, f64)]) -> f64 {
    let (Some(&first), Some(&last)) = (line.first(), line.last()) else { return f64::NAN };
    let share = |at: (f64, f64)| (first.1 - at.1) / (first.1 - last.1) - (at.0 - first.0) / (last.0 - first.0);
    line.iter().map(|&at| share(at)).fold(f64::NEG_INFINITY, f64::max)
}

/// If a small part of the runs will do: the first and the last of them.
pub(crate) fn ends(places: &mut Vec<u32>) {
    if places.len() > 2 {
        places.drain(1..places.len() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_much_more_a_line_falls_than_in_proportion() {
        assert_eq!(excess(&[(0.0, 20.0), (4.0, 17.5), (8.0, 15.0), (16.0, 10.0)]), 0.0);
        assert_eq!(excess(&[(0.0, 20.0), (4.0, 10.0), (16.0, 10.0)]), 0.75);
        assert_eq!(excess(&[(0.0, 20.0), (8.0, 19.0), (16.0, 10.0)]), 0.0, "it falls late");
    }
}

//! sac-motive: what one old disk among sixteen does to caches that know nothing of it (SAC §5.1,
//! Fig. 2).

use serde::Deserialize;

use crate::disks::{Case, Disks, NO_CACHE, Trace, listed, run};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::Axis;

const LRU: &str = "lru";
const CLOCK: &str = "clock";
const POLICIES: [&str; 3] = [LRU, CLOCK, NO_CACHE];
/// What cases are called in which several disks are old.
const MANY: &str = "many";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    disks: Disks,
    trace: Trace,
    /// Of one disk, years.
    ages: Vec<u32>,
    /// How many disks are old in the second figure, and how old.
    counts: Vec<u32>,
    years: u32,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { disks, trace, ages, counts, years } = experiment.parameters()?;
    let one = trace.name.clone();
    let loaded = trace.load(experiment, context)?;
    let mut cases = Vec::new();
    for policy in POLICIES {
        let aged = ages.iter().map(|&age| (&one[..], (1, age), age));
        let many = counts.iter().map(|&count| (MANY, (count, years), count));
        for (trace, old, at) in aged.chain(many) {
            let setup = disks.setup(policy, old, &loaded, (experiment, context))?;
            cases.push(Case { trace: trace.to_owned(), policy: policy.to_owned(), at: at.into(), setup });
        }
    }
    let traces = [(one.clone(), loaded.clone()), (MANY.to_owned(), loaded)].into();
    let figures = run(cases, &traces, experiment, context)?;
    let (fresh, oldest) = (figures.line(&one, LRU), ages.iter().copied().max().unwrap_or(0));
    let last = |policy| figures.at(&one, policy, oldest.into());
    let first = |policy| figures.at(&one, policy, 0.0);
    let one_is_as_bad = figures.at(MANY, LRU, 1.0) / figures.at(MANY, LRU, disks.disks.into());
    let benefit = (last(LRU) - last(NO_CACHE)) / (first(LRU) - first(NO_CACHE));
    let judged = |rule: &str, value, what: &str, paper: &str, ours| experiment.judged(rule, value, (what, paper), ours);
    let mut measures = vec![
        judged("fresh", first(LRU), "lru, all disks fresh, MB/s", "nearly 55", format!("{:.1}", first(LRU)))?,
        judged("old", last(LRU), "lru, one disk ten years old, MB/s", "11", listed(&fresh))?,
        judged("one", one_is_as_bad, "lru, one old disk over all old", "as poor", format!("{one_is_as_bad:.2} ×"))?,
        judged("benefit", benefit, "what lru gains over no cache, oldest over fresh", "decreases", {
            format!("{benefit:.2} ×")
        })?,
    ];
    for policy in [CLOCK, NO_CACHE] {
        measures.push(Measure::shown(&format!("{policy}, MB/s by age"), "", listed(&figures.line(&one, policy))));
    }
    for policy in POLICIES {
        let line = listed(&figures.line(MANY, policy));
        measures.push(Measure::shown(&format!("{policy}, MB/s by the number of old disks"), "", line));
    }
    let ours = format!("lru {:.1} → {:.1} MB/s; one old disk {one_is_as_bad:.2} × all old", first(LRU), last(LRU));
    let charts = vec![
        figures.chart(&one, "One old disk", Axis::linear("age of the disk, years")),
        figures.chart(MANY, "Several disks of two years", Axis::linear("disks of two years")),
    ];
    Ok(Finding::new(ours, measures, charts))
}

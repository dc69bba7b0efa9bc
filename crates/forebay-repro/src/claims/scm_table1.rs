//! scm-table1: RA over SARC, by the number of blocks that SARC takes for sequential (SCM §5.3,
//! Table 1).

use forebay_core::level::Labels;
use serde::Deserialize;

use crate::disks::Trace;
use crate::line::{Line, Point};
use crate::two_levels::{Case, Levels, Pair, load, response};
use crate::{Context, Error, Experiment, Finding, Job, Measure};
use forebay_sim::chart::{Axis, Chart, Series};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    levels: Levels,
    /// The first is judged.
    traces: Vec<Trace>,
    /// The policies, in the lower one of which `{threshold}` stands for the number of blocks.
    upper: String,
    lower: String,
    thresholds: Vec<u32>,
    /// The paper's milliseconds.
    paper: Vec<f64>,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { levels, traces, upper, lower, thresholds, paper } = experiment.parameters()?;
    let names: Vec<String> = traces.iter().map(|trace| trace.name.clone()).collect();
    let first = names.first().cloned().unwrap_or_default();
    let loaded = load(&traces, experiment, context)?;
    let case = |trace: &str, threshold: u32| {
        let lower = lower.replace("{threshold}", &threshold.to_string());
        Case::new(trace, &Pair { upper: upper.clone(), lower }, Labels::Off)
    };
    let cases = names.iter().flat_map(|name| thresholds.iter().map(|&threshold| case(name, threshold))).collect();
    let runs = levels.run(cases, &loaded, Job { experiment, context })?;
    let line = |trace: &str| -> Line {
        let point = |&at: &u32| Point { at: at.into(), value: runs.get(&case(trace, at), response) };
        thresholds.iter().map(point).collect()
    };
    let ours = line(&first);
    let at = |threshold: u32| runs.get(&case(&first, threshold), response);
    let flat = [3, 4, 5].map(at);
    let spread = flat.iter().copied().fold(f64::MIN, f64::max) / flat.iter().copied().fold(f64::MAX, f64::min);
    let (half, all) = ((at(5) - at(6)) / (at(5) - at(7)), at(7) / at(5));
    let judged = |rule: &str, value: f64, what: &str, paper: &str| {
        experiment.judged(rule, value, Measure::shown(what, paper, format!("{value:.3}")))
    };
    let mut measures = vec![
        judged("flat", spread, "response with 3, 4 and 5: largest over least", "6.64 / 6.48: 1.025")?,
        judged("falls", all, "response with 7 over 5", "2.95 / 6.64: 0.444")?,
        judged("half-way", half, "of that fall, what 6 brings already", "\"half-way\", 1.99 of 3.69: 0.54")?,
    ];
    measures.extend(names.iter().map(|name| {
        let paper = if *name == first {
            let points = thresholds.iter().zip(&paper).map(|(&at, &value)| Point { at: at.into(), value });
            listed(&points.collect())
        } else {
            String::new()
        };
        Measure::shown(&format!("{name}: ms by threshold"), &paper, listed(&line(name)))
    }));
    let series = names.iter().map(|name| Series { name: name.clone(), points: line(name).points() }).collect();
    let title = "RA over SARC".to_owned();
    let chart = Chart {
        title,
        x: Axis::linear("blocks that SARC takes for sequential"),
        y: Axis::linear("response ms"),
        series,
    };
    Ok(Finding::new(listed(&ours), measures, vec![chart]))
}

/// `3: 6.48, 4: 6.60`
fn listed(line: &Line) -> String {
    line.listed(|ms| format!("{ms:.2}"))
}

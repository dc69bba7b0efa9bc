//! scm-table1: RA over SARC, by the number of blocks that SARC takes for sequential (SCM §5.3,
//! Table 1).

use forebay_core::level::Labels;
use serde::Deserialize;

use crate::disks::Trace;
use crate::two_levels::{Case, Levels, Loaded, response};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    levels: Levels,
    /// The first is judged.
    traces: Vec<Trace>,
    thresholds: Vec<u32>,
    /// The paper's milliseconds.
    paper: Vec<f64>,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { levels, traces, thresholds, paper } = experiment.parameters()?;
    let first = traces.first().map(|trace| trace.name.clone()).unwrap_or_default();
    let names: Vec<String> = traces.iter().map(|trace| trace.name.clone()).collect();
    let loaded = traces.iter().map(|trace| Ok((trace.name.clone(), Loaded::new(trace, experiment, context)?)));
    let loaded = loaded.collect::<Result<_, Error>>()?;
    let case =
        |trace: &str, threshold: u32| Case::new(trace, ("fixed", &format!("sarc:threshold={threshold}")), Labels::Off);
    let cases = names.iter().flat_map(|name| thresholds.iter().map(|&threshold| case(name, threshold))).collect();
    let runs = levels.run(cases, &loaded, (experiment, context))?;
    let line = |trace: &str| -> Vec<(f64, f64)> {
        thresholds.iter().map(|&threshold| (threshold.into(), runs.get(&case(trace, threshold), response))).collect()
    };
    let ours = line(&first);
    let at = |threshold: u32| runs.get(&case(&first, threshold), response);
    let flat = [3, 4, 5].map(at);
    let spread = flat.iter().copied().fold(f64::MIN, f64::max) / flat.iter().copied().fold(f64::MAX, f64::min);
    let (half, all) = ((at(5) - at(6)) / (at(5) - at(7)), at(7) / at(5));
    let judged = |rule: &str, value: f64, what: &str, paper: &str| {
        experiment.judged(rule, value, (what, paper), format!("{value:.3}"))
    };
    let mut measures = vec![
        judged("flat", spread, "response with 3, 4 and 5: largest over least", "6.64 / 6.48: 1.025")?,
        judged("falls", all, "response with 7 over 5", "2.95 / 6.64: 0.444")?,
        judged("half-way", half, "of that fall, what 6 brings already", "\"half-way\", 1.99 of 3.69: 0.54")?,
    ];
    measures.extend(names.iter().map(|name| {
        let paper = if *name == first {
            listed(&thresholds.iter().map(|&t| f64::from(t)).zip(paper.clone()).collect::<Vec<_>>())
        } else {
            String::new()
        };
        Measure::shown(&format!("{name}: ms by threshold"), &paper, listed(&line(name)))
    }));
    let series = names.iter().map(|name| Series { name: name.clone(), points: line(name) }).collect();
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
fn listed(line: &[(f64, f64)]) -> String {
    line.iter().map(|&(at, value)| format!("{at}: {value:.2}")).collect::<Vec<_>>().join(", ")
}

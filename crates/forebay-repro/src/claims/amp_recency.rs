//! amp-recency: reference recency on the paper's examples (AMP §3.1).

use forebay_core::papers::amp::recency::{Mean, ONE, Recency, Sampling};
use serde::Deserialize;

use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    looping: Vec<u64>,
    clustered: Vec<u64>,
    /// The table's column R_i, negative where it is undefined.
    table: Vec<f64>,
    /// R̄ as it is printed.
    mean: f64,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { looping, clustered, table, mean } = experiment.parameters()?;
    context.step(0, 1)?;
    let (_, of_loop) = recencies(&looping);
    let (each, of_clustered) = recencies(&clustered);
    let printed: Vec<f64> = each.iter().map(|recency| recency.map_or(-1.0, two_digits)).collect();
    let same = printed.len() == table.len() && printed.iter().zip(&table).all(|(ours, paper)| ours == paper);
    let rows = printed.iter().zip(&table).filter(|(ours, paper)| ours == paper).count();
    let of_loop = of_loop.unwrap_or(f64::NAN);
    let of_clustered = of_clustered.unwrap_or(f64::NAN);
    let right = if same { 1.0 } else { rows as f64 / table.len().max(printed.len()) as f64 };
    let measures = vec![
        experiment.judged(
            "loop",
            of_loop,
            Measure::shown("R of example 1, [1 2 3 1 2 3]", "0", format!("{of_loop}")),
        )?,
        experiment.judged(
            "table",
            right,
            Measure::shown("rows of example 2 that are as printed", "11 of 11", format!("{rows} of {}", table.len())),
        )?,
        experiment.judged(
            "mean",
            two_digits(of_clustered) - mean,
            Measure::shown("R of example 2", &format!("{mean}"), format!("{of_clustered:.4}")),
        )?,
    ];
    let points = |values: &[f64]| -> Vec<(f64, f64)> {
        let numbered = (1..).map(f64::from).zip(values.iter().copied());
        numbered.filter(|&(_, value)| value >= 0.0).collect()
    };
    let series = [("here", &printed), ("the paper", &table)];
    let series = series.map(|(name, values)| Series { name: name.to_owned(), points: points(values) });
    let chart = Chart {
        title: "Reference recency of example 2".to_owned(),
        x: Axis::linear("access"),
        y: Axis::linear("R"),
        series: series.into(),
    };
    let ours = format!("{of_loop}, {of_clustered:.2}; {rows} of {} rows", table.len());
    Ok(Finding::new(ours, measures, vec![chart]))
}

/// Each R, and their mean.
fn recencies(accesses: &[u64]) -> (Vec<Option<f64>>, Option<f64>) {
    let mut recency = Recency::new(Sampling::Off, Mean::Periodic);
    let part = |recency: u32| f64::from(recency) / f64::from(ONE);
    let each = accesses.iter().map(|&block| recency.access(block).map(part)).collect();
    (each, recency.mean().map(part))
}

fn two_digits(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

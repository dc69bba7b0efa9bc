//! em-constrain: how large the requests of the index searching server are, with few handlers and
//! with many (CPEM Fig. 11).

use crate::books::BUCKET;
use crate::server::{Parameters as Run, Point, Server, Sweep};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    server: Server,
    sweep: Sweep,
    /// The policy with constrained prefetches; the others, the original kernel first and the one
    /// without constraints last.
    policy: String,
    others: [String; 3],
}

/// The first bucket of the paper's histogram.
const SMALL: u32 = BUCKET;

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { server, sweep, policy, others } = experiment.parameters()?;
    let [original, .., unconstrained] = &others;
    let table = Run { server, sweep }.run(experiment, context)?;
    let counts = table.handlers();
    let (few, many) = (counts.first().copied().unwrap_or(0), counts.last().copied().unwrap_or(0));
    let at = |policy: &str, handlers: u32| {
        let found = table.points.iter().find(|point| point.policy == policy && point.handlers == handlers);
        found.ok_or_else(|| experiment.wrong(&format!("the sweep has no {policy} with {handlers} handlers")))
    };
    let ours = at(&policy, many)?;
    let share = ours.books.iter().map(|books| books.most_of_share).fold(0.0, f64::max);
    let least_other = others
        .iter()
        .map(|policy| at(policy, many).map(small))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .fold(f64::INFINITY, f64::min);
    let judged = |rule: &str, value, what: &str, paper: &str, ours| {
        experiment.judged(rule, value, Measure::shown(what, paper, ours))
    };
    let (constrained, free) = (largest(ours), largest(at(unconstrained, many)?));
    let smaller = small(ours) / least_other;
    let mut measures = vec![
        judged("share", share, "the largest prefetch over ceiling / open files", "1", format!("{share:.2}"))?,
        judged("pages", constrained, "competitive-em, many handlers: largest request, pages", "64", {
            format!("{constrained:.0} (competitive {free:.0})")
        })?,
        judged("small", smaller, "requests of 1 to 8 pages over the least of the other policies", "fewer", {
            format!("{:.0} % to {:.0} %", small(ours) * 100.0, least_other * 100.0)
        })?,
        judged(
            "free",
            largest(at(&policy, few)?) / largest(at(original, few)?),
            "few handlers: largest request over that of linux",
            "larger",
            format!("{:.0} pages to {:.0}", largest(at(&policy, few)?), largest(at(original, few)?)),
        )?,
    ];
    for point in &table.points {
        let what = format!("{}, {} handlers", point.policy, point.handlers);
        let ours = format!("{:.0} % of 1 to 8 pages, largest {:.0}", small(point) * 100.0, largest(point));
        measures.push(Measure::shown(&what, "", ours));
    }
    let summary = format!(
        "largest request {constrained:.0} pages at {many} handlers; {:.0} % of 1 to 8 pages, others at least {:.0} %",
        small(ours) * 100.0,
        least_other * 100.0
    );
    let charts = counts.iter().map(|&handlers| {
        let points = table.points.iter().filter(|point| point.handlers == handlers);
        histogram(handlers, points)
    });
    Ok(Finding::new(summary, measures, charts.collect()))
}

/// The share of requests of 1 to 8 pages.
fn small(point: &Point) -> f64 {
    point.books.iter().map(|books| books.small(SMALL)).sum::<f64>() / point.books.len().max(1) as f64
}

/// The largest request, in pages, a thousandth apart.
fn largest(point: &Point) -> f64 {
    f64::from(point.books.iter().map(|books| books.largest()).max().unwrap_or(0))
}

fn histogram<'a>(handlers: u32, points: impl Iterator<Item = &'a Point>) -> Chart {
    let series = points.map(|point| {
        let sizes = point.books.first().map(|books| books.sizes.clone()).unwrap_or_default();
        let all = sizes.values().sum::<u64>().max(1) as f64;
        let last = sizes.keys().next_back().copied().unwrap_or(0);
        let share = |bucket| 100.0 * sizes.get(&bucket).copied().unwrap_or(0) as f64 / all;
        let points = (0..=last).map(|bucket| (f64::from((bucket + 1) * BUCKET), share(bucket)));
        Series { name: point.policy.clone(), points: points.collect() }
    });
    Chart {
        title: format!("Request sizes, {handlers} handlers"),
        x: Axis::linear("pages of a request, in buckets of 8"),
        y: Axis::linear("per cent of requests"),
        series: series.collect(),
    }
}

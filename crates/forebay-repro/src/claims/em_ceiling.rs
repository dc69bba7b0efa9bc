//! em-ceiling: where the ceiling of the prefetch cache begins, how it moves and where it stays
//! (CPEM §4.1).

use serde::Deserialize;

use crate::books::Books;
use crate::server::{Point, Server, Sweep};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    server: Server,
    /// The first policy is the paper's; the others begin elsewhere.
    sweep: Sweep,
    /// The part of a run, its end, by which the ceiling should have settled.
    settled: f64,
    /// Seconds of an epoch.
    epoch_s: f64,
    /// Of the cache, the unit is one part in so many.
    unit: u32,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters: Parameters = experiment.parameters()?;
    let mut server = parameters.server.clone();
    if context.quick {
        server.measured_mib /= 16;
    }
    let table = parameters.sweep.run(&server, experiment, context)?;
    let physical = (server.memory_mib << 20) as f64 / f64::from(server.page_bytes);
    let (mut measures, mut series) = (Vec::new(), Vec::new());
    let (mut begins, mut wrong, mut band) = (f64::NAN, 0, 0.0f64);
    let (mut lowest, mut highest) = (f64::INFINITY, 0.0f64);
    for point in &table.points {
        let Some(books) = point.books.first() else { continue };
        let walk = Walk::of(point, books, &parameters, physical);
        wrong += walk.wrong;
        band = band.max(walk.band);
        (lowest, highest) = (lowest.min(walk.least), highest.max(walk.most));
        if point.policy == parameters.sweep.policies[0] && begins.is_nan() {
            begins = walk.begins;
        }
        let name = format!("{}, {} handlers, {}", point.benchmark, point.handlers, point.policy);
        let ours = format!(
            "{:.0} % → {:.0} to {:.0} % of memory in {} moves; {:.1} MB/s",
            walk.begins * 100.0,
            walk.least * 100.0,
            walk.most * 100.0,
            books.ceiling.len().saturating_sub(1),
            point.throughput()
        );
        measures.push(Measure::shown(&name, "", ours));
        let points = books.ceiling.iter().map(|&(at, blocks)| (at, 100.0 * f64::from(blocks) / physical));
        series.push(Series { name, points: points.collect() });
    }
    let judged = |rule: &str, value, what: &str, paper: &str, ours| {
        experiment.judged(rule, value, Measure::shown(what, paper, ours))
    };
    let mut all = vec![
        judged("begins", begins, "the first ceiling, of physical memory", "0.25", format!("{begins:.3}"))?,
        judged("wrong", f64::from(wrong), "moves by other than a unit, or before an epoch is over", "0", {
            wrong.to_string()
        })?,
        judged("apart", highest - lowest, "from all beginnings: the interval that holds all of these", "the same", {
            format!("{lowest:.2} to {highest:.2}")
        })?,
        judged("band", band, "the widest interval that it settles in, of memory", "narrow", format!("{band:.3}"))?,
    ];
    all.append(&mut measures);
    let ours = format!(
        "begins at {:.0} %, {wrong} moves not a unit, settles within {band:.2} of memory, from all beginnings {:.2}",
        begins * 100.0,
        highest - lowest
    );
    let chart = Chart {
        title: "The ceiling of the prefetch cache".to_owned(),
        x: Axis::linear("seconds"),
        y: Axis::linear("per cent of memory"),
        series,
    };
    Ok(Finding::new(ours, all, vec![chart]))
}

/// How a ceiling went, in parts of physical memory.
struct Walk {
    begins: f64,
    /// The interval at the end of the run.
    least: f64,
    most: f64,
    band: f64,
    /// Moves that are not as the paper says.
    wrong: u32,
}

impl Walk {
    fn of(point: &Point, books: &Books, parameters: &Parameters, physical: f64) -> Walk {
        let walk = &books.ceiling;
        let frames = point.outcomes.first().map_or(0, |outcome| outcome.capacity_blocks as u32);
        let unit = (frames / parameters.unit).max(1);
        // At either end of what is possible a step may be cut short.
        let at_end = |blocks: u32| blocks <= unit || blocks >= frames - unit;
        let is_wrong = |pair: &[(f64, u32)]| {
            let by = pair[0].1.abs_diff(pair[1].1);
            let early = pair[1].0 - pair[0].0 < parameters.epoch_s - 1e-6;
            (early && pair[0].0 > parameters.epoch_s) || (by != unit && !at_end(pair[0].1) && !at_end(pair[1].1))
        };
        let wrong = walk.windows(2).filter(|pair| is_wrong(pair)).count() as u32;
        let end = walk.last().map_or(0.0, |last| last.0);
        // The ceiling when the settled part began counts as well.
        let from = walk.iter().rposition(|&(at, _)| at <= end * (1.0 - parameters.settled)).unwrap_or(0);
        let settled = walk[from..].iter().map(|&(_, blocks)| f64::from(blocks) / physical);
        let least = settled.clone().fold(f64::INFINITY, f64::min);
        let most = settled.fold(0.0, f64::max);
        let begins = walk.first().map_or(f64::NAN, |&(_, blocks)| f64::from(blocks) / physical);
        Walk { begins, least, most, band: most - least, wrong }
    }
}

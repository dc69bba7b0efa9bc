//! cp-optimal: competitive prefetching against the paper's estimate of the optimum, S / (S/R + C)
//! (CP §3.2).

use std::collections::BTreeMap;

use forebay_device::device;
use forebay_device::scheduler::SchedulerKind;
use serde::Deserialize;

use crate::server::{Parameters as Run, Point, Server, Sweep};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    server: Server,
    sweep: Sweep,
    schedulers: Vec<SchedulerKind>,
    /// The mean size of a benchmark's sequential streams, bytes, and what the paper estimates of
    /// it, MB/s.
    streams: BTreeMap<String, (f64, f64)>,
    /// Handlers with which a benchmark does not keep the disk busy, as the paper says.
    underloaded: BTreeMap<String, u32>,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters: Parameters = experiment.parameters()?;
    let cost = device(&parameters.server.drive)?.build(context.seed)?.cost();
    let (mut measures, mut series) = (Vec::new(), Vec::new());
    let mut worst = (f64::INFINITY, String::new());
    for (benchmark, &(bytes, paper)) in &parameters.streams {
        let optimum = cost.optimum(bytes);
        measures.push(Measure {
            what: format!("the optimum of {benchmark}"),
            paper: format!("{paper} MB/s"),
            ours: format!("{optimum:.1} MB/s"),
            verdict: Some(experiment.rule("optimum")?.judge(optimum / paper)),
            ..Measure::default()
        });
    }
    for &scheduler in &parameters.schedulers {
        let server = Server { scheduler, ..parameters.server.clone() };
        let table = Run { server, sweep: parameters.sweep.clone() }.run(experiment, context)?;
        for benchmark in table.benchmarks() {
            let optimum = parameters.streams.get(benchmark).map_or(f64::NAN, |&(bytes, _)| cost.optimum(bytes));
            let shares: Vec<(u32, f64)> = table
                .points
                .iter()
                .filter(|point| point.benchmark == benchmark)
                .map(|point: &Point| (point.handlers, point.throughput() / optimum))
                .collect();
            let busy = |share: &&(u32, f64)| parameters.underloaded.get(benchmark) != Some(&share.0);
            let least = shares.iter().filter(busy).min_by(|a, b| a.1.total_cmp(&b.1)).copied().unwrap_or((0, f64::NAN));
            let name = format!("{benchmark}, {}", scheduler.name());
            if least.1 < worst.0 {
                worst = (least.1, format!("{name}, {} handlers", least.0));
            }
            measures.push(Measure {
                what: format!("{name}: of the optimum, at its least"),
                paper: "at least half".to_owned(),
                ours: shares
                    .iter()
                    .map(|(n, share)| format!("{n}: {:.0} %", share * 100.0))
                    .collect::<Vec<_>>()
                    .join(", "),
                verdict: Some(experiment.rule("share")?.judge(least.1)),
                ..Measure::default()
            });
            let points = shares.into_iter().map(|(handlers, share)| (f64::from(handlers), share)).collect();
            series.push(Series { name, points });
        }
    }
    let chart = Chart {
        title: "Competitive prefetching, as a share of the optimum".to_owned(),
        x: Axis::logarithmic("request handlers at a time"),
        y: Axis::linear("share of S / (S/R + C)"),
        series,
    };
    let ours = format!("{:.0} % of it at the least: {}", worst.0 * 100.0, worst.1);
    Ok(Finding::new(ours, measures, vec![chart]))
}

//! em-micro: the microbenchmarks of CPEM §5.1 with little memory and many handlers, behind both
//! schedulers (CPEM Figs. 5 and 6).

use forebay_device::scheduler::SchedulerKind;
use serde::Deserialize;

use crate::server::{Parameters, Point, Server, Sweep};
use crate::{Context, Error, Experiment, Finding, Measure};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Both {
    schedulers: Vec<SchedulerKind>,
    #[serde(default)]
    server: Server,
    sweep: Sweep,
    /// This policy over that one; and over a third, which is only shown.
    policy: String,
    over: String,
    beside: String,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let both: Both = experiment.parameters()?;
    let Both { policy, over, .. } = &both;
    let (mut measures, mut charts) = (Vec::new(), Vec::new());
    let (mut best, mut worst) = ((String::new(), f64::NAN), f64::INFINITY);
    for &scheduler in &both.schedulers {
        let server = Server { scheduler, ..both.server.clone() };
        let table = Parameters { server, sweep: both.sweep.clone() }.run(experiment, context)?;
        for benchmark in table.benchmarks() {
            let name = format!("{benchmark}, {scheduler}");
            let gains = table.ratios(benchmark, policy, over);
            let most = gains.highest();
            if best.1.is_nan() || most.value > best.1 {
                best = (format!("{name}, {} handlers", most.at), most.value);
            }
            worst = worst.min(gains.lowest().value);
            let what = format!("{name}: {policy} over {over}, most handlers");
            let measure = Measure::shown(&what, "above", gains.listed(times));
            measures.push(experiment.judged("many", gains.last().value, measure)?);
            let beside = table.ratios(benchmark, policy, &both.beside).listed(times);
            measures.push(Measure::shown(&format!("{name}: over competitive"), "", beside));
            charts.push(table.chart(benchmark, &name, "MB/s", Point::throughput));
        }
    }
    let (what, gain) = &best;
    let measure = Measure::shown(&format!("at its best: {what}"), "up to 4 ×", times(*gain));
    measures.insert(0, experiment.judged("gain", *gain, measure)?);
    let measure = Measure::shown(&format!("{policy} over {over}, at its worst"), "", times(worst));
    measures.insert(1, experiment.judged("harm", worst, measure)?);
    Ok(Finding::new(format!("up to {gain:.2} × {over} ({what}), at worst {worst:.2} ×"), measures, charts))
}

/// `1.23 ×`
fn times(ratio: f64) -> String {
    format!("{ratio:.2} ×")
}

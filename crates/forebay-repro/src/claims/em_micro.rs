//! em-micro: the microbenchmarks of CPEM §5.1 with little memory and many handlers, behind both
//! schedulers (CPEM Figs. 5 and 6).

use forebay_device::scheduler::SchedulerKind;
use serde::Deserialize;

use crate::server::{Parameters, Point, Server, Sweep, largest, last, least, times};
use crate::{Context, Error, Experiment, Finding, Measure};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Both {
    schedulers: Vec<SchedulerKind>,
    #[serde(default)]
    server: Server,
    sweep: Sweep,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let both: Both = experiment.parameters()?;
    let (mut measures, mut charts) = (Vec::new(), Vec::new());
    let (mut best, mut worst) = ((String::new(), f64::NAN), f64::INFINITY);
    for scheduler in both.schedulers {
        let server = Server { scheduler, ..both.server.clone() };
        let table = Parameters { server, sweep: both.sweep.clone() }.run(experiment, context)?;
        for benchmark in table.benchmarks() {
            let name = format!("{benchmark}, {scheduler}");
            let over = |other| table.ratios(benchmark, ("competitive-em", other), Point::throughput);
            let (linux, plain) = (over("linux"), over("competitive:shares=off"));
            let (at, most) = largest(&linux);
            if best.1.is_nan() || most > best.1 {
                best = (format!("{name}, {at} handlers"), most);
            }
            worst = worst.min(least(&linux).1);
            let what = format!("{name}: competitive-em over linux, most handlers");
            measures.push(experiment.judged("many", last(&linux), (&what, "above"), times(&linux))?);
            measures.push(Measure::shown(&format!("{name}: over competitive"), "", times(&plain)));
            charts.push(table.chart(benchmark, &name, "MB/s", Point::throughput));
        }
    }
    let (what, gain) = &best;
    measures.insert(
        0,
        experiment.judged("gain", *gain, (&format!("at its best: {what}"), "up to 4 ×"), format!("{gain:.2} ×"))?,
    );
    measures.insert(
        1,
        experiment.judged("harm", worst, ("competitive-em over linux, at its worst", ""), format!("{worst:.2} ×"))?,
    );
    Ok(Finding::new(format!("up to {gain:.2} × linux ({what}), at worst {worst:.2} ×"), measures, charts))
}

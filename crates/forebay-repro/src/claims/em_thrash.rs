//! em-thrash: throughput and thrashing of the index searching server as its handlers become many
//! (CPEM Figs. 2, 8 and 12).

use crate::server::{Parameters, Point, figures, largest, last, times};
use crate::{Context, Error, Experiment, Finding, Measure};

const INDEX: &str = "index-search";
const CPEM: &str = "competitive-em";
const OTHERS: [&str; 3] = ["linux", "aggressive", "competitive:shares=off"];
/// "At low concurrency levels": as far as the original kernel's throughput rises in CPEM Fig. 2.
const LOW: u32 = 32;

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters: Parameters = experiment.parameters()?;
    let table = parameters.run(experiment, context)?;
    let linux = table.line(INDEX, "linux", Point::throughput);
    let thrashing = |policy| table.line(INDEX, policy, Point::thrashing);
    let (ours, theirs) = (thrashing(CPEM), thrashing("linux"));
    let ratios: Vec<_> = OTHERS.iter().map(|other| table.ratios(INDEX, (CPEM, other), Point::throughput)).collect();
    let least = ratios.iter().map(|ratios| last(ratios)).fold(f64::INFINITY, f64::min);
    let low = ["linux", "competitive:shares=off", CPEM].map(thrashing).concat();
    let low = low.iter().filter(|point| point.0 <= LOW).map(|point| point.1).fold(0.0, f64::max);
    let (peak, left) = (largest(&linux), last(&linux) / largest(&linux).1);
    let judged = |rule: &str, value, what: &str, paper: &str, ours| experiment.judged(rule, value, (what, paper), ours);
    let mut measures = vec![
        judged("peak", peak.1, "linux at its best, MB/s", "16.3 at 32", figures(&linux))?,
        judged("collapse", left, "of that, what linux has left with the most handlers", "0.05", format!("{left:.2}"))?,
        judged("thrashing", last(&theirs), "linux: pages lost a second, most handlers", "256", figures(&theirs))?,
        judged("kept", largest(&ours).1, "competitive-em: pages lost a second, at worst", "32", figures(&ours))?,
        judged("low", low, "all but aggressive: the same, up to 32 handlers", "25", format!("{low:.0}"))?,
        judged("gain", least, "competitive-em over the best other, most handlers", "4 ×", format!("{least:.2} ×"))?,
    ];
    for (other, ratios) in OTHERS.iter().zip(&ratios) {
        measures.push(Measure::shown(&format!("competitive-em over {other}"), "", times(ratios)));
    }
    let summary = format!(
        "linux {:.1} MB/s at best, {:.0} % of it left; {:.0} pages/s lost; competitive-em {:.0} pages/s, {least:.2} ×",
        peak.1,
        left * 100.0,
        last(&theirs),
        largest(&ours).1
    );
    let charts = vec![
        table.chart(INDEX, "I/O throughput of index searching", "MB/s", Point::throughput),
        table.chart(INDEX, "Prefetching-incurred page thrashing", "pages a second", Point::thrashing),
        table.chart(INDEX, "Response time of a query", "seconds", Point::response),
    ];
    Ok(Finding::new(summary, measures, charts))
}

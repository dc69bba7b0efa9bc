//! scm-esf: two streams of the same mean rate, one of them ever less stable; and streams that are
//! merely irregular (SCM §5.2.1, Fig. 6).

use serde::Deserialize;

use crate::disks::{highest, lowest};
use crate::raid::{ESF, ETS, LINUX, Part, Place, Raid, Run, Table, listed, mean, percent, percents, run};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::Axis;
use forebay_sim::timed::Load;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    raid: Raid,
    /// Requests a second of both streams, a sweep each.
    rates: Vec<f64>,
    /// The deviation of the second, in roots of the mean, or in means; that of the first is the
    /// root of the mean.
    multiples: Vec<f64>,
    of: Of,
    /// Merely irregular: requests a second of the first stream, and of the second, case by case;
    /// deviations are the roots of the means.
    rate: f64,
    others: Vec<f64>,
    /// Milliseconds of a slot, in which the deviation is counted.
    slot: f64,
    seconds: f64,
    seeds: u64,
}

/// What deviations are multiples of, both of the requests in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Of {
    Mean,
    Root,
}

impl Parameters {
    /// Streams of two rates, their deviations in requests a slot.
    fn place(&self, at: f64, rates: [f64; 2], deviations: [f64; 2]) -> Place {
        let parameters = [
            ("requests", format!("{}", ((rates[0] + rates[1]) * self.seconds) as u64)),
            ("rate", rates[0].to_string()),
            ("others", rates[1].to_string()),
            ("deviation", deviations[0].to_string()),
            ("deviations", deviations[1].to_string()),
            ("slot", self.slot.to_string()),
        ];
        let parts = vec![Part::new("rates", &parameters)];
        Place { at, parts, load: Load::Open { speed: 1.0 }, seconds: Some(self.seconds), warm_up: None }
    }

    /// Requests in a slot.
    fn in_slot(&self, rate: f64) -> f64 {
        rate * self.slot / 1000.0
    }
}

fn response(run: &Run) -> f64 {
    run.outcome.response_ms
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let mut parameters: Parameters = experiment.parameters()?;
    if context.quick {
        parameters.seconds /= 10.0;
    }
    let policies = [LINUX, ETS, ESF].map(str::to_owned);
    let of = (experiment, context);
    let mut sweeps: Vec<(f64, Table)> = Vec::new();
    for &rate in &parameters.rates {
        let in_slot = parameters.in_slot(rate);
        let one = if parameters.of == Of::Mean { in_slot } else { in_slot.sqrt() };
        let place = |&times: &f64| parameters.place(times, [rate; 2], [in_slot.sqrt(), times * one]);
        let places: Vec<Place> = parameters.multiples.iter().map(place).collect();
        sweeps.push((rate, run(&places, &policies, parameters.seeds, &parameters.raid, of)?));
    }
    let place = |&other: &f64| {
        let rates = [parameters.rate, other];
        parameters.place(other, rates, rates.map(|rate| parameters.in_slot(rate).sqrt()))
    };
    let places: Vec<Place> = parameters.others.iter().map(place).collect();
    let irregular = run(&places, &policies, parameters.seeds, &parameters.raid, of)?;
    finding(experiment, &parameters, &sweeps, &irregular)
}

fn finding(
    experiment: &Experiment,
    parameters: &Parameters,
    sweeps: &[(f64, Table)],
    irregular: &Table,
) -> Result<Finding, Error> {
    let stream = |number: u32| move |run: &Run| run.streams.handler(number).response_ms();
    let all = |of: &dyn Fn(&Run) -> f64| -> Vec<(f64, f64)> {
        sweeps.iter().flat_map(|(_, table)| table.ratios((ESF, ETS), of)).collect()
    };
    let (both, unstable, stable) = (all(&response), all(&stream(2)), all(&stream(1)));
    let merely = irregular.ratios((ETS, ESF), response);
    let judged = |rule: &str, value, what: &str, paper: &str, ours| experiment.judged(rule, value, (what, paper), ours);
    let mut measures = vec![
        judged("mean", mean(&both), "response, esf over ets, in the mean", "-25.4 %", percents(&both))?,
        judged("best", lowest(&both).1, "the same, at best", "-35.7 %", percent(lowest(&both).1))?,
        judged("unstable", mean(&unstable), "the unstable stream", "significant improvement", percents(&unstable))?,
        judged("merely", mean(&merely), "merely irregular: response, ets over esf", "below", percents(&merely))?,
        Measure::shown("the stable stream, esf over ets", "small degradation", percents(&stable)),
    ];
    for (rate, table) in sweeps {
        for policy in [LINUX, ETS, ESF] {
            for (what, line) in [
                ("response, ms", table.line(policy, response)),
                ("the stable one's", table.line(policy, stream(1))),
                ("the unstable one's", table.line(policy, stream(2))),
                ("distance of the stable one", table.line(policy, |run| run.streams.handler(1).distance())),
                ("distance of the unstable one", table.line(policy, |run| run.streams.handler(2).distance())),
                ("misses per cycle", table.line(policy, |run| run.streams.shortage())),
            ] {
                if line.iter().all(|point| point.1.is_finite()) {
                    measures.push(Measure::shown(&format!("{rate} a second, {policy}: {what}"), "", listed(&line)));
                }
            }
        }
    }
    for policy in [LINUX, ETS, ESF] {
        let line = irregular.line(policy, response);
        measures.push(Measure::shown(&format!("merely irregular, {policy}: response, ms"), "", listed(&line)));
    }
    let ours = format!(
        "esf over ets {} on average, {} at best, {} at worst; merely irregular, ets over esf {}",
        percent(mean(&both)),
        percent(lowest(&both).1),
        percent(highest(&both).1),
        percent(mean(&merely))
    );
    let chart = |(rate, table): &(f64, Table)| {
        let title = format!("Two streams of {rate} requests a second");
        table.chart(&title, (Axis::linear("deviation of the second, in means"), "mean response, ms"), response)
    };
    let mut charts: Vec<_> = sweeps.iter().map(chart).collect();
    let x = Axis::linear(format!("requests a second beside {}", parameters.rate));
    charts.push(irregular.chart("Merely irregular streams", (x, "mean response, ms"), response));
    Ok(Finding::new(ours, measures, charts))
}

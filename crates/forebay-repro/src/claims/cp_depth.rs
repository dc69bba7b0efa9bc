//! cp-depth: what a switch of the papers' drive is worth, by the model's curves and by measuring
//! it.

use forebay_core::{DeviceCost, Instant};
use forebay_device::random::Random;
use forebay_device::{Description, Request, device};
use serde::Deserialize;

use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    device: String,
    random_reads: u32,
    page_bytes: u64,
    runs: u32,
    run_bytes: u64,
}

/// The factors of the depth.
#[derive(Clone, Copy)]
struct Factors {
    switch_ms: f64,
    rate_mb_s: f64,
}

impl Factors {
    /// S_p = C_switch · R_tr (CP Eq. 5), in 10^3 bytes.
    fn depth_kb(self) -> f64 {
        self.switch_ms * self.rate_mb_s
    }
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters: Parameters = experiment.parameters()?;
    let description = device(&parameters.device)?;
    let cost = description.build(context.seed)?.cost();
    let curves = by_curves(&cost);
    let measured = by_measuring(&description, &parameters, context)?;
    let mut measures = Vec::new();
    for (way, factors) in [("by its curves", curves), ("measured", measured)] {
        for (what, unit, rule, value) in [
            ("a switch", "ms", "switch_ms", factors.switch_ms),
            ("transfer", "MB/s", "rate_mb_s", factors.rate_mb_s),
            ("the depth", "KB", "depth_kb", factors.depth_kb()),
        ] {
            let paper = match rule {
                "switch_ms" => "7.53 ms + 3.00 ms",
                "rate_mb_s" => "51.3 MB/s",
                _ => "about 540 KB",
            };
            measures.push(Measure {
                what: format!("{what}, {way}"),
                paper: paper.to_owned(),
                ours: format!("{value:.2} {unit}"),
                verdict: Some(experiment.rule(rule)?.judge(value)),
                ..Measure::default()
            });
        }
    }
    let ours = format!("{:.0} KB by the curves, {:.0} KB measured", curves.depth_kb(), measured.depth_kb());
    Ok(Finding::new(ours, measures, vec![depths(&cost)]))
}

/// The policies' view: the curves at the mean distance, the rate averaged over the device.
fn by_curves(cost: &DeviceCost) -> Factors {
    let ends = cost.zones.iter().skip(1).map(|zone| zone.0).chain([cost.capacity]);
    let weighted = cost.zones.iter().zip(ends).map(|(&(from, rate), to)| to.saturating_sub(from) as f64 * rate as f64);
    Factors {
        switch_ms: cost.switch_cost(cost.mean_distance()) as f64 / 1e6,
        rate_mb_s: weighted.sum::<f64>() / cost.capacity.max(1) as f64 / 1e6,
    }
}

/// The factors that a user of the device would measure.
fn by_measuring(description: &Description, parameters: &Parameters, context: &Context<'_>) -> Result<Factors, Error> {
    let mut model = description.build(context.seed)?;
    let mut random = Random::new(context.seed);
    let mut now = Instant(0);
    let mut place = |len: u64| random.below((model.capacity() - len.min(model.capacity())) / 4096) * 4096;
    let reads: Vec<u64> = (0..parameters.random_reads).map(|_| place(parameters.page_bytes)).collect();
    let runs: Vec<u64> = (0..parameters.runs).map(|_| place(parameters.run_bytes)).collect();
    let began = now;
    for start in &reads {
        now = model.serve(now, Request::read(*start, parameters.page_bytes));
    }
    let mean_ms = now.since(began) as f64 / 1e6 / f64::from(parameters.random_reads.max(1));
    let mut rates = 0.0;
    for (done, &start) in runs.iter().enumerate() {
        context.step(done, runs.len())?;
        // The first page is where the arm goes to; what follows streams.
        now = model.serve(now, Request::read(start, parameters.page_bytes));
        let began = now;
        let rest = parameters.run_bytes.saturating_sub(parameters.page_bytes).max(1);
        now = model.serve(now, Request::read(start + parameters.page_bytes, rest));
        rates += rest as f64 / 1e6 / (now.since(began) as f64 / 1e9);
    }
    let rate_mb_s = rates / f64::from(parameters.runs.max(1));
    Ok(Factors { switch_ms: mean_ms - parameters.page_bytes as f64 / rate_mb_s / 1e3, rate_mb_s })
}

/// How the depth changes with the distance of seeks and with the place: what cp-dynamic is about.
fn depths(cost: &DeviceCost) -> Chart {
    let gb = 1_000_000_000;
    let at = |name: &str, place: u64| Series {
        name: name.to_owned(),
        points: (0..=60)
            .map(|step| step * cost.capacity / 60)
            .map(|distance| (distance as f64 / gb as f64, cost.competitive_depth(distance, place) as f64 / 1e3))
            .collect(),
    };
    Chart {
        title: "Competitive depth of the modelled drive".to_owned(),
        x: Axis::linear("mean distance of seeks, GB"),
        y: Axis::linear("C_switch · R_tr, KB"),
        series: vec![
            at("at the rim", 0),
            at("in the middle", cost.capacity / 2),
            at("at the hub", cost.capacity.saturating_sub(1)),
        ],
    }
}

//! auto-harm: where looking ahead and dividing memory can gain nothing: random reads, data that
//! fits, one stream.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;

use crate::claims::auto_regret::{Named, all_named};
use crate::scenario::{Kind, Part, Scenario};
use crate::{Context, Error, Experiment, Finding, Measure};
use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::timed::run;
use forebay_sim::{processors, sweep};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    policy: String,
    /// The policies that it must not be worse than.
    over: Vec<String>,
    /// Each alone.
    devices: Vec<String>,
    handlers: Vec<u32>,
    memory_mib: u64,
    block_kib: u32,
    /// Runs of each case, by different seeds.
    runs: u64,
    loads: Vec<Load>,
}

/// The load.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Load {
    name: String,
    reads: u64,
    /// By one program, whatever the number of handlers.
    #[serde(default)]
    alone: bool,
    part: Part,
}

/// A run that is to be.
struct Case<'a> {
    load: &'a Load,
    device: &'a str,
    handlers: u32,
}

impl Case<'_> {
    /// The seconds that each policy takes, for several runs by different seeds one after the other:
    /// of one alone chance has a few per cent, since a store's slowest answers decide when it ends.
    fn times(&self, parameters: &Parameters, policies: &[Named<'_>], context: &Context<'_>) -> Result<Vec<f64>, Error> {
        let mut times = vec![0.0; policies.len()];
        for nth in 0..parameters.runs {
            let scenario = self.scenario(parameters, context.seed + nth);
            let workload = scenario.workload()?;
            for (time, &Named { policy, .. }) in times.iter_mut().zip(policies) {
                *time += scenario.figure(&run(&scenario.setup(policy, &workload)?, &workload, context.watch)?);
            }
        }
        Ok(times)
    }

    fn scenario(&self, parameters: &Parameters, seed: u64) -> Scenario {
        Scenario {
            seed,
            devices: vec![self.device.to_owned()],
            even: true,
            memory_bytes: parameters.memory_mib << 20,
            block_bytes: parameters.block_kib << 10,
            contexts: false,
            kind: if self.load.alone { Kind::Programs } else { Kind::Server { handlers: self.handlers } },
            parts: vec![self.load.part.clone()],
            reads: self.load.reads,
        }
    }

    fn name(&self) -> String {
        if self.load.alone { self.device.to_owned() } else { format!("{} × {}", self.device, self.handlers) }
    }
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let mut parameters: Parameters = experiment.parameters()?;
    if context.quick {
        parameters.loads.iter_mut().for_each(|load| load.reads /= 16);
        parameters.handlers.truncate(1);
        parameters.runs = 1;
    }
    let names: Vec<String> = [&parameters.policy].into_iter().chain(&parameters.over).cloned().collect();
    let policies = all_named(&names, experiment)?;
    let mut cases = Vec::new();
    for load in &parameters.loads {
        for device in &parameters.devices {
            let counts = if load.alone { &[1][..] } else { &parameters.handlers };
            cases.extend(counts.iter().map(|&handlers| Case { load, device, handlers }));
        }
    }
    let done = AtomicUsize::new(0);
    let one = |case: &Case<'_>| {
        let times = case.times(&parameters, &policies, context)?;
        context.step(done.fetch_add(1, Ordering::Relaxed) + 1, cases.len())?;
        Ok(times)
    };
    let times = sweep(&cases, processors(), || context.watch.stopped(), one);
    let times: Vec<Vec<f64>> =
        times.into_iter().map(|times| times.unwrap_or(Err(Error::Stopped))).collect::<Result<_, Error>>()?;
    let (mut measures, mut series, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for (at, &Named { name: other, .. }) in policies.iter().enumerate().skip(1) {
        for load in &parameters.loads {
            let ratios = cases.iter().zip(&times).filter(|(case, _)| std::ptr::eq(case.load, load));
            let ratios: Vec<(f64, String)> = ratios.map(|(case, times)| (times[at] / times[0], case.name())).collect();
            let worst = ratios.iter().map(|ratio| ratio.0).fold(f64::INFINITY, f64::min);
            let what = format!("{}: {} over {other}, at worst", load.name, parameters.policy);
            let text: Vec<String> = ratios.iter().map(|(ratio, name)| format!("{name}: {ratio:.3}")).collect();
            measures.push(experiment.judged("harm", worst, Measure::shown(&what, "at least 0.97", text.join(", ")))?);
            let points = (1..).zip(&ratios).map(|(place, ratio)| (f64::from(place), ratio.0)).collect();
            series.push(Series { name: format!("{}, over {other}", load.name), points });
            all.push((worst, format!("{} over {other}", load.name)));
        }
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ours = all.iter().take(2).map(|(worst, name)| format!("{name} {worst:.2}")).collect::<Vec<_>>().join(", ");
    let chart = Chart {
        title: "Throughput over the other's".to_owned(),
        x: Axis::linear("device and handlers, in order"),
        y: Axis::linear("ratio"),
        series,
    };
    Ok(Finding::new(format!("at worst: {ours}"), measures, vec![chart]))
}

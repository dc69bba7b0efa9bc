//! past-currency: the currency of `auto` beside SAC's own and others, where the papers pull in
//! different directions and where they don't.

use std::collections::BTreeMap;

use forebay_device::device;
use forebay_device::random::Random;
use forebay_trace::{Memory, Request, Shape};
use serde::Deserialize;

use crate::disks::{self, Disks, Figures, Old, Trace};
use crate::line::{Line, Point};
use crate::{Context, Error, Experiment, Finding, Job, Measure};
use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::timed::{DeviceSetup, Mapping, Placement, Setup, Span, Striping, Workload};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    disks: Disks,
    cases: Vec<Case>,
}

/// The loads, machines and policies, and the questions asked of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    load: Load,
    policies: Vec<String>,
    judged: Vec<Judged>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Load {
    /// A trace on files striped over all disks, some of them old.
    Striped { trace: Trace, systems: Vec<System> },
    /// A file on each of several devices.
    Apart { requests: u64, devices: Vec<Apart>, system: System },
}

/// The disks.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct System {
    /// Where it stands on the axis.
    at: f64,
    #[serde(default)]
    old: Old,
    /// Over which part of the cache that the experiment has.
    #[serde(default)]
    cache_mib: Option<u64>,
    #[serde(default)]
    outstanding: Option<u32>,
}

/// A device and what is asked of it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Apart {
    device: String,
    /// Its part of the requests.
    weight: u32,
    /// Each for so many KiB.
    kib: u32,
    /// Evenly from so many MiB; 0: ever new ones, one after the other.
    set_mib: u64,
    /// One after the other, round and round.
    #[serde(default)]
    loops: bool,
}

/// A comparison of throughput: `policy` over `over`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Judged {
    rule: String,
    policy: String,
    over: String,
    at: At,
}

/// In which of the systems.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum At {
    Best,
    Worst,
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let Parameters { disks, cases } = experiment.parameters()?;
    let (mut traces, mut runs) = (BTreeMap::new(), Vec::new());
    for case in &cases {
        let (workload, systems) = match &case.load {
            Load::Striped { trace, systems } => (trace.load(experiment, context)?, systems.as_slice()),
            Load::Apart { requests, devices, system } => {
                (apart(*requests, devices, experiment, context)?, std::slice::from_ref(system))
            }
        };
        for policy in &case.policies {
            for system in systems {
                let setup = case.setup(&disks, policy, system, &workload, Job { experiment, context })?;
                let (sweep, trace) = (case.name.clone(), case.name.clone());
                runs.push(disks::Case { sweep, trace, policy: policy.clone(), at: system.at, setup });
            }
        }
        traces.insert(case.name.clone(), workload);
    }
    let figures = disks::run(runs, &traces, experiment, context)?;
    let (mut measures, mut charts, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for case in &cases {
        for judged in &case.judged {
            let ratios = judged.ratios(&figures, &case.name);
            let Point { at: place, value } = match judged.at {
                At::Best => ratios.highest(),
                At::Worst => ratios.lowest(),
            };
            let what = format!("{}: {} over {}", case.name, judged.policy, judged.over);
            let measure = Measure::shown(&what, "", ratios.listed(|ratio| format!("{ratio:.3} ×")));
            measures.push(experiment.judged(&judged.rule, value, measure)?);
            ours.push(format!("{} {:+.0} % ({place})", case.name, (value - 1.0) * 100.0));
        }
        charts.push(chart(&figures, case));
    }
    Ok(Finding::new(ours.join("; "), measures, charts))
}

impl Case {
    fn setup(
        &self,
        disks: &Disks,
        policy: &str,
        system: &System,
        workload: &Workload,
        job: Job<'_>,
    ) -> Result<Setup, Error> {
        let cache_mib = system.cache_mib.unwrap_or(disks.cache_mib);
        let outstanding = system.outstanding.unwrap_or(disks.outstanding);
        let disks = Disks { cache_mib, outstanding, ..disks.clone() };
        let mut setup = disks.setup(policy, system.old, workload, job)?;
        if let Load::Apart { devices, .. } = &self.load {
            let device = |apart: &Apart| -> Result<DeviceSetup, Error> {
                Ok(DeviceSetup { scheduler: disks.scheduler, ..DeviceSetup::new(device(&apart.device)?) })
            };
            setup.devices = devices.iter().map(device).collect::<Result<_, _>>()?;
            setup.striping = Striping::Off;
            setup.placement = Placement { mapping: Mapping::Modulo, ..Placement::default() };
            // Half, by when a stream has been known for a while.
            setup.warm_up = Some(Span::Requests((workload.requests() / 2).max(1)));
        }
        Ok(setup)
    }
}

/// Requests to devices, each with a file of its own.
fn apart(requests: u64, devices: &[Apart], experiment: &Experiment, context: &Context<'_>) -> Result<Workload, Error> {
    let requests = if context.quick { (requests / 20).max(100) } else { requests };
    let weights: u64 = devices.iter().map(|device| u64::from(device.weight)).sum();
    if weights == 0 || devices.iter().any(|device| device.kib == 0) {
        return Err(experiment.wrong("devices have weights and sizes of requests"));
    }
    let mut random = Random::new(context.seed);
    let mut next = vec![0u64; devices.len()];
    let made = (0..requests).map(|_| {
        let mut ticket = random.below(weights);
        let which = devices.iter().position(|device| {
            let found = ticket < u64::from(device.weight);
            ticket = ticket.saturating_sub(u64::from(device.weight));
            found
        });
        let which = which.unwrap_or(0);
        let device = &devices[which];
        let len = device.kib << 10;
        let places = (device.set_mib << 20) / u64::from(len);
        let place = match places {
            0 => next[which],
            places if device.loops => next[which] % places,
            places => random.below(places),
        };
        next[which] += 1;
        // Each device has its own program.
        let context = 1 + which as u32;
        Request { file: which as u64, context, offset: place * u64::from(len), len, ..Request::default() }
    });
    let made: Vec<Request> = made.collect();
    Ok(Workload::load(&mut Memory::new(made, Shape::Ranges { block_bytes: 4096 }))?)
}

impl Judged {
    /// By system; above 1 is better.
    fn ratios(&self, figures: &Figures, case: &str) -> Line {
        let line = |policy: &str| figures.throughput(case, policy);
        line(&self.policy).over(&line(&self.over))
    }
}

fn chart(figures: &Figures, case: &Case) -> Chart {
    let series =
        |policy: &String| Series { name: policy.clone(), points: figures.throughput(&case.name, policy).points() };
    Chart {
        title: case.name.clone(),
        x: Axis::linear("system"),
        y: Axis::linear("MB/s"),
        series: case.policies.iter().map(series).collect(),
    }
}

//! today-tier: what a disk tier saves on today's loads, what it writes for it, and by which rules.

use forebay_core::Policy;
use forebay_core::tier::{Admit, Evict, Rules};
use forebay_device::{Description, device};
use forebay_sim::timed::{self, DeviceSetup, Outcome, Setup, TierSetup};
use forebay_sim::{processors, sweep};
use serde::Deserialize;

use crate::suite::{Load, Loaded};
use crate::{CellFigure, Context, Error, Experiment, Finding, Job, Measure};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    device: String,
    disk: String,
    policy: String,
    /// Memory, as a share of the distinct blocks.
    memory: f64,
    /// Sizes of tiers, as shares of the distinct blocks.
    tiers: Vec<f64>,
    /// The first is judged.
    rules: Vec<Named>,
    loads: Vec<Load>,
    /// Read round after round; the first two are not counted.
    rounds: Load,
    /// Read once.
    scan: Load,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    admit: Admit,
    evict: Evict,
}

/// What all runs have in common.
struct Machine<'a> {
    job: Job<'a>,
    parameters: &'a Parameters,
    policy: Policy,
    device: Description,
    disk: Description,
}

/// A tier of a run: its share of the distinct blocks, and its rules.
#[derive(Clone, Copy)]
struct Size<'a> {
    share: f64,
    rules: &'a Named,
}

/// Looks a description through, before anything runs.
pub(super) fn read(experiment: &Experiment) -> Result<Parameters, Error> {
    let parameters: Parameters = experiment.parameters()?;
    experiment.share("`memory`", parameters.memory)?;
    for &share in &parameters.tiers {
        experiment.share("`tiers`", share)?;
    }
    // The tier of the rounds is for the rest of half of the data.
    if parameters.memory >= 0.5 || parameters.loads.is_empty() || parameters.rules.is_empty() {
        return Err(experiment.wrong("`memory` is below 0.5, and `loads` and `rules` have one entry at least"));
    }
    for load in parameters.loads.iter().chain([&parameters.rounds, &parameters.scan]) {
        load.check(experiment)?;
    }
    Ok(parameters)
}

pub(crate) fn check(experiment: &Experiment, context: &Context<'_>) -> Result<Finding, Error> {
    let parameters = read(experiment)?;
    let policy = experiment.policy(&parameters.policy)?;
    let job = Job { experiment, context };
    let (store, disk) = (device(&parameters.device)?, device(&parameters.disk)?);
    let machine = Machine { job, policy, device: store, disk, parameters: &parameters };
    let Some(own) = parameters.rules.first() else { return Err(experiment.wrong("it has no rules")) };
    let (mut measures, mut cells) = (Vec::new(), Vec::new());
    let rounds = machine.rounds(&Size { share: 0.5 - parameters.memory, rules: own })?;
    let ours = format!("{rounds:.2} of (memory + tier) / data");
    measures.push(experiment.judged("rounds", rounds, Measure::shown("hits of rounds", "", ours.clone()))?);
    let written = machine.scan(&Size { share: 0.1, rules: own })?;
    let scanned = format!("a scan writes {written:.2} of the tier");
    measures.push(experiment.judged("scan", written, Measure::shown("written by a scan", "", scanned.clone()))?);
    let loads = if context.quick { &parameters.loads[..1] } else { &parameters.loads[..] };
    for (done, load) in loads.iter().enumerate() {
        context.step(done, loads.len())?;
        let (shown, figures) = machine.load(load)?;
        measures.extend(shown);
        cells.extend(figures);
    }
    Ok(Finding { cells, ..Finding::new(format!("{ours}; {scanned}"), measures, Vec::new()) })
}

impl Machine<'_> {
    fn setup(&self, load: &Load, loaded: &Loaded, size: Option<&Size<'_>>) -> Setup {
        let memory = loaded.bytes(self.parameters.memory);
        let tier = size.map(|size| TierSetup {
            bytes: loaded.bytes(size.share),
            device: DeviceSetup::new(self.disk.clone()),
            rules: Rules { admit: size.rules.admit, evict: size.rules.evict },
        });
        let setup = load.over(Setup::new(self.policy, memory, self.device.clone(), load.handlers));
        Setup { tier, seed: self.job.context.seed, ..setup }
    }

    fn run(&self, load: &Load, loaded: &Loaded, size: Option<&Size<'_>>) -> Result<Outcome, Error> {
        Ok(timed::run(&self.setup(load, loaded, size), &loaded.workload, self.job.context.watch)?)
    }

    /// Hits of rounds, over the share of the data that memory and tier hold.
    fn rounds(&self, size: &Size<'_>) -> Result<f64, Error> {
        let load = &self.parameters.rounds;
        let outcome = self.run(load, &load.load(&[], self.job)?, Some(size))?;
        let hits = 1.0 - outcome.device_bytes as f64 / outcome.bytes as f64;
        Ok(hits / (self.parameters.memory + size.share))
    }

    /// What a scan writes, over the size of the tier.
    fn scan(&self, size: &Size<'_>) -> Result<f64, Error> {
        let load = &self.parameters.scan;
        let loaded = load.load(&[], self.job)?;
        let outcome = self.run(load, &loaded, Some(size))?;
        Ok(written(&outcome) / loaded.bytes(size.share) as f64)
    }

    /// A load without a tier, and with each tier by each rule.
    fn load(&self, load: &Load) -> Result<(Vec<Measure>, Vec<CellFigure>), Error> {
        let loaded = load.load(&[], self.job)?;
        let rules = |&share: &f64| self.parameters.rules.iter().map(move |rules| Some(Size { share, rules }));
        let sizes: Vec<Option<Size<'_>>> =
            [None].into_iter().chain(self.parameters.tiers.iter().flat_map(rules)).collect();
        let stopped = || self.job.context.watch.stopped();
        let outcomes = sweep(&sizes, processors(), stopped, |size| self.run(load, &loaded, size.as_ref()));
        let outcomes: Result<Vec<Outcome>, Error> =
            outcomes.into_iter().map(|outcome| outcome.unwrap_or(Err(Error::Stopped))).collect();
        let outcomes = outcomes?;
        let without = outcomes.first().map_or(f64::NAN, |outcome| outcome.response_ms);
        let cell = |(size, outcome): (&Option<Size<'_>>, &Outcome)| self.cell(load, size.as_ref(), outcome);
        let (mut measures, cells) = (Vec::new(), sizes.iter().zip(&outcomes).map(cell).collect());
        for (size, outcome) in sizes.iter().zip(&outcomes) {
            let Some((size, tier)) = size.as_ref().zip(outcome.tier.as_ref()) else { continue };
            let saved = 100.0 * (1.0 - outcome.response_ms / without);
            let ours = format!(
                "{saved:.0} % of {without:.2} ms saved; {:.2} of fetched bytes found; {:.2} written a byte found",
                tier.hit_ratio(),
                tier.written_per_hit()
            );
            let what = format!("{}, tier {:.0} %, {}", load.name, 100.0 * size.share, size.rules.name);
            measures.push(Measure::shown(&what, "", ours));
        }
        Ok((measures, cells))
    }

    /// A run as a figure: how long its readers wait, of which less is better.
    fn cell(&self, load: &Load, size: Option<&Size<'_>>, outcome: &Outcome) -> CellFigure {
        let tier = |size: &Size<'_>| format!("tier {:.0} %, {}", 100.0 * size.share, size.rules.name);
        CellFigure {
            load: load.name.clone(),
            device: self.parameters.device.clone(),
            memory: self.parameters.memory,
            policy: format!("{}, {}", self.parameters.policy, size.map_or("no tier".to_owned(), tier)),
            figure: outcome.response_ms,
            unit: "ms",
            ..CellFigure::of(outcome)
        }
    }
}

/// Bytes that a tier's disk was given.
fn written(outcome: &Outcome) -> f64 {
    outcome.tier.as_ref().map_or(0, |tier| tier.written_bytes) as f64
}

//! The storage system of SAC §4 as a simulation: one client with a cache, sixteen network-attached
//! disks, its requests striped over them; and sweeps over policies and over disks that are old or
//! turn slow.
//!
//! The paper says of it: "a single client connected to sixteen network-attached storage
//! devices", RAID-0 "across the full set of disks", "a closed workload model", no time for a hit, a
//! network by LogGP that is no bottleneck (§4.1, §4.4), the IBM 9LZX of Table 2, 200 MB of cache.
//! The rest is chosen here, with its reason at the field, and may be said otherwise in
//! an experiment's description.
//!
//! An experiment makes [`Case`]s ([`Disks::setup`], one disk or several aged), has them run
//! ([`run`]) on its traces ([`Trace::load`]), and asks the [`Figures`] for lines and pictures.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_core::Policy;
use forebay_core::presets::Replacement;
use forebay_device::device;
use forebay_device::scheduler::SchedulerKind;
use forebay_trace::generate::{self, Given};
use serde::Deserialize;

use crate::line::{self, Line};
use crate::{Context, Error, Experiment, Job};
use forebay_sim::timed::{self, DeviceSetup, Level, Load, Outcome, Setup, Span, Striping, Workload};
use forebay_sim::{processors, sweep};

/// The policy that stands for no cache: what is under way takes memory all the same.
pub(crate) const NO_CACHE: &str = "no cache";

/// The client and its disks.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Disks {
    /// The disks, by the name of the one that is not aged.
    pub(crate) drive: String,
    /// How many.
    pub(crate) disks: u32,
    /// The first that is aged or turns slow, counted from zero: the paper's "disk 6" (§5.5).
    pub(crate) slow: u32,
    /// KiB of a stripe unit. Not said. With 8 a request of 256 KB has 16 KB on each disk, and the
    /// throughputs of Figs. 2 and 5 come out; Fig. 4 has "8 KB requests", each of which goes to one
    /// disk.
    pub(crate) stripe_kib: u64,
    /// A page of the cache, bytes: not said.
    pub(crate) page_bytes: u32,
    /// The cache, MiB (§4.4).
    pub(crate) cache_mib: u64,
    /// Memory without a cache, MiB: for what is under way.
    pub(crate) least_mib: u64,
    /// How many requests the client has outstanding. "High demand", "the completion of one disk
    /// request immediately triggers the next request" (§4.1): as many as there are disks, which
    /// keeps all of them at work.
    pub(crate) outstanding: u32,
    /// In which order a disk serves what waits. None is spoken of: first come, first served.
    pub(crate) scheduler: SchedulerKind,
    /// The part of a trace, at its beginning, that is not counted: by then the cache is full and
    /// partitions have their sizes.
    pub(crate) warm_up: f64,
}

impl Default for Disks {
    fn default() -> Disks {
        Disks {
            drive: "ibm-9lzx".to_owned(),
            disks: 16,
            slow: 6,
            stripe_kib: 8,
            page_bytes: 4096,
            cache_mib: 200,
            least_mib: 8,
            outstanding: 16,
            scheduler: SchedulerKind::None,
            warm_up: 0.25,
        }
    }
}

impl Disks {
    /// One run's setup. `policy` may be [`NO_CACHE`].
    pub(crate) fn setup(&self, policy: &str, old: Old, trace: &Workload, job: Job<'_>) -> Result<Setup, Error> {
        let (parsed, memory_mib) = if policy == NO_CACHE {
            (Policy::replacing(Replacement::Lru), self.least_mib)
        } else {
            (job.experiment.policy(policy)?, self.cache_mib)
        };
        let aged = if old.years == 0 { self.drive.clone() } else { format!("{}@{}", self.drive, old.years) };
        let (fresh, aged) = (device(&self.drive)?, device(&aged)?);
        let disk = |description| DeviceSetup { scheduler: self.scheduler, ..DeviceSetup::new(description) };
        let mut devices = vec![disk(fresh.clone()); self.disks.max(1) as usize];
        self.slow_ones(old.count).for_each(|number| devices[number] = disk(aged.clone()));
        let level = Level::new(parsed, memory_mib << 20);
        Ok(Setup {
            levels: vec![Level { link: Some(Default::default()), ..level }],
            block_bytes: self.page_bytes,
            devices,
            striping: Striping::Files(self.stripe_kib << 10),
            load: Load::closed(self.outstanding),
            warm_up: Some(Span::Requests(((trace.requests() as f64 * self.warm_up) as u64).max(1))),
            seed: job.context.seed,
            ..Setup::new(parsed, memory_mib << 20, fresh.clone(), self.outstanding)
        })
    }

    /// The numbers of the disks that are old, or turn slow, if so many do: from the first one on,
    /// round and round.
    pub(crate) fn slow_ones(&self, count: u32) -> impl Iterator<Item = usize> + use<> {
        let (slow, disks) = (self.slow, self.disks.max(1));
        (0..count.min(disks)).map(move |number| ((slow + number) % disks) as usize)
    }
}

/// So many of the disks, from the slow one on, are so many years old.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Old {
    pub(crate) count: u32,
    pub(crate) years: u32,
}

impl Old {
    /// One of so many years.
    pub(crate) fn one(years: u32) -> Old {
        Old { count: 1, years }
    }
}

/// The work of the client.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trace {
    /// The name in figures.
    pub(crate) name: String,
    /// The generator.
    pub(crate) workload: String,
    /// The parameters of the generator.
    #[serde(default, deserialize_with = "crate::given::texts")]
    pub(crate) parameters: BTreeMap<String, String>,
    /// The parameters instead if a small part will do.
    #[serde(default, deserialize_with = "crate::given::texts")]
    pub(crate) quick: BTreeMap<String, String>,
}

impl Trace {
    /// The trace; if a small part will do, a sixtieth of its requests.
    pub(crate) fn load(&self, experiment: &Experiment, context: &Context<'_>) -> Result<Workload, Error> {
        let mut parameters = self.parameters.clone();
        if let Some(requests) = parameters.get_mut("requests").filter(|_| context.quick) {
            *requests = (requests.parse().unwrap_or(0u64) / 60).max(100).to_string();
        }
        if context.quick {
            parameters.extend(self.quick.clone());
        }
        let given: Vec<Given<'_>> = parameters.iter().map(|(name, value)| Given { name, value }).collect();
        let source = generate::named(&self.workload, &given, context.seed);
        Ok(Workload::load(&mut source.map_err(|error| experiment.wrong(&error.to_string()))?)?)
    }
}

/// Traces, by their names.
pub(crate) type Loaded = BTreeMap<String, Workload>;

/// Loads all traces.
pub(crate) fn load(traces: &[Trace], experiment: &Experiment, context: &Context<'_>) -> Result<Loaded, Error> {
    traces.iter().map(|trace| Ok((trace.name.clone(), trace.load(experiment, context)?))).collect()
}

/// A run that is to be.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The name in figures, with all others of the same sweep.
    pub(crate) sweep: String,
    /// On which trace, by its name.
    pub(crate) trace: String,
    /// Which policy, as it is called in figures.
    pub(crate) policy: String,
    /// Where it stands on a figure's axis.
    pub(crate) at: f64,
    pub(crate) setup: Setup,
}

/// A run that was.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) sweep: String,
    pub(crate) policy: String,
    pub(crate) at: f64,
    pub(crate) outcome: Outcome,
}

/// The outcomes of all runs.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    pub(crate) points: Vec<Point>,
}

/// Runs every case, on all processors.
pub(crate) fn run(
    cases: Vec<Case>,
    traces: &Loaded,
    experiment: &Experiment,
    context: &Context<'_>,
) -> Result<Figures, Error> {
    let done = AtomicUsize::new(0);
    let one = |case: &Case| {
        let trace = traces.get(&case.trace);
        let trace = trace.ok_or_else(|| experiment.wrong(&format!("no trace is called `{}`", case.trace)))?;
        let outcome = timed::run(&case.setup, trace, context.watch)?;
        context.step(done.fetch_add(1, Ordering::Relaxed) + 1, cases.len())?;
        Ok(outcome)
    };
    let outcomes = sweep(&cases, processors(), || context.watch.stopped(), one);
    let outcomes: Vec<Outcome> =
        outcomes.into_iter().map(|outcome| outcome.unwrap_or(Err(Error::Stopped))).collect::<Result<_, _>>()?;
    let point = |(case, outcome): (Case, Outcome)| {
        let Case { sweep, policy, at, .. } = case;
        Point { sweep, policy, at, outcome }
    };
    Ok(Figures { points: cases.into_iter().zip(outcomes).map(point).collect() })
}

impl Figures {
    /// A figure of a policy along the axis of a sweep.
    pub(crate) fn line(&self, sweep: &str, policy: &str, of: impl Fn(&Outcome) -> f64) -> Line {
        let ours = self.points.iter().filter(|point| point.sweep == sweep && point.policy == policy);
        ours.map(|point| line::Point { at: point.at, value: of(&point.outcome) }).collect()
    }

    /// The throughput of a policy, 10^6 bytes a second.
    pub(crate) fn throughput(&self, sweep: &str, policy: &str) -> Line {
        self.line(sweep, policy, |outcome| outcome.throughput_mb_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment;

    fn trace(workload: &str, requests: u32) -> Trace {
        let parameters = BTreeMap::from([("requests".to_owned(), requests.to_string())]);
        Trace { name: workload.to_owned(), workload: workload.to_owned(), parameters, quick: BTreeMap::new() }
    }

    fn figures(trace: &Trace, cases: &[(&str, u32, u32)]) -> Figures {
        let (experiment, disks) = (experiment("sac-motive").unwrap(), Disks::default());
        let context = Context { seed: 1, quick: false, watch: &forebay_sim::Unwatched };
        let traces = load(std::slice::from_ref(trace), &experiment, &context).unwrap();
        let of = |&(policy, old, years): &(&str, u32, u32)| {
            let job = Job { experiment: &experiment, context: &context };
            let setup = disks.setup(policy, Old { count: old, years }, &traces[&trace.name], job).unwrap();
            let (sweep, trace) = (trace.name.clone(), trace.name.clone());
            Case { sweep, trace, policy: policy.to_owned(), at: years.into(), setup }
        };
        run(cases.iter().map(of).collect(), &traces, &experiment, &context).unwrap()
    }

    /// The time of 16 KB on each of 16 disks without a cache: 16 · 16 KB in 5.30 + 3.00 + 0.82
    /// ms, or in the 15.2 + 8.59 + 23.7 ms of a disk of ten years (SAC Table 2), for which all
    /// others wait.
    #[test]
    fn a_request_is_served_by_all_disks_and_the_oldest_says_how_fast() {
        let figures = figures(&trace("sac-1", 1500), &[(NO_CACHE, 0, 0), (NO_CACHE, 1, 10), (NO_CACHE, 16, 5)]);
        for (years, ms) in [(0, 9.12), (10, 47.5), (5, 18.46)] {
            let (got, wanted) = (figures.throughput("sac-1", NO_CACHE).at(years.into()), 0.256 * 1.024 / ms * 1e3);
            assert!((got / wanted - 1.0).abs() < 0.06, "{years} years: {got} MB/s instead of {wanted}");
        }
        assert_eq!(figures.throughput("sac-1", NO_CACHE).len(), 3);
        assert!(figures.throughput("sac-1", "lru").at(0.0).is_nan());
    }

    #[test]
    fn every_disk_has_its_part_of_the_requests() {
        let figures = figures(&trace("sac-3", 4000), &[("lazy-lru", 0, 0)]);
        let outcome = &figures.points[0].outcome;
        assert_eq!(outcome.devices.len(), 16);
        let bytes: Vec<u64> = outcome.devices.iter().map(|device| device.bytes).collect();
        // Requests begin around disk 7 and go on over those behind it.
        assert!(bytes[8] > 2 * bytes[0] && bytes[8] > 2 * bytes[1] && bytes[8] > 3 * bytes[15] / 2, "{bytes:?}");
    }

    #[test]
    fn disks_of_all_ages_hold_the_array() {
        let cases: Vec<(&str, u32, u32)> = (0..=10).map(|years| ("lru", 16, years)).collect();
        assert_eq!(figures(&trace("sac-2", 100), &cases).points.len(), 11);
    }

    #[test]
    fn slow_disks_are_counted_round_and_round() {
        let slow = |count| Disks { slow: 14, ..Disks::default() }.slow_ones(count).collect::<Vec<_>>();
        assert_eq!((slow(0), slow(4), slow(99).len()), (vec![], vec![14, 15, 0, 1], 16));
    }
}

//! The server of CP §3 and CPEM §5 as a simulation: a node with a drive, memory and two processors, request handlers that work
//! off a workload, kernels that prefetch by one policy or another; and sweeps over policies and numbers of handlers.
//!
//! What the papers say of it: "Each node is equipped with two 2 GHz Xeon processors, 2 GB memory, and a 36.4 GB IBM 10 KRPM SCSI
//! drive" (CP §3; CPEM §5 has 512 MB unless it says otherwise, and another drive that no experiment is said to use: all data
//! sets fit on the first). "Each thread reads disk files in certain pattern and access private memory of 1 MB" (CP §3.1). What
//! they don't say is chosen here, with its reason at the field, and may be said otherwise in an experiment's description.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_core::Policy;
use forebay_device::scheduler::SchedulerKind;
use forebay_device::{Description, device};
use forebay_trace::generate;
use serde::Deserialize;

use super::{Context, Error, Experiment};
use crate::chart::{Axis, Chart, Series};
use crate::timed::{DeviceSetup, Load, Outcome, Setup, Span, Workload, run};
use crate::{processors, sweep};

/// The server.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Server {
    /// The drive that the data set is on, packed from its beginning by the numbers of files, as a file system lays out what is
    /// written once.
    pub(super) drive: String,
    /// Before it. Both papers have measured with the elevator and with anticipation, as they corrected it (CPEM §6).
    pub(super) scheduler: SchedulerKind,
    /// Memory, MiB.
    pub(super) memory_mib: u64,
    /// Of that, what kernel and daemons have for themselves, MiB: assumed.
    pub(super) kernel_mib: u64,
    /// And what each request handler has, KiB.
    pub(super) private_kib: u64,
    /// A page, bytes: the unit of the cache, and what a read is copied by.
    pub(super) page_bytes: u32,
    /// Processors.
    pub(super) processors: u32,
    /// Processor time of a request, microseconds: a system call and a switch of threads; assumed.
    pub(super) cpu_us: u64,
    /// And for each KiB of it, nanoseconds: it is copied to the handler, who looks at it. Assumed: 500 MB/s for both together on
    /// a Xeon of 2003.
    pub(super) cpu_ns_per_kib: u64,
    /// Virtual seconds that do not count: caches fill.
    pub(super) warm_up_s: f64,
    /// Virtual seconds that count.
    pub(super) measured_s: f64,
}

impl Default for Server {
    fn default() -> Server {
        Server {
            drive: "ibm-10k".to_owned(),
            scheduler: SchedulerKind::Elevator,
            memory_mib: 2048,
            kernel_mib: 64,
            private_kib: 1024,
            page_bytes: 4096,
            processors: 2,
            cpu_us: 20,
            cpu_ns_per_kib: 2000,
            warm_up_s: 90.0,
            measured_s: 120.0,
        }
    }
}

/// A workload of `forebay_trace::generate`, by its name, with what differs from the defaults.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Benchmark {
    /// Its name.
    pub(super) workload: String,
    /// Its parameters. How many tasks there are is said by [`Sweep::tasks`].
    #[serde(default)]
    pub(super) parameters: BTreeMap<String, String>,
}

/// What is run: every policy with every number of handlers on every benchmark.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sweep {
    /// The workloads.
    pub(super) benchmarks: Vec<Benchmark>,
    /// Policies by their names, the one that others are compared with first.
    pub(super) policies: Vec<String>,
    /// Request handlers at work at a time.
    pub(super) handlers: Vec<u32>,
    /// Request handlers in all: more than are begun in the time that is simulated.
    pub(super) tasks: u32,
    /// Each point is run with so many seeds, which fix what is asked for; its figures are the means.
    pub(super) seeds: u32,
}

/// A point of a sweep, and what its runs gave.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) benchmark: String,
    pub(super) policy: String,
    pub(super) handlers: u32,
    /// A run a seed.
    pub(super) outcomes: Vec<Outcome>,
}

impl Point {
    /// The mean over its runs.
    pub(super) fn mean(&self, of: impl Fn(&Outcome) -> f64) -> f64 {
        self.outcomes.iter().map(of).sum::<f64>() / self.outcomes.len().max(1) as f64
    }

    /// What the application reads, 10^6 bytes a second.
    pub(super) fn throughput(&self) -> f64 {
        self.mean(|outcome| outcome.throughput_mb_s)
    }

    /// How long a request to the server takes, seconds.
    pub(super) fn response(&self) -> f64 {
        self.mean(|outcome| outcome.tasks.mean() / 1e9)
    }
}

/// All points of a sweep.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) points: Vec<Point>,
}

impl Server {
    /// One run's setup.
    pub(super) fn setup(&self, policy: Policy, handlers: u32, seed: u64) -> Result<Setup, Error> {
        let description: Description = device(&self.drive)?;
        let drive = DeviceSetup { scheduler: self.scheduler, ..DeviceSetup::new(description.clone()) };
        let memory = self.memory_mib.saturating_sub(self.kernel_mib) << 20;
        Ok(Setup {
            block_bytes: self.page_bytes,
            unit_bytes: Some(self.page_bytes),
            call_off: false,
            devices: vec![drive],
            load: Load::Closed {
                handlers,
                think_ns: None,
                cpu_ns: self.cpu_us * 1000,
                cpu_ns_per_kib: self.cpu_ns_per_kib,
                processors: self.processors,
                private_bytes: self.private_kib << 10,
            },
            warm_up: Some(Span::Seconds(self.warm_up_s)),
            limit: Some(Span::Seconds(self.warm_up_s + self.measured_s)),
            seed,
            ..Setup::new(policy, memory, description, handlers)
        })
    }
}

impl Benchmark {
    /// The workload itself.
    pub(super) fn load(&self, id: &str, tasks: u32, seed: u64) -> Result<Workload, Error> {
        let wrong = |reason: String| Error::Description { id: id.to_owned(), reason };
        let tasks = tasks.to_string();
        let parameters = self.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let parameters: Vec<(&str, &str)> = parameters.chain([("tasks", tasks.as_str())]).collect();
        let source = generate::named(&self.workload, &parameters, seed);
        Ok(Workload::load(&mut source.map_err(|error| wrong(error.to_string()))?)?)
    }
}

impl Sweep {
    /// Runs every point, on all processors.
    pub(super) fn run(&self, server: &Server, experiment: &Experiment, context: &Context<'_>) -> Result<Table, Error> {
        let id = experiment.id.as_str();
        let seeds: Vec<u64> = (0..u64::from(self.seeds)).map(|number| context.seed.wrapping_add(number)).collect();
        let loads: Vec<(usize, u64)> =
            (0..self.benchmarks.len()).flat_map(|number| seeds.iter().map(move |&seed| (number, seed))).collect();
        let load = |&(number, seed): &(usize, u64)| self.benchmarks[number].load(id, self.tasks, seed);
        let workloads = all(sweep(&loads, processors(), || context.watch.stopped(), load))?;
        let mut points = Vec::new();
        let mut runs = Vec::new();
        for (number, benchmark) in self.benchmarks.iter().enumerate() {
            for name in &self.policies {
                let policy: Policy = name.parse().map_err(|error: forebay_core::UnknownPolicy| Error::Description {
                    id: id.to_owned(),
                    reason: error.to_string(),
                })?;
                for &handlers in &self.handlers {
                    let (benchmark, policy_name) = (benchmark.workload.clone(), name.clone());
                    points.push(Point { benchmark, policy: policy_name, handlers, outcomes: Vec::new() });
                    let of =
                        |(at, &seed): (usize, &u64)| (number * seeds.len() + at, server.setup(policy, handlers, seed));
                    runs.extend(seeds.iter().enumerate().map(of));
                }
            }
        }
        let done = AtomicUsize::new(0);
        let one = |(workload, setup): &(usize, Result<Setup, Error>)| {
            let setup =
                setup.as_ref().map_err(|error| Error::Description { id: id.to_owned(), reason: error.to_string() })?;
            let outcome = run(setup, &workloads[*workload], context.watch)?;
            context.step(done.fetch_add(1, Ordering::Relaxed) + 1, runs.len())?;
            Ok(outcome)
        };
        let mut outcomes = all(sweep(&runs, processors(), || context.watch.stopped(), one))?.into_iter();
        points.iter_mut().for_each(|point| point.outcomes.extend(outcomes.by_ref().take(seeds.len())));
        Ok(Table { points })
    }
}

/// What every run gave, or why one of them gave nothing.
fn all<T>(results: Vec<Option<Result<T, Error>>>) -> Result<Vec<T>, Error> {
    results.into_iter().map(|result| result.unwrap_or(Err(Error::Stopped))).collect()
}

impl Table {
    /// One point.
    pub(super) fn at(&self, benchmark: &str, policy: &str, handlers: u32) -> Option<&Point> {
        let same =
            |point: &&Point| point.benchmark == benchmark && point.policy == policy && point.handlers == handlers;
        self.points.iter().find(same)
    }

    /// `of` a policy over that of another, for each number of handlers.
    pub(super) fn ratios(
        &self,
        benchmark: &str,
        (policy, other): (&str, &str),
        of: impl Fn(&Point) -> f64,
    ) -> Vec<(u32, f64)> {
        let ours = self.points.iter().filter(|point| point.benchmark == benchmark && point.policy == policy);
        let ratio = |point: &Point| {
            let theirs = self.at(benchmark, other, point.handlers)?;
            Some((point.handlers, of(point) / of(theirs)))
        };
        ours.filter_map(ratio).collect()
    }

    /// A picture as the papers have it: `of` over the number of handlers, a line a policy.
    pub(super) fn chart(&self, benchmark: &str, title: &str, unit: &str, of: impl Fn(&Point) -> f64) -> Chart {
        let mut series: Vec<Series> = Vec::new();
        for point in self.points.iter().filter(|point| point.benchmark == benchmark) {
            let at = (f64::from(point.handlers), of(point));
            match series.iter_mut().find(|line| line.name == point.policy) {
                Some(line) => line.points.push(at),
                None => series.push(Series { name: point.policy.clone(), points: vec![at] }),
            }
        }
        let x = Axis::logarithmic("request handlers at a time");
        Chart { title: title.to_owned(), x, y: Axis::linear(unit), series }
    }
}

//! The server of CP §3 and CPEM §5 as a simulation: a node with a drive, memory and two processors,
//! request handlers that work off a workload, kernels that prefetch by one policy or another; and
//! sweeps over policies and numbers of handlers.
//!
//! The papers say of it: "Each node is equipped with two 2 GHz Xeon processors, 2 GB memory,
//! and a 36.4 GB IBM 10 KRPM SCSI drive" (CP §3; CPEM §5 has 512 MB unless it says otherwise, and
//! another drive that no experiment is said to use: all data sets fit on the first). "Each thread
//! reads disk files in certain pattern and access private memory of 1 MB" (CP §3.1). The rest
//! is chosen here, with its reason at the field, and may be said otherwise in an
//! experiment's description.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_core::Policy;
use forebay_device::scheduler::SchedulerKind;
use forebay_device::{Description, device};
use forebay_trace::generate::{self, Given};
use serde::Deserialize;

use crate::books::Books;
use crate::line::{self, Line};
use crate::{Context, Error, Experiment};
use forebay_sim::chart::{Axis, Chart, Series};
use forebay_sim::timed::{
    DeviceSetup, Level, Load, Outcome, Placement, Setup, Span, Spread, Striping, Workload, run_recorded,
};
use forebay_sim::{processors, sweep};

/// The server.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Server {
    /// The drive that the data set is on, in files that lie each in one piece, one after the other
    /// from its beginning, as a file system lays out what is written once: assumed.
    pub(crate) drive: String,
    /// Whether there are gaps between them, equal ones, so that they reach over the whole drive.
    pub(crate) even: bool,
    /// So many of them; several are an array (RAID-0).
    pub(crate) drives: u32,
    /// KiB of its stripe.
    pub(crate) stripe_kib: u64,
    /// Before each. Both papers have measured with the elevator and with anticipation, as they
    /// corrected it (CPEM §6).
    pub(crate) scheduler: SchedulerKind,
    /// Memory, MiB.
    pub(crate) memory_mib: u64,
    /// Of that, what kernel and daemons have for themselves, MiB: assumed.
    pub(crate) kernel_mib: u64,
    /// Whether requests are worked off by a pool of processes; else a thread is spawned for each
    /// (CP §3.1).
    pub(crate) pool: bool,
    /// And what each request handler has of memory, KiB.
    pub(crate) private_kib: u64,
    /// A page, bytes: the unit of the cache, and what a read is copied by.
    pub(crate) page_bytes: u32,
    /// Processors.
    pub(crate) processors: u32,
    /// Processor time of a request, microseconds: a system call and a switch of threads; assumed.
    pub(crate) cpu_us: u64,
    /// And for each KiB of it, nanoseconds: it is copied to the handler, who looks at it. Assumed:
    /// 500 MB/s for both together on a Xeon of 2003.
    pub(crate) cpu_ns_per_kib: u64,
    /// The reads that count, MiB. Before that as much is read as memory holds, and a task of
    /// each handler.
    pub(crate) measured_mib: u64,
}

impl Default for Server {
    fn default() -> Server {
        Server {
            drive: "ibm-10k".to_owned(),
            even: false,
            drives: 1,
            stripe_kib: 64,
            scheduler: SchedulerKind::Elevator,
            memory_mib: 2048,
            kernel_mib: 64,
            pool: false,
            private_kib: 1024,
            page_bytes: 4096,
            processors: 2,
            cpu_us: 20,
            cpu_ns_per_kib: 2000,
            measured_mib: 1024,
        }
    }
}

/// Streams that are known for each handler: as many files as a task of any benchmark has open, and
/// some more.
const STREAMS: u32 = 8;

/// Tasks by which it is found out how long a workload's tasks are.
const SAMPLE: u64 = 500;

/// A workload of `forebay_trace::generate`, by its name, with what differs from the defaults.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Benchmark {
    /// Its name.
    pub(crate) workload: String,
    /// Its parameters; as many tasks as are needed.
    #[serde(default, deserialize_with = "crate::given::texts")]
    pub(crate) parameters: BTreeMap<String, String>,
}

/// The runs: every policy with every number of handlers on every benchmark.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sweep {
    /// The workloads.
    pub(crate) benchmarks: Vec<Benchmark>,
    /// Policies by their names, the one that others are compared with first.
    pub(crate) policies: Vec<String>,
    /// Request handlers at work at a time.
    pub(crate) handlers: Vec<u32>,
    /// Each point is run with so many seeds, which fix what is asked for; its figures are the
    /// means.
    pub(crate) seeds: u32,
}

/// The parameters of an experiment on the server.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    /// The differences from the server of CP §3.
    #[serde(default)]
    pub(crate) server: Server,
    pub(crate) sweep: Sweep,
}

impl Parameters {
    /// Runs the sweep. Quick, it is a small part of it.
    pub(crate) fn run(mut self, experiment: &Experiment, context: &Context<'_>) -> Result<Table, Error> {
        if context.quick {
            let handlers = &mut self.sweep.handlers;
            // More of them have no room in so little memory.
            handlers.retain(|&handlers| handlers <= 64);
            *handlers = [handlers.first(), handlers.get(handlers.len() / 2)].into_iter().flatten().copied().collect();
            handlers.dedup();
            self.sweep.seeds = 1;
            self.server.memory_mib = self.server.memory_mib.min(256);
            self.server.measured_mib /= 8;
        }
        self.sweep.run(&self.server, experiment, context)
    }
}

/// A point of a sweep, and what its runs gave.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) benchmark: String,
    pub(crate) policy: String,
    pub(crate) handlers: u32,
    /// A run a seed.
    pub(crate) outcomes: Vec<Outcome>,
    /// And its books.
    pub(crate) books: Vec<Books>,
}

impl Point {
    /// The mean over its runs.
    pub(crate) fn mean(&self, of: impl Fn(&Outcome) -> f64) -> f64 {
        self.outcomes.iter().map(of).sum::<f64>() / self.outcomes.len().max(1) as f64
    }

    /// The application's throughput, 10^6 bytes a second.
    pub(crate) fn throughput(&self) -> f64 {
        self.mean(|outcome| outcome.throughput_mb_s)
    }

    /// How long a request to the server takes, seconds.
    pub(crate) fn response(&self) -> f64 {
        self.mean(|outcome| outcome.tasks.mean() / 1e9)
    }

    /// Prefetched pages that were lost before they were read, a second, exactly counted.
    pub(crate) fn thrashing(&self) -> f64 {
        let rates = self.books.iter().zip(&self.outcomes).map(|(books, outcome)| books.thrashing(outcome));
        rates.sum::<f64>() / self.books.len().max(1) as f64
    }
}

/// All points of a sweep.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) points: Vec<Point>,
}

/// How long a run is, in reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    warm_up: u64,
    measured: u64,
    /// Tasks in all, more than are begun.
    tasks: u64,
}

impl Length {
    /// All of a workload, the first tenth apart.
    pub(crate) fn whole(workload: &Workload) -> Length {
        let warm_up = (workload.requests() / 10).max(1);
        Length { warm_up, measured: workload.requests(), tasks: workload.tasks() }
    }
}

impl Server {
    /// How long runs of a benchmark are with so many handlers, by a sample of it.
    fn length(&self, sample: &Workload, handlers: u32) -> Length {
        let reads_mib =
            |mib: u64| ((mib << 20) as f64 * sample.requests() as f64 / sample.read_bytes().max(1) as f64) as u64;
        let per_task = sample.requests() as f64 / sample.tasks().max(1) as f64;
        let begun = (f64::from(handlers) * per_task) as u64;
        let (warm_up, measured) = (reads_mib(self.memory_mib).max(begun).max(1), reads_mib(self.measured_mib).max(1));
        // A sample errs; and at the end all handlers must have something to do.
        let tasks = ((warm_up + measured) as f64 * 1.2 / per_task) as u64 + 2 * u64::from(handlers);
        Length { warm_up, measured, tasks }
    }

    /// One run's setup.
    pub(crate) fn setup(&self, mut policy: Policy, handlers: u32, length: Length, seed: u64) -> Result<Setup, Error> {
        let description: Description = device(&self.drive)?;
        let drive = DeviceSetup { scheduler: self.scheduler, ..DeviceSetup::new(description.clone()) };
        let spread = if self.even { Spread::Even } else { Spread::Packed };
        let memory = self.memory_mib.saturating_sub(self.kernel_mib) << 20;
        if let Some(settings) = policy.reclaim.settings_mut() {
            // "25% of the total physical memory" (CPEM §4.1), of which the core knows but what is
            // left for the cache.
            let left = memory.saturating_sub((self.private_kib << 10) * u64::from(handlers)).max(1);
            settings.start = (u64::from(settings.start) * (self.memory_mib << 20) / left).min(100) as u8;
        }
        Ok(Setup {
            block_bytes: self.page_bytes,
            unit_bytes: Some(self.page_bytes),
            streams: Some(handlers.saturating_mul(STREAMS)),
            call_off: false,
            devices: vec![drive; self.drives.max(1) as usize],
            striping: if self.drives > 1 { Striping::Array(self.stripe_kib << 10) } else { Striping::Off },
            placement: Placement { spread, ..Placement::default() },
            load: Load::Closed {
                handlers,
                think_ns: None,
                cpu_ns: self.cpu_us * 1000,
                cpu_ns_per_kib: self.cpu_ns_per_kib,
                processors: self.processors,
                pool: self.pool,
                private_bytes: self.private_kib << 10,
            },
            warm_up: Some(Span::Requests(length.warm_up)),
            limit: Some(Span::Requests(length.warm_up + length.measured)),
            seed,
            ..Setup::new(policy, memory, description, handlers)
        })
    }
}

impl Server {
    /// The same machine for one program that has nothing to itself but so much cache: all of a
    /// trace counts, an empty cache first.
    pub(crate) fn alone(&self, policy: Policy, cache_bytes: u64, seed: u64) -> Result<Setup, Error> {
        let server = Server { private_kib: 0, kernel_mib: 0, ..self.clone() };
        let setup = server.setup(policy, 1, Length { warm_up: 1, measured: 1, tasks: 1 }, seed)?;
        let levels = vec![Level::new(policy, cache_bytes)];
        Ok(Setup { levels, streams: None, warm_up: None, limit: None, ..setup })
    }
}

impl Benchmark {
    /// The workload itself.
    pub(crate) fn load(&self, id: &str, tasks: u64, seed: u64) -> Result<Workload, Error> {
        let wrong = |reason: String| Error::Description { id: id.to_owned(), reason };
        let tasks = tasks.to_string();
        let parameters = self.parameters.iter().map(|(name, value)| Given { name, value });
        let parameters: Vec<Given<'_>> = parameters.chain([Given { name: "tasks", value: &tasks }]).collect();
        let source = generate::named(&self.workload, &parameters, seed);
        Ok(Workload::load(&mut source.map_err(|error| wrong(error.to_string()))?)?)
    }
}

impl Sweep {
    /// Runs every point, on all processors.
    pub(crate) fn run(&self, server: &Server, experiment: &Experiment, context: &Context<'_>) -> Result<Table, Error> {
        let id = experiment.id.as_str();
        let seeds: Vec<u64> = (0..u64::from(self.seeds)).map(|number| context.seed.wrapping_add(number)).collect();
        let loads: Vec<(usize, u64)> =
            (0..self.benchmarks.len()).flat_map(|number| seeds.iter().map(move |&seed| (number, seed))).collect();
        let samples: Vec<Workload> = self
            .benchmarks
            .iter()
            .map(|benchmark| benchmark.load(id, SAMPLE, context.seed))
            .collect::<Result<_, _>>()?;
        let length = |number: usize, handlers: u32| server.length(&samples[number], handlers);
        let most = self.handlers.iter().copied().max().unwrap_or(1);
        let load = |&(number, seed): &(usize, u64)| self.benchmarks[number].load(id, length(number, most).tasks, seed);
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
                    points.push(Point {
                        benchmark,
                        policy: policy_name,
                        handlers,
                        outcomes: Vec::new(),
                        books: Vec::new(),
                    });
                    let of = |(at, &seed): (usize, &u64)| {
                        (number * seeds.len() + at, server.setup(policy, handlers, length(number, handlers), seed))
                    };
                    runs.extend(seeds.iter().enumerate().map(of));
                }
            }
        }
        let done = AtomicUsize::new(0);
        let one = |(workload, setup): &(usize, Result<Setup, Error>)| {
            let setup =
                setup.as_ref().map_err(|error| Error::Description { id: id.to_owned(), reason: error.to_string() })?;
            let mut books = Books::default();
            let outcome = run_recorded(setup, &workloads[*workload], context.watch, &mut books)?;
            context.step(done.fetch_add(1, Ordering::Relaxed) + 1, runs.len())?;
            Ok((outcome, books.close()))
        };
        let mut given = all(sweep(&runs, processors(), || context.watch.stopped(), one))?.into_iter();
        for point in &mut points {
            (point.outcomes, point.books) = given.by_ref().take(seeds.len()).unzip();
        }
        Ok(Table { points })
    }
}

/// The result of every run, or why one of them gave nothing.
fn all<T>(results: Vec<Option<Result<T, Error>>>) -> Result<Vec<T>, Error> {
    results.into_iter().map(|result| result.unwrap_or(Err(Error::Stopped))).collect()
}

impl Table {
    /// `of` a policy, for each number of handlers.
    pub(crate) fn line(&self, benchmark: &str, policy: &str, of: impl Fn(&Point) -> f64) -> Line {
        let ours = self.points.iter().filter(|point| point.benchmark == benchmark && point.policy == policy);
        ours.map(|point| line::Point { at: point.handlers.into(), value: of(point) }).collect()
    }

    /// The throughput of a policy over that of another, for each number of handlers.
    pub(crate) fn ratios(&self, benchmark: &str, policy: &str, other: &str) -> Line {
        let line = |policy| self.line(benchmark, policy, Point::throughput);
        line(policy).over(&line(other))
    }

    /// The names of the benchmarks, in order.
    pub(crate) fn benchmarks(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.points.iter().map(|point| point.benchmark.as_str()).collect();
        names.dedup();
        names
    }

    /// The numbers of handlers.
    pub(crate) fn handlers(&self) -> Vec<u32> {
        let mut counts: Vec<u32> = self.points.iter().map(|point| point.handlers).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// A picture as the papers have it: `of` over the number of handlers, a line a policy.
    pub(crate) fn chart(&self, benchmark: &str, title: &str, unit: &str, of: impl Fn(&Point) -> f64) -> Chart {
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

/// `+18 %`.
pub(crate) fn percent(ratio: f64) -> String {
    format!("{:+.0} %", (ratio - 1.0) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment;

    fn parameters(policies: &[&str]) -> Parameters {
        let text = format!(
            "sweep = {{ policies = {policies:?}, handlers = [1, 8], seeds = 2, benchmarks = [{{ workload = \"one-whole-0\", \
             parameters = {{ files = \"500\" }} }}] }}\nserver = {{ memory_mib = 128, measured_mib = 64 }}"
        );
        toml::from_str(&text).expect("parameters")
    }

    fn table(policies: &[&str], seed: u64) -> Result<Table, Error> {
        let context = Context { seed, quick: false, watch: &forebay_sim::Unwatched };
        parameters(policies).run(&experiment("cp-micro")?, &context)
    }

    /// CP §3.2: twice the throughput on whole files, nothing to gain by a handler alone; and
    /// response times that say the same, since nobody thinks.
    #[test]
    fn a_sweep_compares_kernels() {
        let table = table(&["linux", "competitive"], 1).unwrap();
        assert_eq!((table.points.len(), table.handlers(), table.benchmarks()), (4, vec![1, 8], vec!["one-whole-0"]));
        let gain = table.ratios("one-whole-0", "competitive", "linux");
        assert!(gain.at(1.0) > 0.95 && gain.at(1.0) < 1.05 && gain.at(8.0) > 1.5, "{gain:?}");
        let [ours, theirs] = ["competitive", "linux"].map(|policy| table.line("one-whole-0", policy, Point::response));
        let response = ours.over(&theirs);
        assert!((response.at(8.0) * gain.at(8.0) - 1.0).abs() < 0.15, "{response:?} and {gain:?}");
        for point in &table.points {
            assert!(point.outcomes.len() == 2 && point.outcomes[0] != point.outcomes[1], "a run a seed");
            assert!(point.outcomes.iter().all(|outcome| outcome.bytes >= 63 << 20 && outcome.called_off == 0));
        }
        let chart = table.chart("one-whole-0", "t", "MB/s", Point::throughput);
        assert_eq!(chart.series.iter().map(|line| line.points.len()).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn the_same_seed_gives_the_same_table() {
        let outcomes = |seed| table(&["linux"], seed).unwrap().points.remove(1).outcomes;
        assert_eq!(outcomes(3), outcomes(3));
        assert_ne!(outcomes(3), outcomes(5));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let error = table(&["linux", "psychic"], 1).unwrap_err().to_string();
        assert!(error.starts_with("experiment `cp-micro`: unknown policy 'psychic'"), "{error}");
        let mut wrong = parameters(&["linux"]);
        wrong.sweep.benchmarks[0].parameters.insert("colour".to_owned(), "red".to_owned());
        let context = Context { seed: 1, quick: false, watch: &forebay_sim::Unwatched };
        let error = wrong.run(&experiment("cp-micro").unwrap(), &context).unwrap_err().to_string();
        assert!(error.contains("cp-micro") && error.contains("colour"), "{error}");
        let mut poor = parameters(&["linux"]);
        poor.server.memory_mib = 65;
        assert!(poor.run(&experiment("cp-micro").unwrap(), &context).unwrap_err().to_string().contains("memory"));
    }
}

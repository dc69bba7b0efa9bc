//! Programs of several kinds side by side on one machine: who gets how much of it under which
//! policy (auto-mixed, auto-ablation).

use forebay_core::{Action, Event, EventKind, Instant, Policy};
use forebay_device::device;
use forebay_trace::{Memory, Request, Shape, Source};
use serde::Deserialize;

use crate::line::geometric_mean;
use crate::raid::Part;
use crate::recorded::Recorded;
use crate::{Context, Error, Job};
use forebay_sim::timed::{
    DeviceSetup, Load, Mapping, Outcome, Placement, Record, Setup, Span, Spread, Workload, run_recorded,
};
use forebay_sim::{processors, sweep};

/// A processor's work on an answer, nanoseconds: a call, and a copy at 2 GB/s; four of them.
/// Assumed.
const CPU_NS: u64 = 10_000;
const CPU_NS_PER_KIB: u64 = 500;
const PROCESSORS: u32 = 4;

/// A machine and what runs on it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mixture {
    /// Its devices, each behind an elevator; a policy sees them apart.
    devices: Vec<String>,
    /// Memory for the cache, MiB: a run each.
    pub(crate) memory_mib: Vec<u64>,
    /// How long it is run, and what of that is not counted.
    seconds: f64,
    warm_up: f64,
    /// The programs on it. Those with short tasks come last: they wait for a handler until all
    /// others have theirs.
    components: Vec<Component>,
}

/// A kind of program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Component {
    name: String,
    work: Work,
    /// On which of the devices its files are.
    #[serde(default)]
    device: usize,
    /// How many of it are at work at a time.
    programs: u32,
    /// Whether each of these does one long task, or all of them work off short ones as they come.
    short: bool,
    calls: Calls,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Work {
    /// A generated workload; its tasks are dealt to long programs in turn.
    Generated(Part),
    /// A recorded one, by one program in the order of the recording, which computes so many times
    /// as fast as when it was recorded.
    Recorded { workload: String, faster: u64 },
}

/// From where in the program a component reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Calls {
    /// From one place.
    One,
    /// From one place its first file, from another one all others.
    Two,
    /// As recorded.
    Recorded,
}

/// The outcome of one run.
#[derive(Clone, Debug)]
pub(crate) struct Mixed {
    pub(crate) outcome: Outcome,
    /// The throughput of each component, 10^6 bytes a second.
    pub(crate) shares: Vec<f64>,
}

impl Mixed {
    /// The geometric mean of what the components got.
    pub(crate) fn progress(&self) -> f64 {
        geometric_mean(self.shares.iter().copied())
    }
}

/// Files are numbered by component, and by device, which they lie on by that.
const FILES: u64 = 1 << 24;

impl Mixture {
    pub(crate) fn components(&self) -> impl Iterator<Item = &str> {
        self.components.iter().map(|component| component.name.as_str())
    }

    /// Runs every policy with every size of memory.
    pub(crate) fn run(&self, policies: &[String], job: Job<'_>) -> Result<Vec<Vec<Mixed>>, Error> {
        let Job { experiment, context } = job;
        let workload = self.workload(job)?;
        let mut setups = Vec::new();
        for name in policies {
            let policy = experiment.policy(name)?;
            for &memory in &self.memory_mib {
                setups.push(self.setup(policy, memory, context)?);
            }
        }
        let one = |setup: &Setup| {
            let mut shares = Shares::new(self, &workload, setup);
            let outcome = run_recorded(setup, &workload, context.watch, &mut shares)?;
            let shares = shares.bytes.iter().map(|&bytes| bytes as f64 / 1e6 / outcome.seconds).collect();
            Ok(Mixed { outcome, shares })
        };
        let runs = sweep(&setups, processors(), || context.watch.stopped(), one);
        let runs: Vec<Mixed> =
            runs.into_iter().map(|run| run.unwrap_or(Err(Error::Stopped))).collect::<Result<_, _>>()?;
        Ok(runs.chunks(self.memory_mib.len().max(1)).map(<[Mixed]>::to_vec).collect())
    }

    fn setup(&self, policy: Policy, memory_mib: u64, context: &Context<'_>) -> Result<Setup, Error> {
        let descriptions = self.devices.iter().map(|name| device(name)).collect::<Result<Vec<_>, _>>()?;
        let first = descriptions.first().cloned().ok_or(Error::Stopped)?;
        let handlers = self.components.iter().map(|component| component.programs).sum();
        let shorter = if context.quick { 0.1 } else { 1.0 };
        Ok(Setup {
            devices: descriptions.into_iter().map(DeviceSetup::new).collect(),
            placement: Placement { mapping: Mapping::Modulo, spread: Spread::Packed },
            load: Load::Closed {
                handlers,
                think_ns: None,
                cpu_ns: CPU_NS,
                cpu_ns_per_kib: CPU_NS_PER_KIB,
                processors: PROCESSORS,
                pool: false,
                private_bytes: 0,
            },
            warm_up: Some(Span::Seconds(self.warm_up * shorter)),
            limit: Some(Span::Seconds(self.seconds * shorter)),
            seed: context.seed,
            ..Setup::new(policy, memory_mib << 20, first, handlers)
        })
    }

    /// All components' requests, those of each with files, programs and contexts of their own.
    fn workload(&self, job: Job<'_>) -> Result<Workload, Error> {
        let (mut requests, mut sizes) = (Vec::<Request>::new(), Vec::new());
        let (mut handlers, mut contexts) = (0, 0);
        for (number, component) in (0..).zip(&self.components) {
            let (begin, devices) = (requests.len(), self.devices.len().max(1) as u64);
            let file = |file: u64| (number * FILES + file) * devices + component.device as u64;
            sizes.extend(component.work.read(&mut requests, job)?.into_iter().map(|(name, bytes)| (file(name), bytes)));
            let programs = if component.short { u32::MAX } else { component.programs.max(1) };
            for request in &mut requests[begin..] {
                let call = match component.calls {
                    Calls::One => 1,
                    Calls::Two => 1 + u32::from(request.file > 0),
                    Calls::Recorded => request.context,
                };
                request.context = contexts + call;
                request.handler = handlers + 1 + request.handler.saturating_sub(1) % programs;
                request.file = file(request.file);
            }
            let mine = &requests[begin..];
            handlers = mine.iter().map(|request| request.handler).max().unwrap_or(handlers);
            contexts = mine.iter().map(|request| request.context).max().unwrap_or(contexts);
        }
        let mut workload = Workload::load(&mut Memory::new(requests, Shape::Ranges { block_bytes: 4096 }))?;
        sizes.into_iter().for_each(|(file, bytes)| workload.lengthen(file, bytes));
        Ok(workload)
    }
}

impl Work {
    /// Appends its requests; files with their sizes.
    fn read(&self, requests: &mut Vec<Request>, job: Job<'_>) -> Result<Vec<(u64, u64)>, Error> {
        match self {
            Work::Generated(part) => {
                let mut source = part.source(job.context.seed, job.experiment)?;
                while source.read(requests).map_err(forebay_trace::WorkloadError::from)? > 0 {}
                Ok(source.files().iter().map(|file| (file.file, file.bytes.unwrap_or(0))).collect())
            }
            Work::Recorded { workload, faster } => {
                let recorded = Recorded::load(workload, job.experiment, job.context)?;
                // A program that was recorded long after it began thinks as long before its first
                // request as any other: not at all.
                let pace = |request: &Request| Request {
                    at: Instant(request.at.0 / (*faster).max(1)),
                    handler: 1,
                    ..*request
                };
                requests.extend(recorded.requests().iter().map(pace));
                Ok(Vec::new())
            }
        }
    }
}

/// The share that each component reads.
struct Shares {
    from: Instant,
    /// By the number of a file, and by that of a read with its bytes.
    components: Vec<usize>,
    asked: Vec<(usize, u32)>,
    bytes: Vec<u64>,
}

impl Shares {
    fn new(mixture: &Mixture, workload: &Workload, setup: &Setup) -> Shares {
        let devices = mixture.devices.len().max(1) as u64;
        let component = |file: &forebay_trace::workload::File| (file.name / devices / FILES) as usize;
        let Some(Span::Seconds(warm_up)) = setup.warm_up else { unreachable!("set above") };
        Shares {
            from: Instant((warm_up * 1e9) as u64),
            components: workload.file_table().iter().map(component).collect(),
            asked: Vec::new(),
            bytes: vec![0; mixture.components.len()],
        }
    }
}

impl Record for Shares {
    fn record(&mut self, _level: usize, event: Event, actions: &[Action]) {
        if let EventKind::Read { read, file, len, .. } = event.kind {
            if self.asked.len() <= read.index() {
                self.asked.resize(read.index() + 1, (0, 0));
            }
            self.asked[read.index()] = (self.components[file.index()], len);
        }
        if event.at < self.from {
            return;
        }
        for action in actions {
            if let Action::Ready { read } = action
                && let Some(&(component, len)) = self.asked.get(read.index())
            {
                self.bytes[component] += u64::from(len);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment;
    use forebay_sim::Unwatched;

    fn mixture() -> Mixture {
        let text = r#"
            devices = ["ibm-10k", "ssd"]
            memory_mib = [16, 64]
            seconds = 4.0
            warm_up = 1.0
            [[components]]
            name = "loop"
            work.generated = { workload = "sequential", parameters = { files = "2", bytes = "8000000", tasks = "600" } }
            device = 1
            programs = 2
            short = false
            calls = "one"
            [[components]]
            name = "files"
            work.generated = { workload = "one-whole-0", parameters = { files = "500", tasks = "400" } }
            programs = 3
            short = true
            calls = "two"
        "#;
        toml::from_str(text).expect("a mixture")
    }

    #[test]
    fn parts_have_programs_places_and_devices_of_their_own() {
        let (experiment, context) =
            (experiment("auto-mixed").unwrap(), Context { seed: 1, quick: false, watch: &Unwatched });
        let workload = mixture().workload(Job { experiment: &experiment, context: &context }).unwrap();
        assert_eq!(workload.tasks(), 2 + 400, "two long tasks, and short ones");
        let devices: Vec<u64> = workload.file_table().iter().map(|file| file.name % 2).collect();
        assert_eq!(devices.iter().filter(|&&device| device == 1).count(), 2);
        let contexts: std::collections::BTreeSet<u32> =
            (0..workload.requests()).map(|at| workload.entry(at as u32).context).collect();
        assert_eq!(contexts.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn what_the_parts_get_is_what_all_get() {
        let (experiment, context) =
            (experiment("auto-mixed").unwrap(), Context { seed: 1, quick: false, watch: &Unwatched });
        let policies = ["linux", "none"].map(str::to_owned);
        let runs = mixture().run(&policies, Job { experiment: &experiment, context: &context }).unwrap();
        for run in runs.iter().flatten() {
            let sum: f64 = run.shares.iter().sum();
            assert!((sum / run.outcome.throughput_mb_s - 1.0).abs() < 0.02, "{run:?}");
            assert!((run.progress() - (run.shares[0] * run.shares[1]).sqrt()).abs() < 1e-9);
        }
        let [linux, none] = runs.as_slice() else { panic!("two policies") };
        assert!(linux[0].progress() > 1.2 * none[0].progress(), "{linux:?} {none:?}");
    }
}

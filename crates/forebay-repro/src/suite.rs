//! Today's loads on today's devices: every load on every device, with memory for several shares of
//! what it reads, under every policy. A *cell* is one load on one device with one memory.
//!
//! Each cell has a bound that no policy passes over the whole of a load: the readers get their
//! bytes no faster than the device transfers, at its peak rate, the blocks that Belady's policy
//! misses.

mod checked;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use forebay_core::Instant;
use forebay_device::{Request, device};
use forebay_sim::timed::{Load as Readers, Outcome, Setup, Span, Workload, run};
use forebay_sim::untimed::{self, Algorithm, Capacity, Options};
use forebay_sim::{processors, sweep};
use forebay_trace::{Memory, Shape, Source};
use serde::Deserialize;

use crate::raid::Part;
use crate::{Error, Experiment, Job};

pub(crate) use checked::place;

/// Bytes of a block, as in every simulation with time.
const BLOCK: u64 = 4096;

/// The runs: every load with every policy on every device.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suite {
    pub(crate) loads: Vec<Load>,
    /// By name.
    pub(crate) devices: Vec<String>,
    /// Memory, as a share of the distinct blocks that a load reads.
    pub(crate) memory: Vec<f64>,
    pub(crate) policies: Vec<String>,
    /// Policies that are shown beside these, and count for no best.
    #[serde(default)]
    pub(crate) beside: Vec<String>,
}

/// A load, generated or from a file, and how many read it at a time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Load {
    pub(crate) name: String,
    /// A kind of generated trace, and what is said to it.
    #[serde(default)]
    workload: Option<String>,
    #[serde(default, deserialize_with = "crate::given::texts")]
    parameters: BTreeMap<String, String>,
    /// Or a file of any format that is told by its name and content.
    #[serde(default)]
    trace: Option<PathBuf>,
    pub(crate) handlers: u32,
    /// Whether a reader does one task after another; else each task has a reader of its own.
    #[serde(default)]
    pool: bool,
    /// The first requests, which are not counted.
    #[serde(default)]
    warm_up: u64,
}

/// A load on a device with a memory, and what came of each policy there.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) load: String,
    pub(crate) device: String,
    /// The share of the load's distinct blocks that memory holds.
    pub(crate) memory: f64,
    /// The share of references that Belady's policy misses with that memory, all of the load
    /// counted.
    pub(crate) opt: f64,
    /// The throughput that no policy passes, 10^6 bytes a second.
    pub(crate) bound: f64,
    /// Lines of the load's file that are no requests.
    pub(crate) left_out: u64,
    /// In the order of [`Suite::all`].
    pub(crate) outcomes: Vec<Outcome>,
    /// How many of them count: those of [`Suite::policies`].
    pub(crate) counted: usize,
}

impl Cell {
    /// Throughput of a policy by its place, 10^6 bytes a second.
    pub(crate) fn rate(&self, policy: usize) -> f64 {
        self.outcomes.get(policy).map_or(f64::NAN, |outcome| outcome.throughput_mb_s)
    }

    /// That of the best that counts.
    pub(crate) fn best(&self) -> f64 {
        self.best_of(self.counted)
    }

    /// That of the best, if those beside counted as well.
    pub(crate) fn best_of_all(&self) -> f64 {
        self.best_of(self.outcomes.len())
    }

    fn best_of(&self, many: usize) -> f64 {
        self.outcomes.iter().take(many).map(|outcome| outcome.throughput_mb_s).fold(f64::NAN, f64::max)
    }
}

/// A load as it is run, and what is known of it.
pub(crate) struct Loaded {
    pub(crate) workload: Workload,
    distinct: u64,
    /// Lines of its file that are no requests.
    left_out: u64,
    /// By memory: the share of references that Belady's policy misses.
    opt: Vec<f64>,
}

/// A run: its cell by numbers, and a policy.
struct Run {
    load: usize,
    setup: Setup,
}

/// The cells that were simulated last, and of what: two claims judge the same ones.
static LATEST: Mutex<Option<Known>> = Mutex::new(None);

struct Known {
    of: String,
    cells: Arc<Vec<Cell>>,
}

impl Suite {
    /// Simulates all of it, unless that was done for the claim before.
    pub(crate) fn run(&self, job: Job<'_>) -> Result<Arc<Vec<Cell>>, Error> {
        let of = format!("{self:?} {} {}", job.context.seed, job.context.quick);
        let latest = || LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = latest().as_ref().filter(|known| known.of == of) {
            return Ok(known.cells.clone());
        }
        let cells = Arc::new(self.simulate(job)?);
        *latest() = Some(Known { of, cells: cells.clone() });
        Ok(cells)
    }

    /// The policies that count, then those beside.
    pub(crate) fn all(&self) -> impl Iterator<Item = &String> + Clone {
        self.policies.iter().chain(&self.beside)
    }

    /// A small part that runs in seconds.
    pub(crate) fn thinned(&self, policy: &str) -> Suite {
        let keep = |list: &[String], many: usize| list.iter().take(many).cloned().collect();
        let asked = |name: &&String| *name == policy;
        let few = self.policies.iter().filter(asked).chain(self.policies.iter().filter(|name| !asked(name)).take(2));
        Suite {
            loads: self.loads.iter().take(2).cloned().collect(),
            devices: keep(&self.devices, 1),
            memory: self.memory.iter().take(1).copied().collect(),
            policies: few.cloned().collect(),
            beside: keep(&self.beside, 1),
        }
    }

    fn simulate(&self, job: Job<'_>) -> Result<Vec<Cell>, Error> {
        let loaded = self.loads.iter().map(|load| load.load(&self.memory, job)).collect::<Result<Vec<_>, _>>()?;
        let mut runs = Vec::new();
        let mut cells = Vec::new();
        for (number, (load, known)) in self.loads.iter().zip(&loaded).enumerate() {
            for name in &self.devices {
                for (&memory, &opt) in self.memory.iter().zip(&known.opt) {
                    let bound = known.bound(name, opt)?;
                    let (load_name, device) = (load.name.clone(), name.clone());
                    let (counted, outcomes) = (self.policies.len(), Vec::new());
                    let left_out = known.left_out;
                    cells.push(Cell { load: load_name, device, memory, opt, bound, left_out, outcomes, counted });
                    for policy in self.all() {
                        let setup = load.setup(policy, name, known.bytes(memory), job)?;
                        runs.push(Run { load: number, setup });
                    }
                }
            }
        }
        let done = AtomicUsize::new(0);
        let one = |one: &Run| {
            let outcome = run(&one.setup, &loaded[one.load].workload, job.context.watch)?;
            job.context.step(done.fetch_add(1, Ordering::Relaxed) + 1, runs.len())?;
            Ok::<_, Error>(outcome)
        };
        let outcomes = sweep(&runs, processors(), || job.context.watch.stopped(), one);
        let mut outcomes = outcomes.into_iter().map(|outcome| outcome.unwrap_or(Err(Error::Stopped)));
        for cell in &mut cells {
            cell.outcomes = outcomes.by_ref().take(self.all().count()).collect::<Result<_, _>>()?;
        }
        Ok(cells)
    }
}

impl Load {
    fn source(&self, seed: u64, experiment: &Experiment) -> Result<Box<dyn Source>, Error> {
        if let Some(path) = &self.trace {
            return Ok(forebay_trace::open(path, &forebay_trace::Options::default())?);
        }
        let workload = self.workload.clone().unwrap_or_default();
        let part = Part { workload, parameters: self.parameters.clone() };
        Ok(Box::new(part.source(seed, experiment)?))
    }

    /// Generates or reads it. `memory` is for what sizes Belady's policy is replayed.
    pub(crate) fn load(&self, memory: &[f64], job: Job<'_>) -> Result<Loaded, Error> {
        let Job { experiment, context } = job;
        let mut source = self.source(context.seed, experiment)?;
        let mut requests = Vec::new();
        while source.read(&mut requests)? > 0 {}
        if self.warm_up >= requests.len() as u64 {
            let reason = format!("load `{}`: no request is left after `warm_up`: it has {}", self.name, requests.len());
            return Err(experiment.wrong(&reason));
        }
        // As in every simulation with time, an object is a file, and blocks are of one size.
        let shape = Shape::Ranges { block_bytes: BLOCK as u32 };
        let read = || Memory::new(requests.clone(), shape);
        let mut workload = Workload::load(&mut read())?;
        source.files().iter().for_each(|file| workload.lengthen(file.file, file.bytes.unwrap_or(0)));
        let open = || Ok(Box::new(read()) as Box<dyn Source>);
        let size = untimed::size(&open, &Options::default(), context.watch)?.ok_or(Error::Stopped)?;
        let distinct = u64::from(size.distinct);
        let of = |&share: &f64| untimed::Run {
            algorithm: Algorithm::Opt,
            capacity: Capacity::Blocks(frames(distinct, share)),
        };
        let runs: Vec<untimed::Run> = memory.iter().map(of).collect();
        let opt = untimed::replay(&open, &Options::default(), &runs, context.watch)?;
        let reading = source.reading().unwrap_or_default();
        let left_out = reading.left_out.iter().map(|left_out| left_out.lines).sum();
        Ok(Loaded { workload, distinct, left_out, opt: opt.iter().map(|outcome| outcome.miss_ratio).collect() })
    }

    fn setup(&self, policy: &str, on: &str, bytes: u64, job: Job<'_>) -> Result<Setup, Error> {
        let setup = self.over(Setup::new(job.experiment.policy(policy)?, bytes, device(on)?, self.handlers));
        Ok(Setup { seed: job.context.seed, ..setup })
    }

    /// A setup for it: its readers and its warm-up.
    pub(crate) fn over(&self, mut setup: Setup) -> Setup {
        if let Readers::Closed { pool, .. } = &mut setup.load {
            *pool = self.pool;
        }
        setup.warm_up = (self.warm_up > 0).then_some(Span::Requests(self.warm_up));
        setup
    }
}

/// The blocks that a share of so many is, at least one.
fn frames(distinct: u64, share: f64) -> u64 {
    ((distinct as f64 * share) as u64).max(1)
}

impl Loaded {
    /// Bytes of a share of its distinct blocks.
    pub(crate) fn bytes(&self, share: f64) -> u64 {
        frames(self.distinct, share) * BLOCK
    }

    /// 10^6 bytes a second, if the device has to bring a share `opt` of all that is read.
    fn bound(&self, on: &str, opt: f64) -> Result<f64, Error> {
        Ok(peak(on)? / 1e6 / opt.max(f64::MIN_POSITIVE))
    }
}

/// The most bytes a second that a device transfers: large reads side by side, from its first byte.
fn peak(on: &str) -> Result<f64, Error> {
    const READS: u64 = 256;
    const BYTES: u64 = 4 << 20;
    let mut model = device(on)?.build(1)?;
    let mut end = Instant(0);
    for read in 0..READS {
        // A device that serves one request at a time gets the next one when it is free.
        let at = if model.channels() > 1 { Instant(0) } else { end };
        end = end.max(model.serve(at, Request::read(read * BYTES, BYTES)));
    }
    Ok((READS * BYTES) as f64 / (end.0 as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, experiment};
    use forebay_sim::Unwatched;

    /// A load, on a store and on a disk, with little memory and much.
    #[test]
    fn no_policy_passes_the_bound_and_a_second_claim_runs_nothing_anew() {
        let suite: Suite = toml::from_str(
            r#"
            devices = ["object-store", "ibm-10k"]
            memory = [0.1, 0.8]
            policies = ["auto", "none+lru"]
            beside = ["aggressive+arc"]
            loads = [{ name = "epochs", workload = "epochs", parameters = { tasks = "3000", samples = "1000" }, handlers = 8 }]
            "#,
        )
        .expect("a suite");
        let (experiment, context) =
            (experiment("today-best").unwrap(), Context { seed: 1, quick: false, watch: &Unwatched });
        let job = Job { experiment: &experiment, context: &context };
        let cells = suite.run(job).unwrap();
        assert_eq!(cells.len(), 4);
        for cell in cells.iter() {
            assert_eq!(cell.best(), cell.rate(0).max(cell.rate(1)), "the policy beside does not count");
            let all = cell.best_of_all();
            assert_eq!(all, cell.best().max(cell.rate(2)));
            assert!(all < cell.bound && cell.opt > 0.3, "{}: {all} of {}", cell.device, cell.bound);
            assert!(cell.outcomes.iter().all(|outcome| outcome.bytes == 3000 * (112 << 10)), "{}", cell.device);
        }
        assert!(Arc::ptr_eq(&cells, &suite.run(job).unwrap()));
    }
}

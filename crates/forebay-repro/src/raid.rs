//! The server of SCM §5 as a simulation: memory before an array of six disks, streams at rates or
//! with think times, and runs of several policies on the same load.
//!
//! The paper says of it (§5.1): "Dell PowerEdge 2950 III server, with […] 16GB main memory,
//! and integrated RAID 5 with six 146 GB 15K RPM SAS 3Gbps hard drives", Linux 2.6.18, which reads
//! ahead before it waits for a page, a request at a time. The rest is chosen here, with
//! its reason at the field. "All experiments are repeated 7 times" with the extremes left out,
//! against what else a machine does; here there is nothing else, and what is random (places of
//! files, rates) is drawn anew for each seed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_core::{Action, Core, Event, EventKind, HandlerId, Instant, UnknownPolicy};
use forebay_device::ModelDescription;
use forebay_device::device;
use forebay_device::random::Random;
use forebay_device::scheduler::SchedulerKind;
use forebay_trace::generate::{self, Given};
use forebay_trace::{Memory, Request, Shape, Source};
use serde::Deserialize;

use crate::line::{Line, Point};
use crate::{Error, Experiment, Job};
use forebay_sim::timed::{
    DeviceSetup, Host, Load, Outcome, Placement, Record, Setup, Span, Spread, Striping, Workload, run_recorded,
};
use forebay_sim::{processors, sweep};

/// The machine.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Raid {
    /// The disks. Of RAID 5 only reads are modelled: they go to all disks, parity being spread over
    /// them, as in RAID 0.
    pub(crate) drive: String,
    pub(crate) disks: u32,
    /// Whether drives read on after a request, into the cache on board. Not said; they do, but then
    /// a stream finds its next piece there, nothing waits at the paper's rates, and all policies
    /// are alike (scm-ets shows it). The paper's array evidently hid nothing.
    pub(crate) read_ahead: bool,
    /// KiB of a stripe element: not said. Pieces of 48 pages took the paper's array hardly longer
    /// than those of 32 (Fig. 7: half as much again a fetch made the fast copy 39 % faster), so
    /// that either lies on a disk or two.
    pub(crate) stripe_kib: u64,
    /// Before each disk.
    pub(crate) scheduler: SchedulerKind,
    /// Before the controller of the array, if anything is.
    pub(crate) host: Option<SchedulerKind>,
    /// How many requests the controller accepts at a time (128 for one unit, as its Linux driver
    /// has it).
    pub(crate) depth: u32,
    /// Memory, MiB. Pages are not read twice, and what is fetched ahead is far less than the
    /// paper's 16 GB or this: it is never scarce.
    pub(crate) memory_mib: u64,
    /// A page, bytes.
    pub(crate) page_bytes: u32,
    /// Bytes that are read ahead of a consumer's pace and wait in its socket; nothing if there is
    /// none.
    pub(crate) socket_bytes: u32,
    /// Where files lie: over all of it, as what a server has stored. With a few round sizes one
    /// after the other, all streams beat against the stripes.
    pub(crate) files: Files,
}

impl Default for Raid {
    fn default() -> Raid {
        Raid {
            drive: "sas-15k".to_owned(),
            disks: 6,
            read_ahead: false,
            stripe_kib: 256,
            scheduler: SchedulerKind::Elevator,
            host: None,
            depth: 128,
            memory_mib: 256,
            page_bytes: 4096,
            socket_bytes: 0,
            files: Files::Scattered,
        }
    }
}

/// Where files lie on the array, each in one piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Files {
    /// One after the other, as a file system lays out what is written once, with up to [`GAP`]
    /// pages between, by the seed: indirect blocks, and others' files. Without, files of round
    /// sizes all begin at one disk, or where a stripe element does.
    Packed,
    /// Anywhere, by the seed.
    Scattered,
}

const GAP: u64 = 256;

impl Files {
    fn spread(self, workload: &Workload, page: u64, seed: u64) -> Spread {
        let Files::Packed = self else { return Spread::Scattered };
        let (mut random, mut at) = (Random::new(seed), 0);
        let mut files: Vec<(u64, u64)> = workload.file_table().iter().map(|file| (file.name, file.bytes)).collect();
        files.sort_unstable();
        let place = |(name, bytes): (u64, u64)| {
            let begin = at + random.below(GAP) * page;
            at = begin + bytes.next_multiple_of(page);
            (name, begin)
        };
        Spread::Known(files.into_iter().map(place).collect())
    }
}

/// Streams that the kernel knows: many more than there are.
const STREAMS: u32 = 512;

impl Raid {
    /// One run's setup.
    fn setup(&self, policy: &str, load: &Load, seed: u64, experiment: &Experiment) -> Result<Setup, Error> {
        let policy = policy.parse().map_err(|error: UnknownPolicy| experiment.wrong(&error.to_string()))?;
        let mut disk = device(&self.drive)?;
        if let (ModelDescription::Disk(disk), false) = (&mut disk.model, self.read_ahead) {
            disk.cache = Default::default();
        }
        let devices = (0..self.disks.max(1))
            .map(|_| DeviceSetup { scheduler: self.scheduler, ..DeviceSetup::new(disk.clone()) })
            .collect();
        Ok(Setup {
            block_bytes: self.page_bytes,
            streams: Some(STREAMS),
            call_off: false,
            devices,
            striping: Striping::Array(self.stripe_kib << 10),
            host: self.host.map(|scheduler| Host { scheduler, depth: self.depth }),
            load: load.clone(),
            buffered: (self.socket_bytes / self.page_bytes.max(1)).max(1),
            seed,
            ..Setup::new(policy, self.memory_mib << 20, disk.clone(), 1)
        })
    }
}

/// A generated workload, and what is said to it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    pub(crate) workload: String,
    #[serde(default, deserialize_with = "crate::given::texts")]
    pub(crate) parameters: BTreeMap<String, String>,
}

impl Part {
    /// The same with something else said.
    pub(crate) fn with(&self, name: &str, value: &str) -> Part {
        let mut part = self.clone();
        part.parameters.insert(name.to_owned(), value.to_owned());
        part
    }

    pub(crate) fn source(&self, seed: u64, experiment: &Experiment) -> Result<generate::Generated, Error> {
        let parameters: Vec<Given<'_>> = self.parameters.iter().map(|(name, value)| Given { name, value }).collect();
        let source = generate::named(&self.workload, &parameters, seed);
        source.map_err(|error| experiment.wrong(&error.to_string()))
    }
}

/// A load, and where its results stand on a figure's axis.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Place {
    pub(crate) at: f64,
    /// Workloads beside each other, each with files and handlers of its own.
    pub(crate) parts: Vec<Part>,
    pub(crate) load: Load,
    /// How long it is run, and what of that is not counted.
    pub(crate) seconds: Option<f64>,
    pub(crate) warm_up: Option<f64>,
}

impl Place {
    fn workload(&self, seed: u64, experiment: &Experiment) -> Result<Workload, Error> {
        if let [part] = self.parts.as_slice() {
            return Ok(Workload::load(&mut part.source(seed, experiment)?)?);
        }
        let (mut requests, mut sizes) = (Vec::<Request>::new(), Vec::new());
        let mut handlers = 0;
        for part in &self.parts {
            let (mut source, begin, files) = (part.source(seed, experiment)?, requests.len(), sizes.len() as u64);
            while source.read(&mut requests).map_err(forebay_trace::WorkloadError::from)? > 0 {}
            for request in &mut requests[begin..] {
                (request.file, request.handler) = (request.file + files, request.handler + handlers);
            }
            handlers = requests.iter().map(|request| request.handler).max().unwrap_or(0);
            sizes.extend(source.files().iter().map(|file| file.bytes.unwrap_or(0)));
        }
        let mut workload = Workload::load(&mut Memory::new(requests, Shape::Ranges { block_bytes: 4096 }))?;
        (0..).zip(sizes).for_each(|(file, bytes)| workload.lengthen(file, bytes));
        Ok(workload)
    }

    fn run(&self, workload: &Workload, policy: &str, seed: u64, raid: &Raid, job: Job<'_>) -> Result<Run, Error> {
        let setup = Setup {
            limit: self.seconds.map(Span::Seconds),
            warm_up: self.warm_up.map(Span::Seconds),
            placement: Placement {
                spread: raid.files.spread(workload, raid.page_bytes.into(), seed),
                ..Placement::default()
            },
            ..raid.setup(policy, &self.load, seed, job.experiment)?
        };
        let from = Instant((self.warm_up.unwrap_or(0.0) * 1e9) as u64);
        let mut streams = Streams { from, block_bytes: u64::from(raid.page_bytes), ..Streams::default() };
        let outcome = run_recorded(&setup, workload, job.context.watch, &mut streams)?;
        Ok(Run { outcome, streams })
    }
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) outcome: Outcome,
    pub(crate) streams: Streams,
}

/// The fate of each handler, and of the pages fetched for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    /// Before that nothing is counted.
    from: Instant,
    block_bytes: u64,
    pub(crate) handlers: BTreeMap<u32, Handler>,
    /// By the number of a read: who asked, when, for how much.
    asked: Vec<(u32, Instant, u32)>,
    /// Blocks fetched for all streams and not read yet, as seen every [`BEAT`]: their sum, how
    /// often it was looked, and when next.
    unread: u64,
    looks: u64,
    next_look: Instant,
    /// The read of the last event, if it counts.
    read: Option<Looked>,
}

/// A read whose stream is looked at.
#[derive(Clone, Copy, Debug)]
struct Looked {
    handler: u32,
    file: forebay_core::FileId,
    /// The block behind it.
    end: u32,
    /// Whether something was prefetched by it.
    cycle: bool,
}

/// Between two looks at what is unread: five milliseconds.
const BEAT: u64 = 5_000_000;

/// One handler.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handler {
    /// Requests that were answered, for how many bytes, how long that took, and how many had to
    /// wait.
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) took: u64,
    pub(crate) waited: u64,
    /// From the first request to the last answer, whatever is counted.
    pub(crate) began: Option<Instant>,
    pub(crate) ended: Instant,
    /// Fetches with something prefetched in them: SCM's cycles.
    pub(crate) cycles: u64,
    /// Of those that have one: the trigger distances, added, and how many.
    pub(crate) distances: (u64, u64),
    /// At each read: its stream's blocks that are fetched and unread, added, and how many reads.
    inventory: (u64, u64),
}

impl Handler {
    /// The mean response time, milliseconds.
    pub(crate) fn response_ms(&self) -> f64 {
        self.took as f64 / 1e6 / self.requests.max(1) as f64
    }

    /// The trigger distance, averaged over cycles.
    pub(crate) fn distance(&self) -> f64 {
        self.distances.0 as f64 / self.distances.1 as f64
    }

    /// Blocks fetched and unread, in the mean over reads: the inventory level of SCM §4.1.4, which
    /// falls from T + P to T while a stream reads.
    fn inventory(&self) -> f64 {
        self.inventory.0 as f64 / self.inventory.1 as f64
    }

    /// From the first request to the last answer, seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.ended.since(self.began.unwrap_or(self.ended)) as f64 / 1e9
    }
}

impl Record for Streams {
    fn record(&mut self, _level: usize, event: Event, actions: &[Action]) {
        let counts = event.at >= self.from;
        if let EventKind::Read { read, handler, offset, len, file, .. } = event.kind {
            if self.asked.len() <= read.index() {
                self.asked.resize(read.index() + 1, (0, Instant(0), 0));
            }
            self.asked[read.index()] = (handler.0, event.at, len);
            let state = self.handlers.entry(handler.0).or_default();
            state.began.get_or_insert(event.at);
            let ahead =
                |action: &Action| matches!(action, Action::Fetch { extent, demand, .. } if extent.len > demand.len);
            if counts {
                let cycle = actions.iter().any(ahead);
                state.cycles += u64::from(cycle);
                let end = (offset + u64::from(len)).div_ceil(self.block_bytes.max(1)) as u32;
                self.read = Some(Looked { handler: handler.0, file, end, cycle });
            }
        }
        for action in actions {
            let Action::Ready { read } = action else { continue };
            let Some(&(handler, asked, len)) = self.asked.get(read.index()) else { continue };
            let state = self.handlers.entry(handler).or_default();
            state.ended = event.at;
            if counts {
                let took = event.at.since(asked);
                state.requests += 1;
                state.bytes += u64::from(len);
                state.took += took;
                state.waited += u64::from(took > 0);
            }
        }
    }

    fn look(&mut self, _level: usize, at: Instant, core: &dyn Core) {
        if let Some(Looked { handler, file, end, cycle }) = self.read.take() {
            let stream = core.streams().locate(HandlerId(handler), file, end, at).and_then(|id| core.streams().get(id));
            let state = self.handlers.entry(handler).or_default();
            if let Some(stream) = stream {
                state.inventory.0 += u64::from(stream.remaining());
                state.inventory.1 += 1;
            }
            let distance = stream.filter(|_| cycle).map_or(0, |stream| stream.distance);
            state.distances.0 += u64::from(distance);
            state.distances.1 += u64::from(distance > 0);
        }
        if at >= self.next_look {
            self.next_look = at.plus(BEAT);
            if at >= self.from {
                let unread = core.streams().iter().map(|(_, stream)| u64::from(stream.remaining()));
                self.unread += unread.sum::<u64>();
                self.looks += 1;
            }
        }
    }
}

impl Streams {
    /// The sum of a figure over all handlers.
    pub(crate) fn all(&self, of: impl Fn(&Handler) -> u64) -> f64 {
        self.handlers.values().map(of).sum::<u64>() as f64
    }

    /// Requests that waited, by prefetch: the expected shortage per cycle (SCM §4.1.1).
    pub(crate) fn shortage(&self) -> f64 {
        self.all(|handler| handler.waited) / self.all(|handler| handler.cycles)
    }

    /// Blocks fetched and unread, in the mean over time, of all streams.
    pub(crate) fn unread(&self) -> f64 {
        self.unread as f64 / self.looks.max(1) as f64
    }

    /// The inventory level of a stream, in the mean over all that read.
    pub(crate) fn inventory(&self) -> f64 {
        let levels: Vec<f64> =
            self.handlers.values().map(Handler::inventory).filter(|level| level.is_finite()).collect();
        levels.iter().sum::<f64>() / levels.len() as f64
    }

    /// One of them.
    pub(crate) fn handler(&self, number: u32) -> Handler {
        self.handlers.get(&number).cloned().unwrap_or_default()
    }
}

/// All runs of a policy at one place, one a seed.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) at: f64,
    pub(crate) policy: String,
    pub(crate) runs: Vec<Run>,
}

/// All rows.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
}

/// Runs every policy at every place with so many seeds, on all processors.
pub(crate) fn run(
    places: &[Place],
    policies: &[String],
    seeds: u64,
    raid: &Raid,
    job: Job<'_>,
) -> Result<Table, Error> {
    let Job { experiment, context } = job;
    let seeds = if context.quick { 1 } else { seeds.max(1) };
    let items: Vec<(&Place, u64)> = places.iter().flat_map(|place| (0..seeds).map(move |seed| (place, seed))).collect();
    let (done, all) = (AtomicUsize::new(0), items.len() * policies.len());
    let one = |&(place, seed): &(&Place, u64)| -> Result<Vec<Run>, Error> {
        let seed = context.seed.wrapping_add(seed);
        let workload = place.workload(seed, experiment)?;
        let runs = policies.iter().map(|policy| {
            let run = place.run(&workload, policy, seed, raid, job)?;
            context.step(done.fetch_add(1, Ordering::Relaxed) + 1, all)?;
            Ok(run)
        });
        runs.collect()
    };
    let results = sweep(&items, processors(), || context.watch.stopped(), one);
    let mut rows: Vec<Row> = Vec::new();
    for (&(place, seed), result) in items.iter().zip(results) {
        for (policy, run) in policies.iter().zip(result.unwrap_or(Err(Error::Stopped))?) {
            match rows.iter_mut().find(|row| row.at == place.at && row.policy == *policy).filter(|_| seed > 0) {
                Some(row) => row.runs.push(run),
                None => rows.push(Row { at: place.at, policy: policy.clone(), runs: vec![run] }),
            }
        }
    }
    Ok(Table { rows })
}

impl Row {
    /// The mean over its runs.
    pub(crate) fn mean(&self, of: impl Fn(&Run) -> f64) -> f64 {
        self.runs.iter().map(of).sum::<f64>() / self.runs.len().max(1) as f64
    }
}

impl Table {
    /// A figure of a policy along the axis.
    pub(crate) fn line(&self, policy: &str, of: impl Fn(&Run) -> f64) -> Line {
        let ours = self.rows.iter().filter(|row| row.policy == policy);
        ours.map(|row| Point { at: row.at, value: row.mean(&of) }).collect()
    }
}

/// A closed loop in which everybody is at work, with think times as the trace has them.
pub(crate) fn closed() -> Load {
    Load::closed(STREAMS)
}

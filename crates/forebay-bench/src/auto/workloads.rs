//! The reads of the workloads: tasks of requests, by seed, the same live and simulated. Some are
//! today's loads, as `forebay trace generate` makes them.

use forebay_core::Instant;
use forebay_sim::timed::Workload;
use forebay_trace::generate::{Given, named};
use forebay_trace::{Memory, Request, Shape, Source};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

/// The papers' disk, a much faster device, and a store that is far away.
const DISK: &str = "ibm-10k";
const FAST: &str = "ssd";
const STORE: &str = "object-store";

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;

/// Contexts: of loops, of scans, of other reads.
const LOOP: u32 = 1;
const SCAN: u32 = 2;
const REST: u32 = 3;

/// More than one disk can read in a second.
const MOST_A_SECOND: u64 = 80 * MIB;

/// A workload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    /// The devices. A file's number decides its device.
    pub(super) devices: &'static [&'static str],
    /// How many tasks run at a time.
    pub(super) handlers: u32,
    /// The amount of data, in sixteenths.
    scale: u64,
    reads: Reads,
}

/// Where the reads of a workload come from.
#[derive(Clone, Copy, Debug)]
enum Reads {
    /// Tasks that go on for so many seconds.
    Tasks(fn(&Case, u64, &mut SmallRng) -> Vec<Task>),
    /// One of today's loads, with these parameters, or with other ones where a glance is enough.
    Today { kind: &'static str, parameters: &'static str, glance: &'static str },
}

/// The reads of one handler.
#[derive(Clone, Debug)]
struct Task {
    context: u32,
    /// Bytes of a request.
    request: u64,
    /// The think time after each request.
    think: u64,
    /// They are read one after the other, each from its beginning.
    files: Vec<File>,
}

/// A file.
#[derive(Clone, Copy, Debug)]
struct File {
    number: u64,
    bytes: u64,
}

impl Case {
    pub(super) fn all(scale: u64) -> Vec<Case> {
        let case = |name, devices, handlers, tasks| Case { name, devices, handlers, scale, reads: Reads::Tasks(tasks) };
        let mut all = vec![
            case("whole files", &[DISK], 16, whole_files),
            case("a loop beside scans", &[DISK], 4, loop_beside_scans),
            case("slow readers beside a copy", &[DISK], 101, slow_beside_fast),
            case("a report beside scans", &[FAST, DISK], 5, report_beside_scans),
        ];
        all.extend(today().map(|(name, devices, reads)| Case { name, devices, handlers: 4, scale, reads }));
        all
    }

    /// Whether the reads go on for as long as is wanted. A load of today ends.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self.reads, Reads::Tasks(_))
    }

    /// All reads of this many seconds, and more; of a load that ends all of it.
    pub(super) fn workload(&self, seconds: f64, seed: u64) -> anyhow::Result<Workload> {
        let tasks = match self.reads {
            Reads::Tasks(tasks) => tasks(self, seconds.ceil() as u64, &mut SmallRng::seed_from_u64(seed)),
            Reads::Today { kind, parameters, glance } => {
                return generated(kind, if self.scale < 8 { glance } else { parameters }, seed);
            }
        };
        let requests = (1..).zip(&tasks).flat_map(|(handler, task)| task.requests(handler)).collect();
        Ok(Workload::load(&mut Memory::new(requests, Shape::Ranges { block_bytes: 4096 }))?)
    }

    /// `count` files of `bytes` bytes on device `device`. A smaller scale has fewer files.
    fn files(&self, device: u64, from: u64, count: u64, bytes: u64) -> Vec<File> {
        let devices = self.devices.len() as u64;
        let count = (count * self.scale / 16).max(2);
        (from..from + count).map(|file| File { number: file * devices + device, bytes }).collect()
    }
}

impl Task {
    fn requests(&self, handler: u32) -> impl Iterator<Item = Request> + '_ {
        let all = self.files.iter().flat_map(move |&File { number: file, bytes }| {
            (0..bytes)
                .step_by(self.request as usize)
                .map(move |offset| (file, offset, self.request.min(bytes - offset)))
        });
        (0..).zip(all).map(move |(number, (file, offset, len))| Request {
            at: Instant(number * self.think),
            file,
            offset,
            len: len as u32,
            handler,
            context: self.context,
            ..Request::default()
        })
    }

    /// Repeats the files for `seconds` seconds at `a_second` bytes a second.
    fn again(mut self, seconds: u64, a_second: u64) -> Task {
        let round: u64 = self.files.iter().map(|file| file.bytes).sum();
        let rounds = (seconds * a_second).div_ceil(round.max(1)) + 1;
        self.files = self.files.repeat(rounds as usize);
        self
    }
}

/// Today's loads, each on a store and on a disk.
fn today() -> impl Iterator<Item = (&'static str, &'static [&'static str], Reads)> {
    let reads = |kind, parameters, glance| Reads::Today { kind, parameters, glance };
    let epochs = reads("epochs", "samples=1000,tasks=4000", "samples=20,tasks=40");
    let steps = reads("steps", "steps=2000", "steps=20");
    let starts = reads("container-starts", "images=12,tasks=80", "images=2,bytes=1M,places=20,tasks=4");
    let parquet = reads("parquet", "files=8,queries=100,tasks=200", "files=1,queries=2,tasks=2");
    [
        ("epochs, store", &[STORE] as &[&str], epochs),
        ("epochs, disk", &[DISK], epochs),
        ("steps, store", &[STORE], steps),
        ("steps, disk", &[DISK], steps),
        ("container starts, store", &[STORE], starts),
        ("container starts, disk", &[DISK], starts),
        ("parquet, store", &[STORE], parquet),
        ("parquet, disk", &[DISK], parquet),
    ]
    .into_iter()
}

/// A load that `forebay trace generate` makes.
fn generated(kind: &str, parameters: &str, seed: u64) -> anyhow::Result<Workload> {
    let mut source = named(kind, &Given::list(parameters)?, seed)?;
    let mut requests = Vec::new();
    while source.read(&mut requests)? > 0 {}
    let mut workload = Workload::load(&mut Memory::new(requests, source.shape()))?;
    source.files().iter().for_each(|file| workload.lengthen(file.file, file.bytes.unwrap_or(0)));
    Ok(workload)
}

/// CP §3.1's `one-whole-0`: files of 4 MiB in no order, 64 KiB at a time, each a task.
fn whole_files(case: &Case, seconds: u64, random: &mut SmallRng) -> Vec<Task> {
    let mut files = case.files(0, 0, 64, 4 * MIB);
    let count = seconds * MOST_A_SECOND / (4 * MIB) + 16;
    let mut tasks = Vec::new();
    while (tasks.len() as u64) < count {
        files.shuffle(random);
        tasks.extend(files.iter().map(|&file| Task { context: REST, request: 64 * KIB, think: 0, files: vec![file] }));
    }
    tasks
}

/// A loop over a quarter of the memory at 16 MB/s, beside three scans of data that do not fit.
fn loop_beside_scans(case: &Case, seconds: u64, random: &mut SmallRng) -> Vec<Task> {
    let looped =
        Task { context: LOOP, request: 64 * KIB, think: 4 * MS, files: vec![File { number: 0, bytes: 16 * MIB }] };
    let mut tasks = vec![looped.again(seconds, 17 * MIB)];
    tasks.extend(scans(case.files(0, 1, 48, 4 * MIB), 3, seconds, random));
    tasks
}

/// A hundred readers of 80 KB/s each, and a copy as fast as possible.
fn slow_beside_fast(case: &Case, seconds: u64, random: &mut SmallRng) -> Vec<Task> {
    let own = (seconds * 96 * KIB).next_multiple_of(64 * KIB) + 64 * KIB;
    let slow = |number: u64| Task {
        context: REST,
        request: 16 * KIB,
        // Not all at the same moments.
        think: 200 * MS - random.random_range(0..20) * MS,
        files: vec![File { number, bytes: own }],
    };
    let mut tasks: Vec<Task> = (0..100).map(slow).collect();
    let copied = Task { context: SCAN, request: 64 * KIB, think: 0, files: case.files(0, 100, 4, 64 * MIB) };
    tasks.push(copied.again(seconds, MOST_A_SECOND));
    tasks
}

/// A loop on a fast device, which would be quick without a cache, and scans of a slow one.
fn report_beside_scans(case: &Case, seconds: u64, random: &mut SmallRng) -> Vec<Task> {
    let looped =
        Task { context: LOOP, request: 64 * KIB, think: 4 * MS, files: vec![File { number: 0, bytes: 24 * MIB }] };
    let mut tasks = vec![looped.again(seconds, 17 * MIB)];
    tasks.extend(scans(case.files(1, 0, 48, 4 * MIB), 4, seconds, random));
    tasks
}

/// Readers that go through the files without end, each in an order of its own.
fn scans(files: Vec<File>, readers: usize, seconds: u64, random: &mut SmallRng) -> Vec<Task> {
    let scan = |_| {
        let mut files = files.clone();
        files.shuffle(random);
        Task { context: SCAN, request: 64 * KIB, think: 0, files }.again(seconds, MOST_A_SECOND)
    };
    (0..readers).map(scan).collect()
}

//! The setup of a simulation: levels, devices, the load.

use forebay_core::Policy;
use forebay_core::level::Labels;
use forebay_core::tier::Rules;
use forebay_device::scheduler::SchedulerKind;
use forebay_device::slowdown::Slowdown;
use forebay_device::{Description, network};
use forebay_trace::Span;

use super::error::Error;
use super::placement::Placement;
use super::samples::Samples;
use super::striping::{Stripes, Striping};
use super::told::Told;

/// A timed simulation.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The caches, from the one that readers ask down to the one before the devices; at least one.
    pub levels: Vec<Level>,
    /// Bytes in a block, a power of two, the same at all levels.
    pub block_bytes: u32,
    /// The most that level 0 is asked for at a time, in bytes, whole blocks; `None`: as much as its
    /// core takes.
    ///
    /// A kernel copies a read page by page, and sleeps on a page that is under way before it goes
    /// on. So it notices a page that was given up meanwhile only then, and reads it alone ("a
    /// single page read is initiated on that page and the request handler blocks", CPEM §2.3). The
    /// pages behind are prefetched only once those before are there.
    pub unit_bytes: Option<u32>,
    /// How many streams each level remembers; `None`: as many as the live engine would. A kernel
    /// knows a stream only while a file is open: a process that opens it again begins a new stream,
    /// wherever it reads.
    pub streams: Option<u32>,
    /// Whether devices take back requests that no reader needs any more and that they have not
    /// begun. The kernels of the papers don't.
    pub call_off: bool,
    /// The devices; at least one.
    pub devices: Vec<DeviceSetup>,
    /// The disk tier before them; `None`: every fetch of the last level goes to its device.
    pub tier: Option<TierSetup>,
    /// How files lie over them.
    pub striping: Striping,
    /// The machine before an array as a whole; `None`: requests go to the array's members as they
    /// come.
    pub host: Option<Host>,
    /// The places of files.
    pub placement: Placement,
    /// How requests come.
    pub load: Load,
    /// How many answers of a closed loop its buffer holds; at least one. With more than one, a
    /// think time is the time that a consumer takes for an answer, such as the network behind a
    /// socket. The reader goes on while the buffer has room, and makes up for answers that came
    /// late.
    pub buffered: u32,
    /// How writes are treated.
    pub writes: Writes,
    /// The readers that tell their order.
    pub told: Told,
    /// The part of the beginning that is not counted.
    pub warm_up: Option<Span>,
    /// When to end, counted from the very beginning; `None`: with the trace.
    pub limit: Option<Span>,
    /// When to take samples of the run ([`Outcome::samples`](super::Outcome::samples)); `None`:
    /// never.
    pub samples: Option<Samples>,
    /// For places and all that is random in devices.
    pub seed: u64,
}

impl Setup {
    /// One level of `policy` with `memory_bytes`, blocks of 4 KiB, over one device behind an
    /// elevator; the load is [`Load::closed`] with `handlers`.
    pub fn new(policy: Policy, memory_bytes: u64, device: Description, handlers: u32) -> Setup {
        Setup {
            levels: vec![Level::new(policy, memory_bytes)],
            block_bytes: 4096,
            unit_bytes: None,
            streams: None,
            call_off: true,
            devices: vec![DeviceSetup::new(device)],
            tier: None,
            striping: Striping::Off,
            host: None,
            placement: Placement::default(),
            load: Load::closed(handlers),
            buffered: 1,
            writes: Writes::Skip,
            told: Told::Nobody,
            warm_up: None,
            limit: None,
            samples: None,
            seed: 1,
        }
    }
}

impl Setup {
    /// Whether it is possible.
    pub(super) fn check(&self) -> Result<(), Error> {
        let wrong = |what: &str| Err(Error::Setup(what.to_owned()));
        if self.levels.is_empty() || self.levels.len() > 16 {
            return wrong("a simulation has 1 to 16 levels");
        }
        if !self.block_bytes.is_power_of_two() || !(512..=1 << 20).contains(&self.block_bytes) {
            return wrong("the size of a block must be a power of two, 512 bytes to 1 MiB");
        }
        if self.unit_bytes.is_some_and(|unit| unit == 0 || unit % self.block_bytes != 0) {
            return wrong("what is read at a time must be whole blocks");
        }
        if self.devices.is_empty() || self.devices.len() > 65_535 {
            return wrong("a simulation has 1 to 65,535 devices");
        }
        if self.told != Told::Nobody && matches!(self.load, Load::Open { .. }) {
            return wrong("requests that come at their times have no reader that could tell their order");
        }
        if let Striping::Files(unit) = self.striping {
            if self.devices.len() < 2 {
                return wrong("files are striped over two devices at least");
            }
            let block = u64::from(self.block_bytes);
            if unit == 0 || unit % block != 0 || unit / block > u64::from(u32::MAX) {
                return wrong("the stripe unit of files must be whole blocks, less than 2^32 of them");
            }
        }
        match (self.host, self.striping) {
            (None, _) | (Some(Host { depth: 1.., .. }), Striping::Array(_)) => {}
            (Some(Host { depth: 0, .. }), _) => return wrong("a controller accepts at least one request at a time"),
            (Some(_), _) => return wrong("a scheduler before all devices needs an array of them"),
        }
        let seen = if let Striping::Array(_) = self.striping { 1 } else { self.devices.len() };
        if let Some(level) = self.levels.iter().find(|level| level.policy.most_devices() < seen) {
            let (policy, most) = (level.policy, level.policy.most_devices());
            return wrong(&format!("{policy} divides its cache among {most} devices at most, and there are {seen}"));
        }
        match self.load {
            Load::Closed { handlers: 0, .. } => return wrong("a closed loop needs at least one handler"),
            Load::Closed { processors: 0, cpu_ns, cpu_ns_per_kib, .. } if cpu_ns | cpu_ns_per_kib > 0 => {
                return wrong("to compute takes at least one processor");
            }
            Load::Open { speed } if !(speed.is_finite() && speed > 0.0) => {
                return wrong("the speed of an open loop must be positive");
            }
            _ => {}
        }
        let possible = |span: Option<Span>| match span {
            None => true,
            Some(Span::Seconds(seconds)) => seconds > 0.0 && seconds <= 1e9,
            Some(Span::Requests(requests)) => requests > 0,
        };
        if !possible(self.warm_up) || !possible(self.limit) {
            return wrong("warm-up and limit must be positive, and at most 10^9 seconds");
        }
        if let Some(Samples::Seconds(seconds)) = self.samples
            && !(1e-6..=1e9).contains(&seconds)
        {
            return wrong("between two samples there are 10^-6 to 10^9 seconds");
        }
        Ok(())
    }

    /// The blocks that a level holds.
    pub(super) fn frames(&self, level: usize) -> Result<u32, Error> {
        let memory_bytes = self.levels[level].memory_bytes;
        let private_bytes = match self.load {
            Load::Closed { private_bytes, .. } if level == 0 => private_bytes,
            _ => 0,
        };
        let handlers = self.load.handlers();
        let left = memory_bytes.saturating_sub(private_bytes.saturating_mul(u64::from(handlers)));
        match u32::try_from(left / u64::from(self.block_bytes)) {
            Ok(0) => Err(Error::NoMemory { handlers, private_bytes, memory_bytes }),
            Ok(frames @ ..=MOST_FRAMES) => Ok(frames),
            _ => Err(Error::Setup(format!(
                "{memory_bytes} bytes are more than {MOST_FRAMES} blocks of {}; take larger blocks",
                self.block_bytes
            ))),
        }
    }
}

impl Setup {
    /// How files are striped, if caches know of it.
    pub(super) fn stripes(&self) -> Option<Stripes> {
        match self.striping {
            Striping::Files(unit) => Some(Stripes { unit, devices: self.devices.len() as u64 }),
            Striping::Off | Striping::Array(_) => None,
        }
    }

    /// The names of the devices, alike ones counted.
    pub(super) fn device_names(&self) -> String {
        let names: Vec<&str> = self.devices.iter().map(|device| device.description.name.as_str()).collect();
        match names.as_slice() {
            [name] => (*name).to_owned(),
            [first, rest @ ..] if rest.iter().all(|name| name == first) => format!("{}x {first}", names.len()),
            _ => names.join(","),
        }
    }
}

/// The most frames that a core numbers, its ghosts considered.
const MOST_FRAMES: u32 = u32::MAX / 4;

/// A cache.
#[derive(Clone, Debug)]
pub struct Level {
    /// Its policy.
    pub policy: Policy,
    /// Its memory in bytes: the frames of its blocks, without bookkeeping. At level 0 the handlers'
    /// private memory is taken off.
    pub memory_bytes: u64,
    /// The network between it and the level, or the devices, below: one endpoint above, and below
    /// one for the level, or one for each device (SAC §4.1). It has as many endpoints as that; the
    /// description's number is ignored.
    pub link: Option<network::Description>,
    /// The labels that it gets from the level above. Readers' own requests have no labels, so at
    /// level 0 it has no effect.
    pub labels: Labels,
}

impl Level {
    /// A cache without a network below it, and without labels.
    pub fn new(policy: Policy, memory_bytes: u64) -> Level {
        Level { policy, memory_bytes, link: None, labels: Labels::Off }
    }
}

/// A device, with its scheduler and its slowdowns.
#[derive(Clone, Debug)]
pub struct DeviceSetup {
    /// Its description.
    pub description: Description,
    /// The scheduler before it.
    pub scheduler: SchedulerKind,
    /// When it is slower than it should be (SAC §4.3).
    pub slowdowns: Vec<Slowdown>,
}

impl DeviceSetup {
    /// A device behind an elevator.
    pub fn new(description: Description) -> DeviceSetup {
        DeviceSetup { description, scheduler: SchedulerKind::default(), slowdowns: Vec::new() }
    }
}

/// A disk tier: it keeps what the last level fetched.
#[derive(Clone, Debug)]
pub struct TierSetup {
    /// Its size.
    pub bytes: u64,
    /// The disk that it lies on.
    pub device: DeviceSetup,
    /// The rules of admission and eviction.
    pub rules: Rules,
}

/// The machine before an array whose controller makes it look like one disk.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Host {
    /// Its scheduler.
    pub scheduler: SchedulerKind,
    /// How many requests the controller accepts at a time.
    pub depth: u32,
}

/// How requests come.
#[derive(Clone, PartialEq, Debug)]
pub enum Load {
    /// Handlers run tasks, each in order: the next request comes after the answer to the last one,
    /// the computation and the think time. CP §3.1: a server that spawns a thread for each of so
    /// many concurrent requests.
    ///
    /// A task is the requests of one `handler`, in the order of first appearance. If the trace
    /// names no handlers (one value throughout), every request is a task. A task opens a file at
    /// its first request for it and closes all at its end; if the trace names no handlers, files
    /// stay open.
    Closed {
        /// How many tasks run at a time.
        handlers: u32,
        /// Nanoseconds after every request. `None`: within a task, the differences of the trace's
        /// times, if it has any.
        think_ns: Option<u64>,
        /// Nanoseconds on a processor after every answer, before thinking.
        cpu_ns: u64,
        /// The same for each KiB of the answer: it is copied, and looked at.
        cpu_ns_per_kib: u64,
        /// How many processors there are; a reader that finds none free waits in line.
        processors: u32,
        /// Whether a handler runs the next task under its own name, as a process of a pool does.
        /// Else each task has a handler of its own, which is gone after it.
        pool: bool,
        /// Memory that each handler takes from level 0 (CP §3.1: 1 MB).
        private_bytes: u64,
    },
    /// Requests come at the trace's times, whether earlier ones are answered or not; each is its
    /// own reader. Files stay open.
    Open {
        /// How many times as fast as in the trace.
        speed: f64,
    },
}

impl Load {
    /// A closed loop of `handlers`; they think as in the trace, compute nothing and take no memory.
    pub fn closed(handlers: u32) -> Load {
        Load::Closed {
            handlers,
            think_ns: None,
            cpu_ns: 0,
            cpu_ns_per_kib: 0,
            processors: 1,
            pool: false,
            private_bytes: 0,
        }
    }

    /// How many handlers; zero in an open loop.
    pub fn handlers(&self) -> u32 {
        match self {
            Load::Closed { handlers, .. } => *handlers,
            Load::Open { .. } => 0,
        }
    }
}

/// The treatment of writes: the core is a read cache, so they never reach it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Writes {
    /// They take no time; they are counted.
    #[default]
    Skip,
    /// They go straight to their device, and the writer waits until they are there. Cached blocks
    /// stay.
    Device,
}

//! The figures of an engine for metrics: its counters, and how long reads and requests took.
//!
//! Nothing is counted for this where a read is answered by a hit. Counts are the core's own;
//! requests to sources are counted when they are over, and reads that had to wait when they are
//! answered.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use forebay_core::{Cause, DeviceId};
use forebay_source::{Error, TierFigures};

use crate::durations::Durations;
pub use crate::durations::{BOUNDS, Histogram};
use crate::engine::Engine;
use crate::stats::Stats;

/// Why a source was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A reader waits for some of it.
    Demand,
    /// No reader waits for it yet.
    Prefetch,
    /// The same, and a told list names it.
    Hint,
}

impl Reason {
    /// All of them, in the order of [`DeviceFigures::requests`].
    pub const ALL: [Reason; 3] = [Reason::Demand, Reason::Prefetch, Reason::Hint];

    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Demand => "demand",
            Reason::Prefetch => "prefetch",
            Reason::Hint => "hint",
        }
    }
}

impl From<Cause> for Reason {
    fn from(cause: Cause) -> Reason {
        match cause {
            Cause::Demand | Cause::Mixed => Reason::Demand,
            Cause::Prefetch => Reason::Prefetch,
            Cause::Hint => Reason::Hint,
        }
    }
}

/// Requests to a source that are over, each attempt counted. Those that were called off are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Requests {
    /// How long they took, failures included.
    pub durations: Histogram,
    /// Bytes that came.
    pub bytes: u64,
    /// Those that failed.
    pub errors: u64,
}

/// An engine in figures. Paths and streams are not among them.
#[derive(Clone, PartialEq, Debug)]
pub struct Figures {
    /// Its counters, without streams and contexts.
    pub stats: Stats,
    /// Files that readers have open.
    pub open_files: u64,
    /// How long reads took that were not answered at once.
    pub reads: Histogram,
    /// The requests to each device, by its number.
    pub devices: Vec<DeviceFigures>,
    /// The disk tiers in front of its sources.
    pub tiers: Vec<TierFigures>,
}

/// The requests to one device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceFigures {
    /// By [`Reason`].
    pub requests: [Requests; 3],
}

/// The same while it is counted.
#[derive(Debug, Default)]
struct Counting {
    durations: Durations,
    bytes: AtomicU64,
    errors: AtomicU64,
}

/// A request to a source that is over.
pub(crate) struct Over<'a> {
    pub(crate) device: DeviceId,
    pub(crate) reason: Reason,
    pub(crate) nanoseconds: u64,
    /// The bytes, or why there are none.
    pub(crate) outcome: Result<u64, &'a Error>,
}

/// The clocks of an engine.
#[derive(Debug)]
pub(crate) struct Clocks {
    pub(crate) reads: Durations,
    devices: Vec<[Counting; 3]>,
}

impl Clocks {
    pub(crate) fn new(devices: usize) -> Clocks {
        Clocks { reads: Durations::default(), devices: (0..devices).map(|_| Default::default()).collect() }
    }

    pub(crate) fn over(&self, over: Over<'_>) {
        let Some(counting) = self.devices.get(over.device.index()) else { return };
        let counting = &counting[over.reason as usize];
        match over.outcome {
            Ok(bytes) => _ = counting.bytes.fetch_add(bytes, Relaxed),
            Err(Error::CalledOff) => return,
            Err(_) => _ = counting.errors.fetch_add(1, Relaxed),
        }
        counting.durations.add(over.nanoseconds);
    }

    fn devices(&self) -> Vec<DeviceFigures> {
        let read = |counting: &Counting| Requests {
            durations: counting.durations.read(),
            bytes: counting.bytes.load(Relaxed),
            errors: counting.errors.load(Relaxed),
        };
        self.devices.iter().map(|counting| DeviceFigures { requests: counting.each_ref().map(read) }).collect()
    }
}

impl Engine {
    /// The figures of this moment. `names` are the devices' names, in order. The work is bounded
    /// by the number of devices, whatever is open and read.
    pub fn figures(&self, names: &[String]) -> Figures {
        Figures {
            stats: self.totals(names),
            open_files: self.open_files(),
            reads: self.clocks.reads.read(),
            devices: self.clocks.devices(),
            tiers: Vec::new(),
        }
    }
}

//! The outcome of a run.

use forebay_core::Counters;
use forebay_trace::Times;
use serde::Serialize;

use super::histogram::Sizes;
use super::samples::Sample;

/// The outcome of a run, without the warm-up. Flat, with fixed names, for tables and records; more
/// is in the fields that are not serialised.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Outcome {
    /// The policy; of several levels, from the readers down, joined by ` > `.
    pub policy: String,
    /// The device; `4x NAME` for four alike, else all names joined by `,`.
    pub device: String,
    /// Handlers of a closed loop; zero of an open one.
    pub handlers: u32,
    /// Blocks that level 0 holds.
    pub capacity_blocks: u64,
    /// Read requests that were answered.
    pub requests: u64,
    /// References to blocks that level 0 held.
    pub hits: u64,
    /// References to blocks that it did not hold: absent ones, and those still under way, for any
    /// reader.
    pub misses: u64,
    /// `misses` / (`hits` + `misses`).
    pub miss_ratio: f64,
    /// Bytes that readers got, in 10^6 a second; zero if no time passed.
    pub throughput_mb_s: f64,
    /// Milliseconds from a request to its answer: the mean.
    pub response_ms: f64,
    /// The same: half of them took no longer.
    pub p50_ms: f64,
    /// The same: nine tenths.
    pub p90_ms: f64,
    /// The same: 99 of 100.
    pub p99_ms: f64,
    /// Virtual time, seconds.
    pub seconds: f64,
    /// Bytes that readers got.
    pub bytes: u64,
    /// Bytes read from the devices.
    pub device_bytes: u64,
    /// Read requests that devices served.
    pub device_requests: u64,
    /// The mean size of these, 10^3 bytes.
    pub mean_request_kb: f64,
    /// Blocks that level 0 fetched before they were asked for.
    pub prefetched: u64,
    /// Of these: there at their first reference.
    pub used: u64,
    /// Of these: still under way at their first reference.
    pub late: u64,
    /// Of these: given up unreferenced.
    pub wasted: u64,
    /// Wasted, and then wanted after all, soon after.
    pub thrashed: u64,
    /// Called off before a device had begun with them.
    pub called_off: u64,
    /// Prefetched since the very beginning, and at the end neither referenced nor given up.
    pub unread: u64,
    /// Write requests: skipped, or sent to the devices.
    pub writes: u64,
    /// The seed of all that is random.
    pub seed: u64,
    /// The sizes of the reads that devices served.
    #[serde(skip)]
    pub sizes: Sizes,
    /// All response times.
    #[serde(skip)]
    pub responses: Times,
    /// The times of finished tasks, from the first request to the end of the work after the last
    /// answer.
    #[serde(skip)]
    pub tasks: Times,
    /// Level by level.
    #[serde(skip)]
    pub levels: Vec<LevelFigures>,
    /// Device by device.
    #[serde(skip)]
    pub devices: Vec<DeviceFigures>,
    /// The disk tier, if there is one.
    #[serde(skip)]
    pub tier: Option<TierFigures>,
    /// Samples of the run, warm-up included, if the setup asks for them.
    #[serde(skip)]
    pub samples: Vec<Sample>,
}

/// One level.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct LevelFigures {
    /// Its policy.
    pub policy: String,
    /// Blocks that it holds.
    pub capacity_blocks: u64,
    /// The counters of its blocks, over all devices.
    pub counters: Counters,
    /// Blocks served to the level above that readers waited for there; none at level 0. Blocks that
    /// are still waited for at the end do not count.
    pub demanded: u64,
    /// Of these: here, or under way.
    pub demanded_here: u64,
    /// Fetches with a part that readers wanted.
    pub demand_fetches: u64,
    /// Bytes of the labels that it sent to the level below.
    pub label_bytes: u64,
}

impl LevelFigures {
    /// References to blocks that it held, of all references.
    pub fn hit_ratio(&self) -> f64 {
        self.counters.hits as f64 / (self.counters.references() as f64).max(1.0)
    }

    /// The same for blocks that readers waited for in the level above, whether held or under way;
    /// zero at level 0.
    pub fn demand_hit_ratio(&self) -> f64 {
        self.demanded_here as f64 / (self.demanded as f64).max(1.0)
    }
}

/// The disk tier.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct TierFigures {
    /// The name of its disk.
    pub device: String,
    /// Bytes that the last level fetched.
    pub fetched_bytes: u64,
    /// Of these: found on the tier's disk.
    pub found_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl TierFigures {
    /// Found bytes over fetched ones.
    pub fn hit_ratio(&self) -> f64 {
        self.found_bytes as f64 / (self.fetched_bytes as f64).max(1.0)
    }

    /// Bytes written for each byte found; infinite if none was.
    pub fn written_per_hit(&self) -> f64 {
        self.written_bytes as f64 / self.found_bytes as f64
    }
}

/// One device; an array is one.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct DeviceFigures {
    /// Its description's name.
    pub device: String,
    /// Bytes read.
    pub bytes: u64,
    /// Read requests served.
    pub requests: u64,
    /// Bytes written.
    pub written: u64,
    /// The counters of its blocks at level 0.
    pub counters: Counters,
}

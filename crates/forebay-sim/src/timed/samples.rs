//! Samples of a run: the bytes that readers have got, and the division of the cache.

use forebay_core::share::State;
use serde::Serialize;

/// When to look.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Samples {
    /// After every epoch of level 0's partitions (SAC §3.1); never if it has none.
    Epochs,
    /// Every so many seconds of virtual time.
    Seconds(f64),
}

/// A sample.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Sample {
    /// Seconds since the run began.
    pub at: f64,
    /// Bytes that readers had got since then.
    pub bytes: u64,
    /// Blocks that level 0 had fetched.
    pub fetched: u64,
    /// The partitions of level 0, by device; none if its policy does not divide it.
    pub partitions: Vec<PartitionSample>,
}

/// A partition in a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct PartitionSample {
    /// The desired size, blocks.
    pub size: u32,
    /// Frames that it had.
    pub frames: u32,
    /// How long readers waited for its device in the last whole epoch, nanoseconds.
    pub wait_ns: u64,
    /// The same in thousandths of the mean of all devices.
    pub relative: u32,
    /// The policy's verdict on that.
    pub state: State,
}

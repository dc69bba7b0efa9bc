//! The figures of a partition of the cache.

/// How a partition is classified (SAC §3.1, Fig. 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum State {
    /// "Wait time below the threshold. The wait time is within the normal operating regime."
    #[default]
    Cool,
    /// "Wait time above threshold and increasing."
    Warming,
    /// "Wait time above threshold and decreasing."
    Cooling,
    /// "Wait time above threshold and constant."
    Warm,
}

/// Why a partition got or gave blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Cause {
    /// Readers of its device wait longer, or less long, than those of others (SAC §3.1).
    #[default]
    Wait,
    /// A block saves more, or less, there than elsewhere.
    Worth,
}

/// How the size of a partition changed last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Change {
    /// By this many blocks.
    pub blocks: i64,
    /// At the end of this epoch, the first being 1.
    pub epoch: u64,
    /// Why.
    pub cause: Cause,
}

/// The figures of a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Share {
    /// The desired size in frames. The sizes of all partitions add up to the cache.
    pub size: u32,
    /// Its device's wait time in the last epoch, nanoseconds.
    pub wait: u64,
    /// The wait time relative to the mean of all devices, in thousandths.
    pub relative: u32,
    /// Its state by that wait.
    pub state: State,
    /// How its size changed last.
    pub change: Option<Change>,
    /// Its size at the end of the epoch before.
    pub(crate) before: u32,
    /// Wait time of the epoch that is under way, nanoseconds.
    pub(crate) waiting: u64,
    /// For how many epochs it has been warming.
    pub(crate) streak: u32,
}

/// The worth of one block to a partition, in nanoseconds of waiting in each second.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Prospect {
    /// The saving of the next block. For a loop that does not fit yet: one block's part of the
    /// saving of all that it needs.
    pub gain: u64,
    /// The cost of giving one up.
    pub loss: u64,
}

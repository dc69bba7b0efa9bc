//! What pattern a program context has (AMP §3.1), and by the baselines.
//!
//! ```text
//!   accesses of a context ──▶ recency (AMP) │ dear │ pcc │ ubm ──▶ Pattern ──▶ Place: its partition
//! ```
//!
//! [`Detector`] is AMP's access pattern detector (AMP Fig. 3); what it knows of each context is in
//! `known`, and whether anybody comes back to a context's blocks in `revisits`. The cache manager,
//! to which it says where blocks go, is [`Program`](crate::partition::Program).

pub mod dear;
mod detector;
mod known;
pub mod order;
pub mod pcc;
pub mod recency;
mod revisits;
mod sample;
pub mod ubm;

pub use detector::{Detector, MOST_HINTS};
pub use known::Learnt;
pub(crate) use sample::hash;

use crate::hint::Usual;
use crate::types::{ContextId, HandlerId};
use recency::{Mean, ONE, Sampling};

/// How a context accesses blocks (AMP §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Pattern {
    /// "One-time accesses."
    OneShot,
    /// "Repeated accesses to a series of blocks in the same or roughly the same order", consecutive
    /// or not.
    Looping,
    /// "Blocks accessed recently are more likely to be accessed in the future."
    Clustered,
    /// "None of the above", or nothing is known yet.
    Other,
}

/// Who asks for a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Caller {
    /// The thread.
    pub handler: HandlerId,
    /// The place in its program.
    pub context: ContextId,
}

/// By what accesses are told apart (AMP §2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum By {
    /// By program context: AMP, PCC.
    Context,
    /// By file: UBM.
    File,
    /// By handler, a process or a thread: DEAR.
    Handler,
}

/// How patterns are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Detection {
    /// By mean reference recency (AMP).
    Recency {
        /// R̄ below this is a loop, in parts of [`ONE`].
        threshold: u32,
        /// Which blocks are looked at.
        sampling: Sampling,
        /// How R̄ is taken.
        mean: Mean,
    },
    /// By the order of groups of blocks (DEAR).
    Dear {
        /// Accesses of an interval.
        interval: u32,
        /// Blocks of a group.
        group: u32,
    },
    /// By counting blocks that were repeated (PCC).
    Counters {
        /// From how many blocks on a stream that repeats none is sequential.
        threshold: u32,
    },
    /// By consecutive accesses (UBM).
    Consecutive {
        /// From how many blocks on a run is sequential.
        threshold: u32,
    },
}

/// What can be chosen of contexts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// How patterns are told.
    pub detection: Detection,
    /// By what accesses are told apart.
    pub by: By,
    /// How many contexts, the most popular ones, have a partition: at most [`MOST_PARTITIONS`].
    pub partitions: u8,
    /// After how many accesses patterns and popularity are looked at again, at least 1.
    pub review: u32,
    /// Of the choice of the partition that gives up a block.
    pub seed: u32,
    /// Whether loops have partitions only where that pays (past the paper).
    #[cfg_attr(feature = "serde", serde(default))]
    pub duel: bool,
    /// Whether the whole cache as one loop takes part in that (past the paper).
    #[cfg_attr(feature = "serde", serde(default))]
    pub bimodal: bool,
    /// Whether one-shot blocks are dropped also while loops have no partitions: what they leave is
    /// room for what is fetched ahead, which no count of misses tells. Of `auto`; there is no
    /// option for it.
    #[cfg_attr(feature = "serde", serde(default))]
    pub drops: bool,
}

/// N_L.
const SAMPLING: Sampling = Sampling::Adaptive(256);

/// AMP §3.3: "up to a fixed number, e.g 10".
pub const MOST_PARTITIONS: u8 = 10;

impl Settings {
    /// AMP's own: T = 0.4, ten partitions.
    ///
    /// N_L, of which the paper says nothing, is 256: a list then has 128 to 256 blocks of a large
    /// context, so that half a round tells a loop. Once a context is known fewer are enough. A
    /// review is due every 1000 accesses to the cache, as §4.4 has it of DEAR; a verdict waits for
    /// enough evidence, so that it may take several.
    pub const AMP: Settings = Settings {
        detection: Detection::Recency { threshold: ONE * 4 / 10, sampling: SAMPLING, mean: Mean::Periodic },
        by: By::Context,
        partitions: MOST_PARTITIONS,
        review: 1000,
        seed: 1,
        duel: false,
        bimodal: false,
        drops: false,
    };
    /// Those of `auto`: AMP's, where they pay, and the whole as one loop where that pays more.
    pub const JOINED: Settings = Settings { duel: true, bimodal: true, drops: true, ..Settings::AMP };
    /// DEAR, which tells processes apart; AMP §4.1 has groups of 10 blocks, §4.4 an adaptation "per
    /// 1000 requests or so".
    pub const DEAR: Settings =
        Settings { detection: Detection::Dear { interval: 1000, group: 10 }, by: By::Handler, ..Settings::AMP };
    /// PCC's counters with AMP's cache: the PCC* of AMP §4.2.
    pub const PCC: Settings = Settings { detection: Detection::Counters { threshold: 100 }, ..Settings::AMP };
    /// UBM's detection, which tells files apart, with AMP's cache. From how many blocks on a run is
    /// sequential is assumed, as PCC's threshold is.
    pub const UBM: Settings =
        Settings { detection: Detection::Consecutive { threshold: 20 }, by: By::File, ..Settings::AMP };
}

/// A loop, as far as it is known (AMP Fig. 4). Virtual time is the number of accesses to the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rhythm {
    /// loop_size: blocks of each round, on average.
    pub size: u32,
    /// loop_time: how long each round takes, on average.
    pub time: u64,
    /// Its standard deviation.
    pub deviation: u64,
}

/// Where blocks of a context go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Place {
    /// To the default partition.
    #[default]
    Default,
    /// "One-shot blocks get dropped immediately after use."
    Dropped,
    /// To the MRU partition of this number, below [`MOST_PARTITIONS`].
    Loop(u8),
}

/// What the cache manager is told of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// Where the block goes.
    pub place: Place,
    /// The loop of that partition, if it is one.
    pub rhythm: Rhythm,
    /// Virtual time.
    pub now: u64,
}

/// What an earlier run learnt of a context, to be used from the first access on (AMP §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Hint {
    /// The pattern.
    pub pattern: Pattern,
    /// The loop, if it is one.
    pub rhythm: Rhythm,
    /// How long its streams usually are.
    #[cfg_attr(feature = "serde", serde(default))]
    pub usual: Usual,
}

impl Hint {
    /// Nothing was learnt.
    pub const NOTHING: Hint =
        Hint { pattern: Pattern::Other, rhythm: Rhythm { size: 0, time: 0, deviation: 0 }, usual: Usual::UNKNOWN };

    /// A pattern, and the loop if it is one.
    pub fn of(pattern: Pattern, rhythm: Rhythm) -> Hint {
        Hint { pattern, rhythm, ..Hint::NOTHING }
    }

    /// Whether it says nothing.
    pub fn is_nothing(&self) -> bool {
        self.pattern == Pattern::Other && self.usual == Usual::UNKNOWN
    }
}

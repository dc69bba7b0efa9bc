//! AMP: the call stack of an access tells its pattern, and each pattern gets its own policy and
//! partition.
//!
//! ```text
//!   access ─▶ detector (Fig. 3): recency │ dear │ pcc │ ubm ─▶ Pattern ─▶ Place ─▶ parts (Fig. 4)
//! ```
//!
//! [`Detector`] is the access pattern detector (AMP Fig. 3, §3.1), or one of the baselines beside
//! it; `known` has its knowledge of each context, and `revisits` whether any context comes back to
//! another's blocks. [`ContextParts`] is the cache manager (AMP Fig. 4, §3.2).

mod context_parts;
mod detector;
mod known;
pub mod order;
pub mod recency;
mod revisits;
mod sample;

pub use context_parts::{ContextParts, Victim};
pub use detector::{Detector, MOST_HINTS};

use crate::seams::{By, Loops, MOST_PARTITIONS};
use recency::{Mean, ONE, Sampling};

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
        /// A stream that repeats no block is sequential from this many blocks on.
        threshold: u32,
    },
    /// By consecutive accesses (UBM).
    Consecutive {
        /// A run is sequential from this many blocks on.
        threshold: u32,
    },
}

/// The settings of contexts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// How patterns are told.
    pub detection: Detection,
    /// The key that tells accesses apart.
    pub by: By,
    /// How many contexts, the most popular ones, have a partition: at most [`MOST_PARTITIONS`].
    pub partitions: u8,
    /// After how many accesses patterns and popularity are looked at again, at least 1.
    pub review: u32,
    /// The seed of the choice of a partition that gives up a block.
    pub seed: u32,
}

/// N_L.
const SAMPLING: Sampling = Sampling::Adaptive(256);

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
    };
    /// DEAR, which tells processes apart; AMP §4.1 has groups of 10 blocks, §4.4 an adaptation "per
    /// 1000 requests or so".
    pub const DEAR: Settings =
        Settings { detection: Detection::Dear { interval: 1000, group: 10 }, by: By::Handler, ..Settings::AMP };
    /// PCC's counters with AMP's cache: the PCC* of AMP §4.2.
    pub const PCC: Settings = Settings { detection: Detection::Counters { threshold: 100 }, ..Settings::AMP };
    /// UBM's detection, which tells files apart, with AMP's cache. Its threshold is assumed, as
    /// PCC's is.
    pub const UBM: Settings =
        Settings { detection: Detection::Consecutive { threshold: 20 }, by: By::File, ..Settings::AMP };

    /// The loops of each partition of the cache.
    pub fn loops(&self) -> Loops {
        Loops { most: self.partitions.min(MOST_PARTITIONS), seed: self.seed }
    }
}

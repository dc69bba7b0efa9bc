//! Replay without time: a wanted block is there at once, and the result is how often it was there
//! before.
//!
//! [`replay`] runs policies and OPT at given capacities; [`curve`] gives miss ratios over
//! capacities: LRU's exactly from one pass, others' from a sample. Both read a trace as often as
//! they need and hold none of it.
//!
//! A reference is one block (or object) of one request. Without time every policy is its paper's
//! algorithm: a block that misses is there for the next reference.

use std::fmt;
use std::str::FromStr;

use forebay_core::presets::{self, CONTEXTS, Partition, Policy, Prefetch, REPLACEMENTS, Replacement};
use forebay_trace::Source;
use serde::Serialize;

mod cache;
mod capacity;
mod contexts;
mod curve;
mod guest;
mod moments;
mod opt;
mod passes;
mod references;
mod replay;
mod sample;
mod sized;
mod stack;
mod sweep;

pub use capacity::{Capacity, NotACapacity};
pub use contexts::Contexts;
pub use curve::curve;
pub use guest::{Guest, GuestError, GuestRun, replay_guest};
pub use replay::{Size, replay, size};
pub use sized::{NotSized, SizedOptions, SizedOutcome, SizedPolicy, SizedRun, replay_sized};

/// Opens the trace from its beginning; called once a pass.
pub type Open<'a> = dyn Fn() -> Result<Box<dyn Source>, forebay_trace::Error> + Sync + 'a;

/// Options of counting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The block that ranges are split into, in bytes, if not the one that the trace's format
    /// suggests. For traces of whole objects it serves only to turn bytes of memory into a number
    /// of objects.
    pub block_bytes: Option<u32>,
    /// Whether writes are left out. Else they count as reads do.
    pub reads_only: bool,
    /// How many threads; as many as there are cores if none is given. Results don't depend on it.
    pub threads: Option<usize>,
}

/// One cache to be replayed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Run {
    /// Its algorithm.
    pub algorithm: Algorithm,
    /// Its capacity.
    pub capacity: Capacity,
}

/// An algorithm that can be replayed: a replacement policy, or the bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// Belady's: the block goes whose next use is farthest.
    Opt,
    /// One of the core's.
    Online(Replacement),
    /// The same with partitions of program contexts around it.
    Contexts(Replacement, presets::Contexts),
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Algorithm::Opt => f.write_str("opt"),
            Algorithm::Online(policy) => f.write_str(policy.name()),
            Algorithm::Contexts(replacement, settings) => {
                let policy = Policy { context: Some(settings), ..Policy::replacing(replacement) };
                f.write_str(policy.to_string().trim_start_matches("none+"))
            }
        }
    }
}

/// A name that no algorithm has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown algorithm '{name}'; known are opt, {}", known())]
pub struct UnknownAlgorithm {
    /// The name.
    pub name: String,
}

fn known() -> String {
    REPLACEMENTS.iter().chain(CONTEXTS).map(|entry| entry.name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Algorithm, UnknownAlgorithm> {
        if text == "opt" {
            return Ok(Algorithm::Opt);
        }
        let unknown = || UnknownAlgorithm { name: text.to_owned() };
        match text.parse().map_err(|_| unknown())? {
            Policy { prefetch: Prefetch::None, partition: Partition::Whole, context, replacement, .. } => {
                Ok(match context {
                    None => Algorithm::Online(replacement),
                    Some(settings) => Algorithm::Contexts(replacement, settings),
                })
            }
            _ => Err(unknown()),
        }
    }
}

/// The outcome of one cache of one policy.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outcome {
    /// The policy.
    pub policy: String,
    /// Blocks that the cache holds.
    pub capacity_blocks: u64,
    /// References to blocks.
    pub requests: u64,
    /// Of them, those that found their block.
    pub hits: u64,
    /// And those that did not.
    pub misses: u64,
    /// misses ÷ requests; zero without requests.
    pub miss_ratio: f64,
}

impl Outcome {
    fn new(algorithm: Algorithm, capacity_blocks: u64, requests: u64, misses: u64) -> Outcome {
        Outcome::named(algorithm.to_string(), capacity_blocks, requests, misses)
    }

    fn named(policy: String, capacity_blocks: u64, requests: u64, misses: u64) -> Outcome {
        let miss_ratio = if requests == 0 { 0.0 } else { misses as f64 / requests as f64 };
        Outcome { policy, capacity_blocks, requests, hits: requests - misses, misses, miss_ratio }
    }
}

/// Why a trace cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] forebay_trace::Error),
    /// It has too many blocks.
    #[error(transparent)]
    Keys(#[from] forebay_trace::TooManyKeys),
    /// A capacity makes no sense for this trace.
    #[error("a cache of {capacity}: {reason}")]
    Capacity {
        /// As it was given.
        capacity: Capacity,
        /// The fault.
        reason: &'static str,
    },
    /// A rate or number of blocks that cannot be sampled at.
    #[error("sampling: {0}")]
    Sampling(&'static str),
    /// Sizes count only for whole objects.
    #[error("the trace is of ranges, whose blocks are all of one size; sizes count where it is of whole objects")]
    Ranges,
    /// Without sizes, ratios of bytes would be those of requests.
    #[error(
        "the trace has no sizes, which --sizes counts; say where they are, as in --columns obj-size-col=3, or leave \
         --sizes out"
    )]
    WithoutSizes,
    /// OPT numbers references in 32 bits.
    #[error("OPT needs a trace of less than 2^32 references; sample it, or leave OPT out")]
    TooLong,
}

/// Whether and how a curve is estimated from some of the blocks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Sampling {
    /// Every block counts.
    Exact,
    /// This share of the blocks counts, above 0 and at most 1.
    Rate(f64),
    /// As many blocks count as there are, but this many at most.
    Size(u32),
}

/// The capacities of a curve.
#[derive(Clone, PartialEq, Debug)]
pub enum Points {
    /// So many, in equal ratios from one block to all distinct blocks of the trace.
    Spread(u32),
    /// At these, in this order.
    At(Vec<Capacity>),
}

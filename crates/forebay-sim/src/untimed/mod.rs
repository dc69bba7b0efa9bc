//! Replay without time: what is wanted is there at once, and what counts is whether it was there before.

use std::fmt;

use serde::Serialize;

/// How much a cache holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Capacity {
    /// Blocks (or objects).
    Blocks(u64),
    /// Bytes; divided by the block size.
    Bytes(u64),
    /// A share of the trace's distinct blocks, 0 to 1.
    Share(f64),
}

/// An algorithm that can be replayed: a replacement policy, or the bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// Belady's: the block goes whose next use is farthest.
    Opt,
    /// One of the core's.
    Online(forebay_core::presets::Replacement),
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Algorithm::Opt => "opt",
            Algorithm::Online(policy) => policy.name(),
        })
    }
}

/// What one cache of one policy did.
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

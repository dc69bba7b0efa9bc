//! One memory budget, divided: frames, the core's bookkeeping, and the process itself.

use forebay_core::presets::Reclaim;
use forebay_core::{DeviceCost, Policy, Setup};
use forebay_source::BLOCK;

/// Code, stacks, descriptors and buffers of libraries, beside everything that is counted. Measured
/// from outside (resident size of a mount that serves two thousand streams, less the bytes that are
/// counted): 10 MiB over local files, 15 MiB over an object store, the buffers of its connections
/// apart.
const PROCESS: u64 = 12 << 20;

/// Frames without which reads of 1 MiB cannot be handled four at a time.
const LEAST_FRAMES: u64 = 4 * 257;

/// The budget does not even hold the bookkeeping.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("too little memory: {} are not enough, at least {} MiB are needed", amount(*.given), .needed.div_ceil(1 << 20))]
pub struct TooLittleMemory {
    /// Bytes given.
    pub given: u64,
    /// Bytes needed.
    pub needed: u64,
}

/// An amount for a message: a few bytes mostly are a number whose unit was forgotten.
fn amount(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{bytes} bytes") } else { format!("{} MiB", bytes >> 20) }
}

/// Blocks of a closed file, about, and rather too few: files of a tree of sources have four, and
/// are the smallest that programs loop over. If closed files have fewer, frames stay empty, and
/// files are forgotten before the policy drops their blocks.
const BLOCKS_A_FILE: u32 = 3;

/// Bytes that a closed file takes: its name and version, its entries in tables, and its entries in
/// the core. Measured from outside: 443 to 503, depending on how full the tables are.
const CLOSED_FILE: u64 = 500;

/// How a budget is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// The budget in bytes.
    pub memory: u64,
    /// Frames of one block.
    pub frames: u32,
    /// Streams that are known at a time.
    pub streams: u32,
    /// Closed files whose blocks are kept.
    pub closed_files: usize,
}

impl Budget {
    /// Divides `memory` bytes.
    pub fn divide(memory: u64, policy: Policy) -> Result<Budget, TooLittleMemory> {
        let needed = PROCESS + LEAST_FRAMES * per_frame(policy);
        let frames = memory.saturating_sub(PROCESS) / per_frame(policy);
        if memory < needed || frames < LEAST_FRAMES {
            return Err(TooLittleMemory { given: memory, needed });
        }
        let frames = u32::try_from(frames).unwrap_or(u32::MAX / 4).min(u32::MAX / 4);
        let streams = (frames / 4).clamp(256, 16_384);
        Ok(Budget { memory, frames, streams, closed_files: (frames / BLOCKS_A_FILE).max(64) as usize })
    }

    /// The core's setup.
    pub fn setup(&self, devices: Vec<DeviceCost>) -> Setup {
        Setup {
            frames: self.frames,
            block_bytes: BLOCK as u32,
            streams: self.streams,
            devices,
            referenced: Default::default(),
        }
    }
}

/// Bytes that a frame costs. Its block, its slot and its ghosts' (24 each), and four index entries
/// of 4 for each of these (a table at most half full, rounded up to a power of two). The tables
/// that the replacement policy has beside that. Its part of the eviction history and of the
/// streams, its count of copies; its mark in a prefetch cache and its part of the handlers; its
/// part of the knowledge of former streams, and of the tables of other systems' rules. The times at
/// which its block and its ghosts' were used, and up to two entries of 16 of those that were
/// missed. Its part of the closed files.
fn per_frame(policy: Policy) -> u64 {
    let slots = 1 + u64::from(policy.ghosts(1000)).div_ceil(1000);
    let beside = u64::from(policy.replacement.bytes_beside());
    let marks = if policy.reclaim == Reclaim::WithTheRest { 0 } else { 8 + 8 };
    let knowledge = if policy.prefetch.remembers_streams() { 16 } else { 0 };
    let bimodal = if policy.context.is_some_and(|contexts| contexts.views.is_some_and(|views| views.bimodal)) {
        slots * 4 + 2 * 16
    } else {
        0
    };
    BLOCK as u64
        + slots * (24 + 16 + beside)
        + 4
        + 44
        + 24
        + 4
        + marks
        + knowledge
        + u64::from(policy.prefetch.bytes_a_frame())
        + bimodal
        + CLOSED_FILE / u64::from(BLOCKS_A_FILE)
}

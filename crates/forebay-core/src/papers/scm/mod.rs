//! Supply-chain prefetching (SCM §4.1): pieces of a fixed degree P, each fetched once no more than
//! T blocks of the stream are unread.
//!
//! "Most adaptive prefetching algorithms have a fixed upper limit for the batch size […], all pure
//! sequential streams will be able to reach this upper limit after a short ramp-up stage": here the
//! initial window, then twice as much each time, as in the kernel that the paper changed. The
//! [trigger](Trigger) divides T_total among streams.

mod equal_safety;
mod equal_time;
mod trigger;

pub use trigger::{FLOOR, Trigger};

use super::cp;
use crate::demand::Supply;
use crate::reason::{Reason, Size};
use crate::seams::{Needs, Plan, Prefetcher, Sight};

/// The size of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Degree {
    /// This many blocks.
    Fixed(u32),
    /// The competitive depth of the device (CP §2).
    Competitive,
}

/// The sum of all trigger distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Total {
    /// This many blocks for each active stream: T_default (SCM §4.1.4).
    PerStream(u32),
    /// The room of all streams for blocks ahead, less half a piece for each: "the average
    /// per-stream inventory level […] is T + P/2".
    Memory,
}

/// The degree at this access.
fn degree(sight: &Sight<'_>, degree: Degree) -> Size {
    match degree {
        Degree::Fixed(blocks) => Size::new(blocks.max(1), Reason::Policy),
        // On an array that is thousands of blocks: no more of them than memory has room for beside
        // the piece being read.
        Degree::Competitive => cp::depth(sight, sight.longest_piece),
    }
}

/// T_total for `streams`, of which each fetches `degree` at a time and all may have `room` blocks
/// ahead.
fn total(total: Total, degree: u32, streams: u32, room: u32) -> u32 {
    match total {
        Total::PerStream(blocks) => blocks.saturating_mul(streams),
        Total::Memory => room.saturating_sub((degree / 2).saturating_mul(streams)),
    }
}

/// Pieces of one degree, at trigger distances that streams share.
#[derive(Clone, Copy, Debug)]
pub struct SupplyChain {
    /// How the distances are divided.
    pub trigger: Trigger,
    /// P.
    pub degree: Degree,
    /// T_total.
    pub total: Total,
    /// The slots in which demand is counted, milliseconds.
    pub slot_ms: u32,
}

impl Prefetcher for SupplyChain {
    fn needs(&self) -> Needs {
        Needs { demand: Some(u64::from(self.slot_ms) * 1_000_000), ..Needs::default() }
    }

    fn plan(&mut self, sight: &Sight<'_>) -> Plan {
        let degree = degree(sight, self.degree);
        if sight.fresh {
            return Plan::first(sight.first_window(degree));
        }
        if sight.lost {
            // As the kernel that the paper changed: see `linux`.
            return Plan::NOTHING;
        }
        let Size { blocks: piece, reason } = sight.slow_start(degree);
        let total = total(self.total, degree.blocks, sight.supply.streams, sight.room);
        let distance = self.trigger.distance(&Supply { total, ..sight.supply }, degree.blocks);
        if sight.missed.is_some() || sight.stream.remaining() <= distance {
            return Plan { distance, ..Plan::one(piece) }.because(reason, self.trigger.reason());
        }
        Plan::NOTHING
    }
}

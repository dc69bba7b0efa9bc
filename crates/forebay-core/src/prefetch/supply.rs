//! Supply-chain prefetching (SCM §4.1): pieces of a fixed degree P, each fetched once no more than T blocks of the stream are unread.
//!
//! "Most adaptive prefetching algorithms have a fixed upper limit for the batch size […], all pure sequential streams will be able to
//! reach this upper limit after a short ramp-up stage": here the initial window, then twice as much each time, as in the kernel that
//! the paper changed. What T is, is the [trigger](crate::trigger)'s to say.

use super::{Plan, Reason, Sight, Size, competitive};
use crate::trigger::{Supply, Trigger};

/// How much a piece has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Degree {
    /// So many blocks.
    Fixed(u32),
    /// The competitive depth of the device (CP §2).
    Competitive,
}

/// What all trigger distances add up to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Total {
    /// So many blocks for each active stream: T_default (SCM §4.1.4).
    PerStream(u32),
    /// What memory allows all streams to have ahead, less half a piece for each: "the average per-stream inventory level […] is T + P/2".
    Memory,
}

/// The degree at this access.
fn degree(sight: &Sight<'_>, degree: Degree) -> Size {
    match degree {
        Degree::Fixed(blocks) => Size::new(blocks.max(1), Reason::Policy),
        // On an array that is thousands of blocks: no more of them than memory has room for beside the piece being read.
        Degree::Competitive => competitive::depth(sight, sight.longest_piece),
    }
}

/// T_total for `streams`, of which each fetches `degree` at a time and all may have `room` blocks ahead.
fn total(total: Total, degree: u32, streams: u32, room: u32) -> u32 {
    match total {
        Total::PerStream(blocks) => blocks.saturating_mul(streams),
        Total::Memory => room.saturating_sub((degree / 2).saturating_mul(streams)),
    }
}

pub(super) fn plan(sight: &Sight<'_>, trigger: Trigger, most: Degree, sum: Total) -> Plan {
    let degree = degree(sight, most);
    if sight.fresh {
        return Plan::first(sight.first_window(degree));
    }
    if sight.lost {
        // As the kernel that the paper changed: see `linux`.
        return Plan::NOTHING;
    }
    let Size { blocks: piece, reason } = sight.slow_start(degree);
    let supply = Supply { total: total(sum, degree.blocks, sight.supply.streams, sight.room), ..sight.supply };
    let distance = trigger.distance(&supply, degree.blocks);
    if sight.missed.is_some() || sight.stream.remaining() <= distance {
        return Plan { distance, ..Plan::one(piece) }.because(reason, trigger.reason());
    }
    Plan::NOTHING
}

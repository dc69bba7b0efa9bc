//! The papers' prefetching joined (`auto`): a piece is what the device transfers in the time of one switch (CP §2), it is fetched when
//! no more is unread than will be read until it has come (SCM §4.1), and nothing beyond where readers are known to stop.
//!
//! CP has the next piece fetched once its predecessor is entered, T = S_p. That is the most that SCM §5.2.4 allows, and enough as long as a
//! piece comes before its predecessor is read. A fast reader beside many slow ones waits longer than that for its turn at the device. What it
//! reads meanwhile is R · t_prefetch, T_C, half as much again covers what is irregular, and of memory it has its part by Equal Time
//! Supplies. So T = max(S_p, min(1.5 · T_C, T_ETS)), in several pieces, if need be.
//!
//! S_p is for streams that may end at any moment. One that has been read for long is likely to be read for about as long again (whatever the
//! scale of lengths is), so what was read stands for its length L, and pieces are p = √(S_p · L / 1.5), as
//! [`competitive`](super::competitive) has it, once that is twice S_p. Switches and what is fetched in vain then take
//! 2 · √(1.5 · S_p / L) of the stream's own transfer, at most the whole of it: twice the optimum remains the bound.

use super::{Plan, Reason, Sight, Size, competitive, habits};
use crate::trigger::{Supply, Trigger, cycle};

/// The slots in which demand is counted, nanoseconds.
pub(super) const SLOT: u64 = 100_000_000;

/// The parts, each of which can be left out to see what it is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Joined {
    /// Whether what is known of a file, its length and how far it was read before, stands in for slow start.
    pub whole: bool,
    /// Whether pieces are as large as the mean length of streams so far makes them best.
    pub lengths: bool,
    /// Whether fast readers have more ahead than a piece.
    pub demand: bool,
    /// Whether what is known of a program context counts: how long its streams are, and that it reads at random.
    pub habits: bool,
}

pub(super) fn plan(sight: &Sight<'_>, parts: Joined) -> Plan {
    let depth = depth(sight);
    // What is asked for at once, up to where it is wanted, is not smaller for that streams are short.
    let at_once = depth.at_least(sight.competitive_depth.min(sight.longest_piece), Reason::Competitive);
    if let Some(end) = sight.wanted_end.filter(|&end| end > sight.stream.next) {
        return competitive::up_to(sight, end, at_once);
    }
    if let Some(plan) = sight.habits.and_then(|known| habits::plan(sight, known, at_once)) {
        return plan;
    }
    if sight.fresh {
        return Plan::first(sight.first_window(depth));
    }
    let Size { blocks: piece, reason } = sight.slow_start(depth);
    // While pieces double, no more is ahead than three times what was read.
    let consumed = sight.stream.next - sight.stream.first.min(sight.stream.next);
    let started = consumed.saturating_mul(3) / depth.blocks;
    let lanes = (sight.channels / sight.active).min(started).min(sight.share / piece).max(1);
    let ahead = if parts.demand { distance(sight, piece) } else { Size::default() };
    let ahead = ahead.at_most(started.saturating_mul(piece), Reason::SlowStart);
    let due =
        if ahead.blocks > piece.saturating_mul(lanes) { ahead.reason } else { competitive::lanes_or_window(lanes) };
    let plan = |pieces| Plan { piece, pieces, distance: ahead.blocks, ..Plan::NOTHING }.because(reason, due);
    if sight.missed.is_some() {
        // The last piece is used up, or lost: the demand itself begins the next one.
        return plan(lanes.max(ahead.blocks / piece));
    }
    let remaining = sight.stream.remaining();
    let wanted = piece.saturating_mul(lanes).max(ahead.blocks);
    if sight.in_ahead_window() || remaining + piece <= wanted {
        let pieces = wanted.saturating_sub(remaining).div_ceil(piece);
        return plan(pieces.clamp(1, lanes.max(ahead.blocks / piece).max(1)));
    }
    Plan::NOTHING
}

/// S_p, or what the length of streams makes best: the mean, or, if that is more, what this one has had already.
fn depth(sight: &Sight<'_>) -> Size {
    let read = sight.stream.next - sight.stream.first.min(sight.stream.next);
    let long = read / 6 >= sight.competitive_depth && sight.mean_length.is_none_or(|mean| mean < read);
    let length = if long { Some(read) } else { sight.mean_length };
    // Of a piece that has room for the request alone nothing is ahead, and every read waits.
    let request = sight.request.saturating_mul(2);
    let seen = Sight { mean_length: length, request, ..*sight };
    let Size { blocks, reason } = competitive::depth(&seen, sight.longest_piece);
    Size::new(blocks, if long && reason == Reason::MeanLength { Reason::ReadSoFar } else { reason })
}

/// How many blocks the stream's reader needs ahead beyond the piece that it reads, as far as memory allows.
fn distance(sight: &Sight<'_>, piece: u32) -> Size {
    let supply = sight.supply;
    let needed = cycle(supply.rate, supply.lead_time).saturating_mul(3) / 2;
    let needed = u32::try_from(needed).unwrap_or(u32::MAX);
    let pieces = piece.saturating_mul(supply.streams);
    let supply = Supply { total: sight.room.saturating_sub(pieces), ..supply };
    Size::new(needed, Reason::Demand).at_most(Trigger::EqualTime.distance(&supply, needed), Reason::Memory)
}

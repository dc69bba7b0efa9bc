//! Competitive prefetching (CP §2, CPEM §3): fetch as much as the device transfers in the time of one switch,
//! S_p = C_switch · R_tr, and the total disk time is at most twice that of the optimal offline strategy.
//!
//! Slow start: "a relatively small initial prefetching depth (i.e., 16 pages). When the data access pattern is deemed as
//! sequential, the depth for each additional prefetching operation is doubled until it reaches the desired competitive
//! prefetching depth."
//!
//! The trigger is the kernel's, which CP left as it was: an access within the ahead window, the latest piece, issues the next
//! one, also if the window is still on its way. So a reader that the device keeps waiting has two pieces queued side by side,
//! and a visit of the arm transfers both.
//!
//! A store that serves several requests at once (`channels` > 1) has that many times the bandwidth at the same switch
//! cost (CP §4, "larger competitive prefetching depths"): the active streams share its channels, and each keeps as many
//! pieces under way as it has channels. Slow start goes on over these. While pieces double, a reader that waits has one piece
//! under way and one of twice its size behind it, together three times what was read before; with several channels
//! no more than that is ahead, either.
//!
//! Where memory has room for no more than a request of each stream, Ŝp to the letter (CPEM §4.2) would save no switch: who has less ahead than he asks
//! for at a time misses at every read. So there pieces are whole requests, the nearest number to what may be ahead, and begin with a miss:
//! a piece that is fetched earlier would be what little the latest has left free. A kernel reads page by page: its request is a page, and it
//! comes to that only where a stream's part is no more than one.
//!
//! Slow start is what short streams pay, and the piece behind their end what all pay. Where it is known how far a stream's readers
//! will go ([`knowledge`](crate::knowledge)), neither is needed: everything up to there is asked for at once, piece after piece, so
//! that the arm stays with it, as the offline optimum's would.
//!
//! Where streams have no known end but a mean length L, the depth D = S_p need not be that of the worst case. Of a stream, L / p
//! pieces cost a switch each, as much as the transfer of D blocks; and one and a half pieces are fetched in vain (the one that the
//! stream ends in, and the ahead window). D · L / p + 1.5 · p is least at p = √(D · L / 1.5), the economic order quantity of
//! stock-keeping. It is less than D for streams shorter than 1.5 · D.

use super::{ALWAYS, Plan, Reason, Sight, Size};

pub(super) fn plan(sight: &Sight<'_>, channels: bool, shares: bool) -> Plan {
    let channels = if channels { sight.channels } else { 1 };
    // No piece is smaller than what the reader asks for at a time, else one read would wait for several fetches; on fast
    // flash that can be more than the depth. None is larger than memory allows.
    let longest = if shares { sight.longest_piece } else { u32::MAX };
    let depth = depth(sight, longest);
    if let Some(end) = sight.wanted_end.filter(|&end| end > sight.stream.next) {
        return up_to(sight, end, depth);
    }
    if sight.fresh {
        return Plan::first(sight.first_window(depth));
    }
    if shares && sight.is_short() {
        return short(sight);
    }
    // Slow start: double until the competitive depth is reached.
    let Size { blocks: piece, reason } = sight.slow_start(depth);
    let consumed = sight.stream.next - sight.stream.first.min(sight.stream.next);
    let held = if shares { sight.share / piece } else { channels };
    let lanes = (channels / sight.active).min(consumed.saturating_mul(3) / depth.blocks).min(held).max(1);
    let plan = |pieces| Plan { piece, pieces, ..Plan::NOTHING }.because(reason, lanes_or_window(lanes));
    if sight.missed.is_some() {
        // The last piece is used up, or lost: the demand itself begins the next one.
        return plan(lanes);
    }
    let remaining = sight.stream.remaining();
    let wanted = piece.saturating_mul(lanes);
    if sight.in_ahead_window() || remaining + piece <= wanted {
        let pieces = wanted.saturating_sub(remaining).div_ceil(piece);
        return plan(pieces.clamp(1, lanes));
    }
    Plan::NOTHING
}

/// Where memory has room for about one request of each stream ([`Sight::is_short`]).
fn short(sight: &Sight<'_>) -> Plan {
    if sight.missed.is_none() {
        return Plan::NOTHING;
    }
    let Size { blocks: piece, reason } =
        sight.slow_start(best_depth(sight).at_most(sight.short_piece(), Reason::Memory));
    Plan { piece, pieces: 1, ..Plan::NOTHING }.because(reason, Reason::Memory)
}

/// When the next piece is due where a stream has so many under way.
pub(super) fn lanes_or_window(lanes: u32) -> Reason {
    if lanes > 1 { Reason::Channels } else { Reason::AheadWindow }
}

/// The size of a piece once slow start is over: none is smaller than a request, and none has more than `longest` blocks.
pub(super) fn depth(sight: &Sight<'_>, longest: u32) -> Size {
    best_depth(sight)
        .at_least(sight.request, Reason::Request)
        .at_most(longest, Reason::Memory)
        .at_least(1, Reason::Request)
}

/// S_p, or what the mean length of streams makes best: see the head.
fn best_depth(sight: &Sight<'_>) -> Size {
    let depth = sight.competitive_depth;
    match sight.mean_length {
        Some(length) => {
            let best = |paid: u64| (paid * u64::from(length) * 2 / 3).isqrt().min(u32::MAX.into()) as u32;
            // Who has the device to himself pays for fewer switches, and S_p is enough for him.
            let paid = best(u64::from(depth) * u64::from(sight.interrupted) / u64::from(ALWAYS));
            let enough = best(depth.into()).min(depth).max(paid);
            Size::new(best(depth.into()), Reason::MeanLength)
                .at_most(enough, Reason::Undisturbed)
                .at_most(sight.most, Reason::Largest)
        }
        // The engine keeps it to the largest piece.
        None => Size::new(depth, if depth < sight.most { Reason::Competitive } else { Reason::Largest }),
    }
}

/// All that is wanted and not there, as far as memory allows, in equal pieces of about the depth.
pub(super) fn up_to(sight: &Sight<'_>, end: u32, depth: Size) -> Plan {
    let remaining = if sight.missed.is_some() { 0 } else { sight.stream.remaining() };
    let depth = depth.at_most(sight.enough(), Reason::Undisturbed);
    let short = sight.missed.is_some() && sight.is_short();
    let room = if short { sight.short_piece() } else { sight.share.saturating_sub(remaining) };
    let Size { blocks: rest, reason } = Size::new(end.saturating_sub(sight.from()), Reason::KnownEnd)
        .at_most(room, Reason::Memory)
        .at_most(sight.enough().saturating_sub(remaining), Reason::Undisturbed);
    // Who has enough gets whole pieces, or the trigger moves as the last one shrinks.
    let rest = if reason == Reason::Undisturbed && rest > depth.blocks { rest - rest % depth.blocks } else { rest };
    // Once a stream that memory is too small for is under way, not by dribs and drabs.
    if rest == 0 || (sight.missed.is_none() && !sight.in_ahead_window() && rest < depth.blocks) {
        return Plan::NOTHING;
    }
    let pieces = rest.div_ceil(depth.blocks);
    Plan { piece: rest.div_ceil(pieces), pieces, ..Plan::NOTHING }.because(reason, Reason::KnownEnd)
}

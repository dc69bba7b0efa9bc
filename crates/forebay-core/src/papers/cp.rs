//! Competitive prefetching (CP §2, CPEM §3): fetch as much as the device transfers in the time of
//! one switch, S_p = C_switch · R_tr, and the total disk time is at most twice that of the optimal
//! offline strategy.
//!
//! Slow start: "a relatively small initial prefetching depth […] (i.e., 16 pages). When the data
//! access pattern is deemed as sequential by the OS, the depth for each additional prefetching
//! operation is doubled until it reaches the desired competitive prefetching depth."
//!
//! The depth itself is [`DeviceCost::competitive_depth`](crate::DeviceCost::competitive_depth). The
//! engine asks for it at the place of each fetch, with the mean seek distance
//! (`engine/storage.rs`).
//!
//! The trigger is the kernel's, which CP left as it was: an access within the ahead window, the
//! latest piece, issues the next one, also if the window is still on its way. So a reader that the
//! device keeps waiting has two pieces queued side by side, and a visit of the arm transfers both.
//!
//! A store that serves several requests at once (`channels` > 1) has that many times the bandwidth
//! at the same switch cost (CP §4, "larger competitive prefetching depths"). The active streams
//! share its channels, and each keeps as many pieces under way as it has channels. Slow start goes
//! on over these. While pieces double, a reader that waits has one piece under way and one of twice
//! its size behind it, together three times the blocks read before; with several channels no more
//! than that is ahead, either.
//!
//! If memory has room for only about one request of each stream, Ŝp to the letter (CPEM §4.2) would
//! save no switch: a stream with less than a request ahead misses at every read. So pieces are
//! whole requests there, as many as come nearest to the share, and begin with a miss: an earlier
//! piece would have only the few blocks that the latest has left free. A kernel reads page by page,
//! so its request is a page, and this holds for it only where a stream's share is no more than one.

use crate::reason::{Reason, Size};
use crate::seams::{Plan, Prefetcher, Sight};

/// Competitive prefetching.
#[derive(Clone, Copy, Debug)]
pub struct Competitive {
    /// Whether a device with several channels is fetched from over all of them (CP §4).
    pub channels: bool,
    /// Whether a stream keeps to its share of the room for blocks ahead.
    pub shares: bool,
}

impl Prefetcher for Competitive {
    fn plan(&mut self, sight: &Sight<'_>) -> Plan {
        let channels = if self.channels { sight.channels } else { 1 };
        // No piece is smaller than a request, else one read would wait for several fetches; on fast
        // flash a request can be more than the depth. None is larger than memory allows.
        let longest = if self.shares { sight.longest_piece } else { u32::MAX };
        let depth = depth(sight, longest);
        if sight.fresh {
            return Plan::first(sight.first_window(depth));
        }
        if self.shares && sight.is_short() {
            return short(sight);
        }
        next(sight, depth, if self.shares { sight.share } else { u32::MAX }, channels / sight.active)
    }
}

/// The next pieces of a stream that goes on, which may have `share` blocks ahead and has so many of
/// the device's channels.
pub fn next(sight: &Sight<'_>, depth: Size, share: u32, channels: u32) -> Plan {
    // Slow start: double until the competitive depth is reached.
    let Size { blocks: piece, reason } = sight.slow_start(depth);
    let consumed = sight.stream.next - sight.stream.first.min(sight.stream.next);
    let lanes = channels.min(consumed.saturating_mul(3) / depth.blocks).min(share / piece).max(1);
    let why = if lanes > 1 { Reason::Channels } else { Reason::AheadWindow };
    let plan = |pieces| Plan { piece, pieces, ..Plan::NOTHING }.because(reason, why);
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
        sight.slow_start(competitive_depth(sight).at_most(sight.short_piece(), Reason::Memory));
    Plan { piece, pieces: 1, ..Plan::NOTHING }.because(reason, Reason::Memory)
}

/// The size of a piece once slow start is over: none is smaller than a request, and none has more
/// than `longest` blocks.
pub fn depth(sight: &Sight<'_>, longest: u32) -> Size {
    bounded(competitive_depth(sight), sight, longest)
}

/// A depth of a piece within its bounds.
pub fn bounded(depth: Size, sight: &Sight<'_>, longest: u32) -> Size {
    depth.at_least(sight.request, Reason::Request).at_most(longest, Reason::Memory).at_least(1, Reason::Request)
}

/// S_p, which the engine knows of the device at the stream's place and bounds by the largest piece.
pub fn competitive_depth(sight: &Sight<'_>) -> Size {
    let depth = sight.competitive_depth;
    Size::new(depth, if depth < sight.most { Reason::Competitive } else { Reason::Largest })
}

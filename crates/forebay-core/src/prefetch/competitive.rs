//! Competitive prefetching (CP §2, CPEM §3): fetch as much as the device transfers in the time of one switch,
//! S_p = C_switch · R_tr, and the total disk time is at most twice that of the optimal offline strategy.
//!
//! Slow start: "a relatively small initial prefetching depth (i.e., 16 pages). When the data access pattern is deemed as
//! sequential, the depth for each additional prefetching operation is doubled until it reaches the desired competitive
//! prefetching depth."
//!
//! When to fetch is not in the paper; its bound allows one piece of waste (Eq. 3). So while others keep the device busy the
//! next piece is fetched when the last is used up: fetching it earlier would not make the device faster, only add
//! a piece to what may be wasted. While the device has nothing else to do the next piece comes early, when the reader enters the
//! latest one, and costs nobody anything.
//!
//! A store that serves several requests at once (`channels` > 1) has that many times the bandwidth at the same switch
//! cost (CP §4, "larger competitive prefetching depths"): the active streams share its channels, and each keeps as many
//! pieces under way as it has channels.

use super::{Plan, Sight};
use crate::files::INITIAL_WINDOW;

pub(super) fn plan(sight: &Sight<'_>) -> Plan {
    if sight.fresh {
        return Plan::one(sight.initial_window);
    }
    // Slow start: double until the competitive depth is reached.
    let piece = (sight.stream.piece.max(INITIAL_WINDOW / 2) * 2).min(sight.competitive_depth).max(1);
    let lanes = (sight.channels / sight.active).max(1);
    if sight.missed.is_some() {
        // The last piece is used up, or lost: the demand itself begins the next one.
        return Plan { piece, pieces: lanes };
    }
    let idle = sight.under_way < sight.channels;
    let remaining = sight.stream.remaining();
    let wanted = piece.saturating_mul(lanes);
    if idle && (sight.in_ahead_window() || remaining + piece <= wanted) {
        let pieces = wanted.saturating_sub(remaining).div_ceil(piece);
        return Plan { piece, pieces: pieces.clamp(1, lanes) };
    }
    Plan::NOTHING
}

//! The papers' prefetching joined: a piece is as much as the device transfers in the time of one
//! switch (CP §2). It is fetched once its predecessor is entered (CP §3), or earlier, over as many
//! channels as the device has for each stream (CP §4). Nothing is fetched beyond the block where
//! readers are known to stop.
//!
//! SCM §4.1 fetches for a fast reader before it enters the latest piece, and divides memory by
//! rates. Here that gained 3 % at most and cost as much elsewhere, so `auto` does not count demand
//! (`docs/notes/2026-11-29-auto-parts.md`); the presets `ets` and `esf` do.
//!
//! A reader that skips blocks is read through its gaps while that is quicker than to go over them
//! ([`gap_worth`]).
//!
//! Where there is not even room for a request of each stream, pieces are whole requests, fetched
//! with a miss, as [`cp`](crate::papers::cp) has it.
//!
//! Short streams pay for slow start, and all streams for the piece behind their end. If it is known
//! how far a stream's readers will go ([`knowledge`](super::knowledge)), neither is needed. All
//! blocks up to there are asked for at once, piece after piece, so that the arm stays with the
//! stream, as the offline optimum's would.
//!
//! If streams have no known end but a mean length L, the depth D = S_p need not be that of the
//! worst case. The L / p pieces of a stream cost a switch each, as much as the transfer of D
//! blocks. One and a half pieces are fetched in vain (the one that the stream ends in, and the
//! ahead window). D · L / p + 1.5 · p is least at p = √(D · L / 1.5), the economic order quantity
//! of stock-keeping. It is less than D for streams shorter than 1.5 · D.
//!
//! A stream that has been read for L blocks is likely to be read for about as long again, whatever
//! the scale of lengths is. Once the formula gives twice S_p for these L blocks, they stand for the
//! mean length. Switches and blocks fetched in vain then take 2 · √(1.5 · S_p / L) of the stream's
//! own transfer, at most the whole of it: twice the optimum remains the bound.

use super::knowledge::Habits;
use super::odds;
use crate::devices::ALWAYS;
use crate::papers::cp;
use crate::reason::{Reason, Size};
use crate::seams::{Plan, Sight};

/// A stream at an access, and the knowledge of how far it will go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook<'a> {
    /// The engine's view.
    pub(super) sight: &'a Sight<'a>,
    /// The block up to which the stream's readers are known to want it.
    pub(super) end: Option<u32>,
    /// The mean length of streams like it.
    pub(super) mean_length: Option<u32>,
    /// The habits of streams like it.
    pub(super) habits: Option<&'a Habits>,
    /// Whether these are habits of the stream's own program context, not of its device as a whole.
    pub(super) of_context: bool,
}

impl Outlook<'_> {
    /// The block up to which a stream is fetched that is expected to go to `end`. A hint of an
    /// earlier run counts for no more than a switch is worth, until a stream of this run has gone
    /// on.
    pub(super) fn believed(&self, end: u32) -> u32 {
        let hearsay = self.sight.fresh && self.of_context && self.habits.is_some_and(Habits::is_hearsay);
        if hearsay { end.min(self.sight.stream.next.saturating_add(self.sight.competitive_depth)) } else { end }
    }

    /// S_p, or the best depth for the mean length of streams: see the head.
    fn best_depth(&self) -> Size {
        let Some(length) = self.mean_length else { return cp::competitive_depth(self.sight) };
        let depth = self.sight.competitive_depth;
        let best = |paid: u64| (paid * u64::from(length) * 2 / 3).isqrt().min(u32::MAX.into()) as u32;
        let always = best(depth.into());
        // A stream that has the device to itself pays for fewer switches, and S_p is enough for it.
        let enough = match self.sight.interrupted {
            ALWAYS => always,
            part => always.min(depth).max(best(u64::from(depth) * u64::from(part) / u64::from(ALWAYS))),
        };
        Size::new(always, Reason::MeanLength)
            .at_most(enough, Reason::Undisturbed)
            .at_most(self.sight.most, Reason::Largest)
    }
}

/// The plan of an access.
pub(super) fn plan(outlook: &Outlook<'_>) -> Plan {
    let sight = outlook.sight;
    if sight.stream.is_sparse(gap_worth(sight)) {
        return Plan::NOTHING.because(Reason::Sparse, Reason::Nothing);
    }
    if sight.is_short() && sight.missed.is_none() {
        return Plan::NOTHING.because(Reason::Memory, Reason::Memory);
    }
    let longest =
        if sight.is_short() { sight.short_piece() } else { sight.longest_piece.min(longest_for_channels(sight)) };
    let depth = depth(outlook, longest);
    // Pieces that are asked for at once, up to a known end, are not smaller because streams are
    // short.
    let at_once = depth.at_least(sight.competitive_depth.min(longest), Reason::Competitive);
    if let Some(end) = outlook.end.filter(|&end| end > sight.stream.next) {
        return up_to(sight, outlook.believed(end), at_once);
    }
    if let Some(plan) = outlook.habits.and_then(|known| odds::plan(outlook, known, at_once)) {
        return by_odds(plan);
    }
    if sight.fresh {
        return Plan::first(sight.first_window(depth));
    }
    let with_next = sight.stream.remaining().saturating_add(sight.slow_start(depth).blocks);
    if sight.missed.is_none() && with_next >= sight.longest_piece.saturating_mul(2) {
        // It had more memory when its latest piece was fetched.
        return Plan::NOTHING;
    }
    cp::next(sight, depth, sight.share, sight.lanes())
}

/// A gap of up to so many blocks is read through. Another stream that comes in between costs a
/// switch, as much as the transfer of S_p; if none does the device only goes over the gap.
fn gap_worth(sight: &Sight<'_>) -> u32 {
    let interrupted = u64::from(sight.interrupted.min(ALWAYS));
    let alone = u64::from(ALWAYS) - interrupted;
    let both = u64::from(sight.competitive_depth) * interrupted + u64::from(sight.over_gap) * alone;
    (both / u64::from(ALWAYS)) as u32
}

/// The longest piece of which a stream's channels can all have one while another is read.
///
/// If W blocks may be ahead, in pieces of p, W / p − 1 pieces are under way, and W − p blocks come
/// in the time of a switch and a piece. That is the more the shorter pieces are, until all c
/// channels are busy, which is so at p = W / (c + 1).
///
/// A connection brings nothing until the first byte. So fast readers, which use all of the rate,
/// have c · S_p more under way: p = (W − c · S_p) / (c + 1). That cuts no piece below 3 · S_p, of
/// which three quarters of the time are transfer. Nothing cuts one below a quarter of S_p: half as
/// long a piece brings less than a ninth more there, for twice the requests.
fn longest_for_channels(sight: &Sight<'_>) -> u32 {
    let (lanes, depth) = (sight.lanes(), sight.competitive_depth);
    if lanes <= 1 {
        return u32::MAX;
    }
    let piece = |blocks: u32| blocks / lanes.saturating_add(1);
    let busy = piece(sight.share);
    busy.min(piece(sight.share.saturating_sub(lanes.saturating_mul(depth))).max(depth.saturating_mul(3)))
        .max(depth / 4)
        .max(1)
}

/// S_p, or the best depth for a length: the mean one, or, if that is more, that of the blocks read
/// of this stream.
fn depth(outlook: &Outlook<'_>, longest: u32) -> Size {
    let sight = outlook.sight;
    let read = sight.stream.next - sight.stream.first.min(sight.stream.next);
    let long = read / 6 >= sight.competitive_depth && outlook.mean_length.is_none_or(|mean| mean < read);
    let length = if long { Some(read) } else { outlook.mean_length };
    // A piece with room for the request alone has nothing ahead, and every read waits.
    let request = sight.request.saturating_mul(2);
    let best = Outlook { mean_length: length, ..*outlook }.best_depth();
    let Size { blocks, reason } = cp::bounded(best, &Sight { request, ..*sight }, longest);
    Size::new(blocks, if long && reason == Reason::MeanLength { Reason::ReadSoFar } else { reason })
}

/// All absent blocks up to `end`, as far as memory allows, in equal pieces of about the depth.
pub(super) fn up_to(sight: &Sight<'_>, end: u32, depth: Size) -> Plan {
    let remaining = if sight.missed.is_some() { 0 } else { sight.stream.remaining() };
    let depth = depth.at_most(enough(sight), Reason::Undisturbed);
    let short = sight.missed.is_some() && sight.is_short();
    let room = if short { sight.short_piece() } else { sight.share.saturating_sub(remaining) };
    let Size { blocks: rest, reason } = Size::new(end.saturating_sub(sight.from()), Reason::KnownEnd)
        .at_most(room, Reason::Memory)
        .at_most(enough(sight).saturating_sub(remaining), Reason::Undisturbed);
    // A stream that has enough gets whole pieces, or the trigger would move as the last one
    // shrinks.
    let rest = if reason == Reason::Undisturbed && rest > depth.blocks { rest - rest % depth.blocks } else { rest };
    // Once a stream that memory is too small for is under way, it is not fetched in small bits.
    if rest == 0 || (sight.missed.is_none() && !sight.in_ahead_window() && rest < depth.blocks) {
        return Plan::NOTHING;
    }
    let pieces = rest.div_ceil(depth.blocks);
    Plan { piece: rest.div_ceil(pieces), pieces, ..Plan::NOTHING }.because(reason, Reason::KnownEnd)
}

/// How many blocks are enough at once, if they are wanted for certain. If a share i of pieces of n
/// blocks is interrupted, switches take i · S_p / n of their transfer. For a stream that is never
/// interrupted two pieces are enough, for one that always is no number is enough, and in between it
/// is 16 · S_p · i / (1 − i): then switches take (1 − i) / 16.
fn enough(sight: &Sight<'_>) -> u32 {
    let paid = u64::from(sight.interrupted.min(ALWAYS));
    let enough = (u64::from(sight.competitive_depth) * 16 * paid).checked_div(u64::from(ALWAYS) - paid);
    let enough = enough.and_then(|blocks| u32::try_from(blocks).ok()).unwrap_or(u32::MAX);
    enough.max(sight.competitive_depth.saturating_mul(2))
}

/// Reasons by odds: the usual end of streams is no known end, and streams that rarely go on are a
/// reason to fetch nothing.
fn by_odds(plan: Plan) -> Plan {
    let of = |reason| if matches!(reason, Reason::KnownEnd | Reason::Nothing) { Reason::Odds } else { reason };
    plan.because(of(plan.why.piece), of(plan.why.distance))
}

//! The papers' prefetching joined: a piece is as much as the device transfers in the time of one
//! switch (CP §2). It is fetched when no more is unread than will be read until it has come (SCM
//! §4.1). Nothing is fetched beyond the block where readers are known to stop.
//!
//! CP has the next piece fetched once its predecessor is entered, T = S_p. That is the most that
//! SCM §5.2.4 allows, and enough as long as a piece comes before its predecessor is read. A fast
//! reader beside many slow ones waits longer than that for its turn at the device. Meanwhile it
//! reads R · t_prefetch, T_C; half as much again covers irregular reads, and its part of memory is
//! by Equal Time Supplies. So T = max(S_p, min(1.5 · T_C, T_ETS)), in several pieces, if need be.
//!
//! If memory is too short for S_p and as much again behind it, the blocks ahead of a stream are
//! divided otherwise ([`Window`]). The piece gets all but the blocks read until it has come:
//! switches go by pieces, and the distance has only to last for the lead time. The second of two
//! pieces that are read slowly waits in memory for nothing. And with a total M = Σ pᵢ, streams at
//! rates Rᵢ need Σ Rᵢ / pᵢ switches a second. That is least where a page more saves each stream as
//! many, Rᵢ / pᵢ² = λ: pᵢ in proportion to √Rᵢ. Half of memory is divided so and half evenly,
//! because rates are estimates, and some are low for want of memory. So no stream has less than
//! half of what either division gives it, and all together have at most twice the switches of the
//! better one.
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
use crate::demand::{Supply, cycle};
use crate::devices::ALWAYS;
use crate::papers::cp;
use crate::papers::scm::Trigger;
use crate::reason::{Reason, Size};
use crate::seams::{Plan, Sight};

/// The slots in which demand is counted, nanoseconds.
pub(super) const SLOT: u64 = 100_000_000;

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
    /// Whether readers that are fast have more ahead than a piece.
    pub(super) by_demand: bool,
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
    if sight.stream.is_sparse(sight.competitive_depth) {
        return Plan::NOTHING.because(Reason::Sparse, Reason::Nothing);
    }
    let window = Window::of(&sight.supply, sight.longest_piece, sight.request);
    if sight.is_short() && sight.missed.is_none() {
        return Plan::NOTHING.because(Reason::Memory, Reason::Memory);
    }
    let longest =
        if sight.is_short() { sight.short_piece() } else { window.longest().min(longest_for_channels(sight)) };
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
    let Size { blocks: piece, reason } = sight.slow_start(depth);
    // While pieces double, no more is ahead than three times the blocks read.
    let consumed = sight.stream.next - sight.stream.first.min(sight.stream.next);
    let started = consumed.saturating_mul(3) / depth.blocks;
    let lanes = sight.lanes().min(started).min(sight.share / piece).max(1);
    let ahead = if outlook.by_demand { distance(sight, piece) } else { Size::default() };
    let ahead = ahead.at_most(started.saturating_mul(piece), Reason::SlowStart);
    let why = if ahead.blocks > piece.saturating_mul(lanes) { ahead.reason } else { cp::lanes_or_window(lanes) };
    let plan = |pieces| Plan { piece, pieces, distance: ahead.blocks, ..Plan::NOTHING }.because(reason, why);
    if sight.missed.is_some() {
        // The last piece is used up, or lost: the demand itself begins the next one.
        return plan(lanes.max(ahead.blocks / piece));
    }
    let remaining = sight.stream.remaining();
    let wanted = piece.saturating_mul(lanes).max(ahead.blocks);
    let due = remaining < sight.stream.piece.min(window.distance(piece));
    if due || remaining + piece <= wanted {
        let pieces = wanted.saturating_sub(remaining).div_ceil(piece);
        return plan(pieces.clamp(1, lanes.max(ahead.blocks / piece).max(1)));
    }
    Plan::NOTHING
}

/// The blocks ahead of a stream when a piece has just come: that piece, and the distance at which
/// it was due.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// Both together.
    blocks: u32,
    /// The blocks read until a piece has come; half of all if that is not known.
    soon: u32,
}

impl Window {
    /// For one of the streams of `supply`, if a piece of each may have `even` blocks; its reader
    /// asks for `request` at a time.
    fn of(supply: &Supply, even: u32, request: u32) -> Window {
        let Supply { rate, roots, streams, lead_time, .. } = *supply;
        if rate == 0 || roots == 0 {
            // Rates are not known, or not measured.
            return Window { blocks: even.saturating_mul(2), soon: even };
        }
        let by_root = u128::from(even) * u128::from(streams) * u128::from(rate.isqrt()) / u128::from(roots);
        let blocks = even.saturating_add(u32::try_from(by_root).unwrap_or(u32::MAX));
        // A read is seen when it is through: the next one needs its blocks, too.
        let soon = irregular(cycle(rate, lead_time)).saturating_add(request);
        Window { blocks, soon: soon.min(blocks / 2) }
    }

    /// The longest piece.
    fn longest(self) -> u32 {
        (self.blocks - self.soon).max(1)
    }

    /// The distance beside a piece of this many.
    fn distance(self, piece: u32) -> u32 {
        self.blocks.saturating_sub(piece)
    }
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

/// Half as much again covers irregular reads.
fn irregular(blocks: u64) -> u32 {
    u32::try_from(blocks.saturating_mul(3) / 2).unwrap_or(u32::MAX)
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

/// How many blocks the stream's reader needs ahead beyond the piece that it reads, as far as memory
/// allows.
fn distance(sight: &Sight<'_>, piece: u32) -> Size {
    let supply = sight.supply;
    let needed = irregular(cycle(supply.rate, supply.lead_time));
    let pieces = piece.saturating_mul(supply.streams);
    let supply = Supply { total: sight.room.saturating_sub(pieces), ..supply };
    Size::new(needed, Reason::Demand).at_most(Trigger::EqualTime.distance(&supply, needed), Reason::Memory)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demand::SCALE;
    use alloc::vec::Vec;

    const EVEN: u32 = 40;

    /// The windows of streams at such rates, in blocks a second, when a piece takes 50 ms.
    fn windows(rates: &[u64]) -> Vec<Window> {
        let roots = rates.iter().map(|rate| (rate * SCALE).isqrt()).sum();
        let (lead_time, streams) = (50_000_000, rates.len() as u32);
        let supply = |rate: u64| Supply { rate: rate * SCALE, roots, streams, lead_time, ..Supply::default() };
        rates.iter().map(|&rate| Window::of(&supply(rate), EVEN, 1)).collect()
    }

    fn switches(rates: &[u64], pieces: impl Iterator<Item = f64>) -> f64 {
        rates.iter().zip(pieces).map(|(&rate, piece)| rate as f64 / piece).sum()
    }

    /// A hundred at 50 blocks a second beside one at 10,000. Roots in the unit of rates are 226 and
    /// 3200: of the 4040 that are divided by them these are 35 and 501.
    #[test]
    fn what_is_divided_by_roots_saves_as_many_switches_a_page_everywhere() {
        let rates: Vec<u64> = core::iter::repeat_n(50, 100).chain([10_000]).collect();
        let windows = windows(&rates);
        let parts = || windows.iter().map(|window| f64::from(window.blocks - EVEN));
        // Lagrange: R / p² is one number.
        let saved: Vec<f64> = rates.iter().zip(parts()).map(|(&rate, part)| rate as f64 / (part * part)).collect();
        let (least, most) = saved.iter().fold((f64::MAX, 0f64), |(a, b), &s| (a.min(s), b.max(s)));
        assert!(most / least < 1.1, "{least} to {most}");
        assert_eq!((windows[0].blocks, windows[100].blocks), (75, 541));
        // No page moved from one to another saves a switch.
        let moved = |from: usize, to: usize| {
            let part = |(at, part)| part - f64::from(u8::from(at == from)) + f64::from(u8::from(at == to));
            switches(&rates, parts().enumerate().map(part))
        };
        let all = switches(&rates, parts());
        assert!(moved(0, 100) > all * 0.9999 && moved(100, 0) > all * 0.9999);
        // All together have as many as before, with less than twice the switches of either
        // division.
        let sum: u32 = windows.iter().map(|window| window.blocks).sum();
        assert!((2 * EVEN * 101 - 101..=2 * EVEN * 101).contains(&sum), "{sum}");
        let evenly = switches(&rates, rates.iter().map(|_| f64::from(2 * EVEN)));
        let shared = switches(&rates, windows.iter().map(|window| f64::from(window.blocks)));
        assert!(shared < 2.0 * evenly && shared < all, "{shared}, {evenly}, {all}");
    }

    /// A stream with 80 blocks, at 100 a second, reads 5 · 1.5 while a piece comes, and asks for
    /// one more: 72 are left to the piece. A fast one needs as much behind its piece as in it.
    #[test]
    fn a_piece_gets_what_the_distance_can_spare() {
        let slow = windows(&[100])[0];
        assert_eq!((slow.blocks, slow.longest(), slow.distance(72)), (80, 72, 8));
        assert_eq!(slow.distance(30), 50, "what the piece does not take is the distance's");
        let fast = windows(&[100_000])[0];
        assert_eq!((fast.longest(), fast.distance(40)), (40, 40));
        let unknown = Window::of(&Supply { streams: 3, ..Supply::default() }, EVEN, 1);
        assert_eq!((unknown.longest(), unknown.distance(40)), (40, 40));
    }
}

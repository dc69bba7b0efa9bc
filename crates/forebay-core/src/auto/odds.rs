//! What to fetch where it is known how long streams usually are (AMP §6, CP §1.1): up to where the
//! odds make it best to look again ([`Lengths`](super::knowledge::Lengths)), without slow start.
//! Where two pieces more are nearly certain to be wanted that is far away, and the stream has what
//! its demand makes best.
//!
//! The next piece is fetched early if that saves more waiting than it costs. Its reader needs τ,
//! working, to come to the end of what is there, and the fetch takes t. If he goes on, he waits
//! min(τ, t) less. If he does not, whoever asks next waits for what is left of the fetch by then, t
//! − τ. τ is no longer than the device is usually left alone: who reads here and there in turn
//! comes back after seconds, but wants something else at once, and then waits for the fetch as he
//! would have later. While the device has other things to do nobody waits less by it, since that
//! fetch goes before another's; but who is nearly certain to go on need not come back for it.

use super::knowledge::{Habits, Odds};
use super::pieces::{Outlook, up_to};
use crate::reason::{Reason, Size};
use crate::seams::{Plan, Sight};

/// Where hardly any stream goes on, one that skips blocks has come so far by chance until it has
/// gone on as often.
const CHANCE: u32 = 3;

/// `None` if too little is known, or the file speaks for itself.
pub(super) fn plan(outlook: &Outlook<'_>, known: &Habits, depth: Size) -> Option<Plan> {
    let sight = outlook.sight;
    let (stream, lengths) = (sight.stream, known.lengths());
    let first = stream.first.min(stream.next);
    let (read, blocks) = (stream.next - first, sight.blocks - first.min(sight.blocks));
    if sight.is_random && stream.steps < 2 && !outlook.of_context {
        // What streams of this file do says more than what those of its device do in the mean, and
        // less than the stream itself.
        return sight.fresh.then_some(Plan::NOTHING.because(Reason::Nowhere, Reason::AheadWindow));
    }
    if sight.fresh {
        return match lengths.end_if(read, blocks, known.goes_on()) {
            Some(end) => Some(up_to(sight, outlook.believed(first + end), depth)),
            None => known.rarely_goes_beyond(read).then_some(Plan::NOTHING),
        };
    }
    if stream.read < read && stream.steps < CHANCE && lengths.reach(read, read).is_none() && known.rarely_goes_on() {
        return Some(Plan::NOTHING.because(Reason::Nowhere, Reason::Nothing));
    }
    if sight.missed.is_some() {
        let end = lengths.end_if(read, blocks, lengths.reach(read, read)?)?;
        return Some(up_to(sight, first + end, depth));
    }
    let ahead = stream.ahead - first;
    let further = ahead.saturating_add(depth.blocks.saturating_mul(2));
    let goes_on = || further < blocks && lengths.reach(read, further).is_some_and(Odds::are_nearly_certain);
    // Of a stream that was worth a switch already and whose end is not in sight the plan by demand
    // says how many channels it has. What it has under way itself is no reason for less.
    let is_long = read >= sight.competitive_depth && sight.lanes() > 1;
    if is_long && (lengths.reach(read, read).is_none() || goes_on()) {
        return None;
    }
    let lanes = sight.idle.min(sight.lanes());
    if !sight.in_ahead_window() && stream.remaining() >= stream.piece.saturating_mul(lanes) {
        return Some(Plan::NOTHING);
    }
    if goes_on() {
        // Odds matter near where streams end. Up to there it is one like any other, and has what
        // its demand makes best.
        return None;
    }
    let odds = lengths.reach(read, ahead)?;
    let end = lengths.end(ahead, blocks).unwrap_or(ahead);
    let pays = end > ahead && pays(sight, odds, end - ahead);
    Some(if pays { up_to(sight, first + end, depth) } else { Plan::NOTHING })
}

/// Whether a piece should be fetched early that is wanted with such odds.
fn pays(sight: &Sight<'_>, odds: Odds, piece: u32) -> bool {
    if odds.are_nearly_certain() {
        return true;
    }
    let Odds { times: beyond, of: all } = odds;
    let vain = u64::from(all - beyond.min(all));
    // On another channel nobody waits for it.
    if sight.idle > 1 && sight.channels > sight.active {
        return vain <= u64::from(beyond);
    }
    let fetch = u64::from(sight.competitive_depth) + u64::from(piece);
    let work = (u64::from(sight.stream.remaining()).saturating_mul(sight.own_time) / 256).min(fetch);
    let work = sight.respite.map_or(work, |respite| work.min(respite / 256));
    sight.idle > 0 && u64::from(beyond) * work > vain * (fetch - work)
}

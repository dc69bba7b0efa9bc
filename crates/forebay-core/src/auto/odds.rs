//! Prefetching by the usual length of streams (AMP §6, CP §1.1): a stream is fetched up to where
//! the odds make it best to look again ([`Lengths`](super::knowledge::Lengths)), without slow
//! start. If two pieces more are nearly certain to be wanted, that is far away, and the stream is
//! fetched as if it had no end.
//!
//! The next piece is fetched early if that saves more waiting than it costs. Its reader works for τ
//! until the end of the blocks ahead, and the fetch takes t. If the reader goes on, it waits min(τ,
//! t) less. If it does not, the next request waits for the rest of the fetch, t − τ. τ is no longer
//! than the device is usually left alone. A reader of several places in turn comes back after
//! seconds, but reads elsewhere at once, and waits for the fetch then. While the device is busy no
//! reader waits less, since that fetch goes before another's. But if the reader is nearly certain
//! to go on, the device need not come back for the piece.

use super::knowledge::{Habits, Odds};
use super::pieces::{Outlook, up_to};
use crate::reason::{Reason, Size};
use crate::seams::{Plan, Sight};

/// If hardly any stream goes on, a stream that skips blocks counts as chance until it has gone on
/// as often as this.
const CHANCE: u32 = 3;

/// `None` if too little is known, or the file speaks for itself.
pub(super) fn plan(outlook: &Outlook<'_>, known: &Habits, depth: Size) -> Option<Plan> {
    let sight = outlook.sight;
    let (stream, lengths) = (sight.stream, known.lengths());
    let first = stream.first.min(stream.next);
    let (read, blocks) = (stream.next - first, sight.blocks - first.min(sight.blocks));
    if sight.is_random && stream.steps < 2 && !outlook.of_context {
        // The streams of this file tell more than the mean of its device, and less than the stream
        // itself. Of many random readers one often reads behind another, by chance; rarely twice.
        return Some(Plan::NOTHING.because(Reason::Nowhere, Reason::AheadWindow));
    }
    if sight.fresh {
        return match lengths.end_if(read, blocks, known.goes_on()) {
            Some(end) => Some(up_to(sight, outlook.believed(first + end), depth)),
            None => known.rarely_goes_beyond(read).then_some(Plan::NOTHING),
        };
    }
    // The odds that it goes on from here.
    let on = lengths.reach(read, read);
    if stream.read < read && stream.steps < CHANCE && on.is_none() && known.rarely_goes_on() {
        return Some(Plan::NOTHING.because(Reason::Nowhere, Reason::Nothing));
    }
    if on.is_none() && lengths.goes_on(read).is_some_and(|odds| odds.times < odds.of / 2) {
        // No stream came that far, but most ended with a read as this one.
        return Some(Plan::NOTHING);
    }
    if sight.missed.is_some() {
        let end = lengths.end_if(read, blocks, on?)?;
        return Some(up_to(sight, first + end, depth));
    }
    let ahead = stream.ahead - first;
    let further = ahead.saturating_add(depth.blocks.saturating_mul(2));
    let goes_on = || further < blocks && lengths.reach(read, further).is_some_and(Odds::are_nearly_certain);
    // If a stream was worth a switch already and its end is not in sight, CP's plan says
    // how many channels it has. Its own fetches under way are no reason for fewer.
    let is_long = read >= sight.competitive_depth && sight.lanes() > 1;
    if is_long && (on.is_none() || goes_on()) {
        return None;
    }
    let lanes = sight.idle.min(sight.lanes());
    if !sight.in_ahead_window() && stream.remaining() >= stream.piece.saturating_mul(lanes) {
        return Some(Plan::NOTHING);
    }
    if goes_on() {
        // Odds matter near the ends of streams. Up to there the stream is like any other, and is
        // fetched as CP has it.
        return None;
    }
    let odds = lengths.reach(read, ahead)?;
    let end = lengths.end(ahead, blocks).unwrap_or(ahead);
    let pays = end > ahead && pays(sight, odds, end - ahead);
    Some(if pays { up_to(sight, first + end, depth) } else { Plan::NOTHING })
}

/// Whether a piece that is wanted with such odds should be fetched early.
fn pays(sight: &Sight<'_>, odds: Odds, piece: u32) -> bool {
    if odds.are_nearly_certain() {
        return true;
    }
    let Odds { times: beyond, of: all } = odds;
    let vain = u64::from(all - beyond.min(all));
    // On another channel no reader waits for it.
    if sight.idle > 1 && sight.channels > sight.active {
        return vain <= u64::from(beyond);
    }
    let fetch = u64::from(sight.competitive_depth) + u64::from(piece);
    let work = (u64::from(sight.stream.remaining()).saturating_mul(sight.own_time) / 256).min(fetch);
    let work = sight.respite.map_or(work, |respite| work.min(respite / 256));
    sight.idle > 0 && u64::from(beyond) * work > vain * (fetch - work)
}

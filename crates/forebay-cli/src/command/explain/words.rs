//! Reasons in plain words, with the figures that they come from.

use forebay_core::explain::{Ahead, Cache, Device, Duel, Elsewhere, Share, Stream};
use forebay_core::reason::Reason;
use forebay_core::share::{Cause, State};
use forebay_core::walk::Course;
use forebay_live::explain::Explained;

use crate::command::stats::plural;
use crate::size::{about, count};

/// A time in nanoseconds, to read at a glance.
pub(super) fn span(nanoseconds: u64) -> String {
    let value = nanoseconds as f64;
    match nanoseconds {
        0 => "0 s".into(),
        1..1_000 => format!("{nanoseconds} ns"),
        1_000..1_000_000 => format!("{:.1} µs", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} ms", value / 1e6),
        _ => format!("{:.2} s", value / 1e9),
    }
}

/// Why a stream is treated as it is: where its reader is expected elsewhere, else the reasons for
/// the size of its piece, and for the time of its next one.
pub(in crate::command) fn of_stream(explained: &Explained, stream: &Stream) -> String {
    let (device, nothing) = (explained.devices.get(usize::from(stream.device)), Device::default());
    let device = device.map_or(&nothing, |device| &device.of);
    let Explained { ahead, block_bytes, .. } = explained;
    if let Some(elsewhere) = stream.elsewhere.filter(|_| stream.piece == 0) {
        return of_elsewhere(elsewhere);
    }
    let piece = of_piece(stream, device, ahead, *block_bytes);
    match of_distance(stream, device, ahead) {
        Some(distance) => format!("{piece}; {distance}"),
        None => piece,
    }
}

/// The places that a reader is expected to read elsewhere.
fn of_elsewhere(elsewhere: Elsewhere) -> String {
    match elsewhere {
        Elsewhere::Steps { stride, run, ahead } => {
            let [run, every] = [run, stride.unsigned_abs()].map(|blocks| plural(blocks.into(), "block"));
            let way = if stride < 0 { ", backwards" } else { "" };
            format!("its reader takes {run} every {every}{way}: its next steps are fetched, {ahead} at a time")
        }
        Elsewhere::Sequel { ahead } => {
            format!("its reader goes the way of the last one: its next places are fetched, {ahead} at a time")
        }
    }
}

fn of_piece(stream: &Stream, device: &Device, ahead: &Ahead, block_bytes: u32) -> String {
    let switch = || {
        let bytes = u64::from(stream.competitive_depth) * u64::from(block_bytes);
        let rate = bytes as f64 / device.switch_cost.max(1) as f64 * 1e3;
        format!("the device transfers this in the time of a switch: {} at {rate:.1} MB/s", span(device.switch_cost))
    };
    let depth = stream.competitive_depth;
    match stream.why.piece {
        Reason::FirstWindow => "the first window of a stream".into(),
        Reason::Nowhere => "streams of this file do not go on, so new ones begin with few blocks or none".into(),
        Reason::SlowStart => format!("slow start: pieces double, up to {}", goal(stream)),
        Reason::Competitive => switch(),
        Reason::Largest => "the largest piece".into(),
        Reason::MeanLength => {
            let length = stream.mean_length.unwrap_or(0);
            format!("the mean stream has {} blocks: √({depth} · {length} · 2/3)", count(length.into()))
        }
        Reason::ReadSoFar => {
            format!(
                "it may go on for as long as so far: √({depth} · {} · 2/3)",
                count(u64::from(stream.next - stream.first.min(stream.next)))
            )
        }
        Reason::KnownEnd => {
            let end = u64::from(stream.wanted_end.unwrap_or(stream.ahead));
            format!("its readers mostly stop at block {}: all blocks up to there", count(end))
        }
        Reason::Odds if stream.piece == 0 => "by the odds the stream ends here: nothing is fetched ahead".into(),
        Reason::Odds => "as far as similar streams mostly go, by the odds".into(),
        Reason::Sparse => "its reader skips so much that reading the gaps takes longer than a switch past each".into(),
        Reason::NoGain => "nothing is fetched ahead: on its device that brought no more hits".into(),
        Reason::Undisturbed => "more would save no switch: hardly any other reader uses the device".into(),
        Reason::Memory => of_memory(ahead),
        Reason::Request => "the size of its reader's requests".into(),
        Reason::Policy => "the policy's own number".into(),
        Reason::Learnt => "learnt: larger when readers wait, smaller when blocks go unread".into(),
        _ => "nothing was fetched ahead".into(),
    }
}

/// The same in at most 30 characters, for a narrow terminal.
pub(in crate::command) fn in_short(stream: &Stream) -> &'static str {
    match (stream.why.piece, stream.elsewhere.filter(|_| stream.piece == 0)) {
        (_, Some(Elsewhere::Steps { .. })) => "it reads in equal steps",
        (_, Some(Elsewhere::Sequel { .. })) => "it goes the last one's way",
        (Reason::FirstWindow, _) => "first window of a stream",
        (Reason::Nowhere, _) => "streams here do not go on",
        (Reason::SlowStart, _) => "slow start: pieces double",
        (Reason::Competitive, _) => "a switch costs as much",
        (Reason::Largest, _) => "the largest piece there is",
        (Reason::MeanLength, _) => "mean length of streams here",
        (Reason::ReadSoFar, _) => "as much as was read so far",
        (Reason::KnownEnd, _) => "its readers stop there",
        (Reason::Odds, _) => "as far as similar streams go",
        (Reason::Sparse, _) => "its reader skips too much",
        (Reason::NoGain, _) => "ahead brings no hits here",
        (Reason::Undisturbed, _) => "no other reader disturbs it",
        (Reason::Memory, _) => "its share of memory",
        (Reason::Request, _) => "the size of its requests",
        (Reason::Policy, _) => "the policy's own number",
        (Reason::Learnt, _) => "learnt from late and unread",
        _ => "nothing is fetched ahead",
    }
}

/// The end of slow start.
fn goal(stream: &Stream) -> String {
    match stream.mean_length {
        Some(length) => format!("the depth for streams of {} blocks", count(length.into())),
        None => format!("{} blocks", count(stream.competitive_depth.into())),
    }
}

/// The content of the part under the default policy, beside the parts for program contexts.
pub(super) fn of_default(duel: Option<Duel>) -> String {
    match duel {
        Some(Duel { with, without, few: Some(few), whole: true, .. }) => {
            let [with, without, few] = [with, without, few].map(count);
            format!(
                "everything, but few new blocks stay: a sample waits {few} blocks this way, {with} with parts for contexts, {without} without"
            )
        }
        Some(Duel { with, without, lost: true, .. }) => {
            let (with, without) = (count(with), count(without));
            format!("everything: a sample waits {without} blocks this way, {with} with parts for contexts")
        }
        _ => "the blocks of no loop and no one-shot context".into(),
    }
}

/// The share of blocks ahead that one stream may have.
pub(super) fn of_memory(ahead: &Ahead) -> String {
    let Ahead { room, by_ceiling, spare, ordered, streams, .. } = *ahead;
    let room = count(room.into());
    let what = match (by_ceiling, spare, ordered) {
        (false, _, _) => "all that may be ahead",
        (true, 0, 0) => "the prefetch cache's ceiling",
        (true, 0, _) => "which makes switches and misses fewest and is above the prefetch cache's ceiling",
        (true, _, _) => "half of the frames to spare, which is above the prefetch cache's ceiling",
    };
    format!("its part of {room} blocks, {what}, among {}", count(streams.into()))
}

fn of_distance(stream: &Stream, device: &Device, ahead: &Ahead) -> Option<String> {
    Some(match stream.why.distance {
        Reason::KnownEnd if matches!(stream.why.piece, Reason::Memory | Reason::Undisturbed) => {
            let end = u64::from(stream.wanted_end.unwrap_or(stream.ahead));
            format!("its readers mostly stop at block {}: fetched up to there as memory allows", count(end))
        }
        Reason::Odds => "the next at the end of this one, if the stream goes on".into(),
        Reason::AheadWindow => "the next when its reader enters this one".into(),
        Reason::Channels => format!("one under way on each of the device's {} channels", device.channels),
        Reason::Demand => {
            format!("early enough for its rate: 1.5 · {}/s · {}", about(stream.rate), span(device.lead_time))
        }
        Reason::Memory => format!("as early as its part of {} blocks, by its rate, allows", count(ahead.room.into())),
        Reason::SlowStart => "at most three times the blocks read so far are ahead".into(),
        Reason::Even => "as early as for all others".into(),
        Reason::EqualTime => "the earlier the faster it is read".into(),
        Reason::EqualSafety => "the earlier the faster and the less evenly it is read".into(),
        Reason::EveryAccess => "at every access".into(),
        Reason::Policy => "the policy's own distance".into(),
        Reason::Learnt => "at a learnt distance".into(),
        _ => return None,
    })
}

/// The reason for a partition's size.
pub(super) fn of_share(share: &Share, epochs: u64) -> String {
    let state = of_state(share.state);
    let Some(change) = share.change else {
        let since = if epochs == 0 { "no epoch has ended" } else { "its first size" };
        return format!("{since}; {state}");
    };
    let got = change.blocks > 0;
    let what = if got { "got" } else { "gave" };
    let cause = match (change.cause, got) {
        (Cause::Wait, true) => "its readers wait longer than others",
        (Cause::Wait, false) => "its readers wait less long than others",
        (Cause::Worth, true) => "a block saves more here than elsewhere",
        (Cause::Worth, false) => "a block saves more elsewhere",
    };
    let blocks = count(change.blocks.unsigned_abs());
    format!("{what} {blocks} in epoch {} of {}: {cause}; {state}", count(change.epoch), count(epochs))
}

fn of_state(state: State) -> &'static str {
    match state {
        State::Cool => "cool: it waits about as long as others, or less",
        State::Warming => "warming: it waits longer than others, and ever longer",
        State::Cooling => "cooling: it waits longer than others, but less than before",
        State::Warm => "warm: it waits longer than others",
    }
}

/// The prefetch cache, in a line.
pub(super) fn of_cache(cache: &Cache) -> String {
    let per_second = |thousandths: u64| format!("{:.1}", thousandths as f64 / 1e3);
    let (misses, lowest) = (per_second(cache.walk.misses), per_second(cache.walk.lowest));
    let unit = count(cache.unit.into());
    let course = match cache.walk.course {
        Course::Fixed => "which is fixed".into(),
        Course::Rests => "which rests, since hardly any block that was given up is missed".into(),
        Course::Up => format!(
            "which goes up by {unit} an epoch: {misses} misses a second on blocks that were given up, {lowest} at the least since it turned"
        ),
        Course::Down => format!(
            "which goes down by {unit} an epoch: {misses} misses a second on blocks that were given up, {lowest} at the least since it turned"
        ),
    };
    format!(
        "prefetch cache: {} unread of at most {} blocks, the ceiling, {course}\n",
        count(cache.unread.into()),
        count(cache.ceiling.into())
    )
}

//! Reasons in plain words, with the figures that they come from.

use forebay_core::explain::{Ahead, Cache, Device, Duel, Elsewhere, Share, Stream};
use forebay_core::reason::Reason;
use forebay_core::share::{Cause, State};
use forebay_core::walk::Course;
use forebay_live::explain::Explained;

use crate::command::stats::plural;
use crate::size::count;

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
/// the size of its piece, and for the time of its next one if it has a piece.
pub(in crate::command) fn of_stream(explained: &Explained, stream: &Stream) -> String {
    let (device, nothing) = (explained.devices.get(usize::from(stream.device)), Device::default());
    let device = device.map_or(&nothing, |device| &device.of);
    if let Some(elsewhere) = elsewhere_alone(stream) {
        return of_elsewhere(elsewhere);
    }
    let piece = of_piece(stream, device, &explained.ahead);
    match of_distance(stream, device, &explained.ahead).filter(|_| stream.piece > 0) {
        Some(distance) => format!("{piece}; {distance}"),
        None => piece,
    }
}

/// The places elsewhere that are fetched for a stream's reader, if that is all that is fetched.
pub(super) fn elsewhere_alone(stream: &Stream) -> Option<Elsewhere> {
    stream.elsewhere.filter(|_| stream.piece == 0)
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

/// Figures beside a reason are as of now. One that does not go with the piece is left out, since
/// the piece was planned by an earlier one.
fn of_piece(stream: &Stream, device: &Device, ahead: &Ahead) -> String {
    let depth = plural(stream.competitive_depth.into(), "block");
    match stream.why.piece {
        Reason::FirstWindow => "the stream is new, so it begins with a few blocks".into(),
        Reason::Nowhere if stream.piece == 0 => {
            "reads of this file mostly do not go on, so nothing is fetched ahead of a new one".into()
        }
        Reason::Nowhere => "reads of this file mostly do not go on, so a new stream begins with few blocks".into(),
        Reason::SlowStart if stream.piece < stream.competitive_depth && stream.mean_length.is_none() => {
            format!("the stream is young: each piece is twice the last, up to {depth} (slow start)")
        }
        Reason::SlowStart => "the stream is young: each piece is twice the last (slow start)".into(),
        Reason::Competitive => {
            let now = if stream.piece == stream.competitive_depth {
                ""
            } else {
                &format!("; where it goes on, that now is {depth}")
            };
            let switch = span(device.switch_cost);
            format!("as much as the device transfers while it moves to another place (a switch), {switch}{now}")
        }
        Reason::Largest => "the largest piece that there is".into(),
        Reason::MeanLength => format!(
            "streams here have {} in the mean: larger pieces would mostly be fetched too far, smaller ones cost more \
             switches",
            plural(stream.mean_length.unwrap_or(0).into(), "block")
        ),
        Reason::ReadSoFar => format!(
            "{} have been read, and it may go on for as long: larger pieces would mostly be fetched too far, smaller \
             ones cost more switches",
            plural((stream.next - stream.first.min(stream.next)).into(), "block")
        ),
        Reason::KnownEnd => {
            let end = u64::from(stream.wanted_end.unwrap_or(stream.ahead));
            format!("its readers mostly stop at block {}: all blocks up to there", count(end))
        }
        Reason::Odds if stream.piece == 0 => {
            "streams like this one mostly end about here, so nothing is fetched ahead (by the odds)".into()
        }
        Reason::Odds => "as far as streams like this one mostly go on from here (by the odds)".into(),
        Reason::Sparse => {
            "nothing more is fetched ahead: its reader skips so much that reading the gaps takes longer than going \
             around each"
                .into()
        }
        Reason::NoGain => {
            "nothing more is fetched ahead: on its device that brings no more hits than keeping blocks that were read"
                .into()
        }
        Reason::Undisturbed => "more would save no switch: hardly any other reader uses the device".into(),
        // The memory of now may be less than the piece had.
        Reason::Memory if ahead.room == 0 => "its part of memory".into(),
        Reason::Memory => format!("its part of the memory for {}", of_all(ahead)),
        Reason::Request => "the size of its reader's requests".into(),
        reason => of_rule(reason, ahead),
    }
}

/// Reasons of policies that have rules of their own.
fn of_rule(reason: Reason, ahead: &Ahead) -> String {
    let words = match reason {
        Reason::Policy => "the policy's own number",
        Reason::Learnt => "learnt: larger when readers wait, smaller when blocks go unread",
        Reason::CaughtUp => {
            "its window doubles whenever its reader has read all that has come, and is halved where memory is too small"
        }
        Reason::ByRead => "its window grows by one read with each read in order",
        _ if ahead.off => "this policy fetches nothing ahead",
        _ => "nothing was fetched ahead",
    };
    words.into()
}

/// The same in at most 30 characters, for a narrow terminal.
pub(in crate::command) fn in_short(stream: &Stream) -> &'static str {
    match (stream.why.piece, elsewhere_alone(stream)) {
        (_, Some(Elsewhere::Steps { .. })) => "it reads in equal steps",
        (_, Some(Elsewhere::Sequel { .. })) => "it goes the last one's way",
        (Reason::FirstWindow, _) => "a new stream",
        (Reason::Nowhere, _) => "streams here do not go on",
        (Reason::SlowStart, _) => "young: pieces double",
        (Reason::Competitive, _) => "as long as a switch takes",
        (Reason::Largest, _) => "the largest piece there is",
        (Reason::MeanLength, _) => "mean length of streams here",
        (Reason::ReadSoFar, _) => "as much as was read so far",
        (Reason::KnownEnd, _) => "its readers stop there",
        (Reason::Odds, _) if stream.piece == 0 => "streams like it end here",
        (Reason::Odds, _) => "as far as similar streams go",
        (Reason::Sparse, _) => "its reader skips too much",
        (Reason::NoGain, _) => "ahead brings no hits here",
        (Reason::Undisturbed, _) => "no other reader disturbs it",
        (Reason::Memory, _) => "its share of memory",
        (Reason::Request, _) => "the size of its requests",
        (Reason::Policy, _) => "the policy's own number",
        (Reason::Learnt, _) => "learnt from late and unread",
        (Reason::CaughtUp, _) => "doubles when all was read",
        (Reason::ByRead, _) => "grows with each read",
        _ => "nothing is fetched ahead",
    }
}

/// The content of the part under the default policy, beside the parts for program contexts.
pub(super) fn of_default(duel: Option<Duel>) -> String {
    let waits = |blocks: u64| format!("{} block transfers", count(blocks));
    match duel {
        Some(Duel { with, without, few: Some(few), whole: true, .. }) => format!(
            "all blocks, but few new ones stay: so a sample of reads waits for {}, if all stay for {}, with a part \
             for each loop for {}",
            waits(few),
            waits(without),
            waits(with)
        ),
        Some(Duel { with, without, lost: true, .. }) if with == without => {
            "all blocks: in a sample of reads a part for each loop would save no waiting".into()
        }
        Some(Duel { with, without, lost: true, .. }) => format!(
            "all blocks: so a sample of reads waits for {}, with a part for each loop for {}",
            waits(without),
            waits(with)
        ),
        _ => "blocks that belong to no loop and are not read only once".into(),
    }
}

/// How many blocks all streams may have ahead, and one of them.
pub(super) fn of_room(ahead: &Ahead) -> String {
    let Ahead { off, room, streams, share, .. } = *ahead;
    let one =
        || if streams > 1 { format!("{} each", plural(share.into(), "block")) } else { "one may have all".into() };
    match room {
        _ if off => "the policy fetches nothing ahead".into(),
        0 => "memory is too small for blocks ahead".into(),
        _ => format!("memory for {}; {}", of_memory(ahead), one()),
    }
}

/// The room for blocks ahead, and its rule.
fn of_memory(ahead: &Ahead) -> String {
    let Ahead { by_ceiling, spare, ordered, .. } = *ahead;
    let why = match (by_ceiling, spare, ordered) {
        (false, _, _) => "a part of it",
        (true, 0, 0) => "the prefetch cache's ceiling",
        (true, 0, _) => "above the prefetch cache's ceiling, since so there are fewest switches and misses",
        (true, _, _) => "above the prefetch cache's ceiling, since other blocks leave frames to spare",
    };
    format!("{} ({why})", of_all(ahead))
}

/// The room for blocks ahead.
fn of_all(ahead: &Ahead) -> String {
    let room = plural(ahead.room.into(), "block");
    match ahead.streams {
        0 | 1 => format!("{room} that may be ahead"),
        streams => format!("{room} that {} streams together may have ahead", count(streams.into())),
    }
}

fn of_distance(stream: &Stream, device: &Device, ahead: &Ahead) -> Option<String> {
    Some(match stream.why.distance {
        Reason::KnownEnd if matches!(stream.why.piece, Reason::Memory | Reason::Undisturbed) => {
            let end = u64::from(stream.wanted_end.unwrap_or(stream.ahead));
            format!("its readers mostly stop at block {}: fetched up to there as memory allows", count(end))
        }
        Reason::Odds => "the next one at the end of this one, if the stream goes on".into(),
        Reason::AheadWindow => "the next one when its reader enters this one".into(),
        Reason::Channels => format!("one under way on each of the device's {} channels", device.channels),
        Reason::Memory => {
            format!("as early as memory allows: its part of {} ahead", plural(ahead.room.into(), "block"))
        }
        Reason::Even => "as early as for all others".into(),
        Reason::EqualTime => "the earlier the faster it is read".into(),
        Reason::EqualSafety => "the earlier the faster and the less evenly it is read".into(),
        Reason::EveryAccess => "the next one at every read".into(),
        Reason::HalfWindow => "it moves on when less than half of it is left".into(),
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
        State::Cool => "its readers wait about as long as others, or less (cool)",
        State::Warming => "its readers wait longer than others, and ever longer (warming)",
        State::Cooling => "its readers wait longer than others, but less than before (cooling)",
        State::Warm => "its readers wait longer than others (warm)",
    }
}

/// The prefetch cache, in a line.
pub(super) fn of_cache(cache: &Cache) -> String {
    let per_second = |thousandths: u64| format!("{:.1}", thousandths as f64 / 1e3);
    let (misses, lowest) = (per_second(cache.walk.misses), per_second(cache.walk.lowest));
    let walks = |way| {
        format!(
            "the ceiling, which goes {way} by {} an epoch until readers miss clearly more blocks that were given up: \
             now {misses} a second, {lowest} at the least since it goes {way}",
            count(cache.unit.into())
        )
    };
    let course = match cache.walk.course {
        Course::Fixed => "the ceiling, which is fixed".into(),
        Course::Rests => "the ceiling, which rests, since hardly any block that was given up is missed".into(),
        Course::Up => walks("up"),
        Course::Down => walks("down"),
    };
    format!(
        "prefetch cache: {} unread; memory keeps {} for such blocks, and more where nothing else needs it ({course})\n",
        plural(cache.unread.into(), "block"),
        count(cache.ceiling.into())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::reason::Why;

    fn of(stream: Stream) -> String {
        of_stream(&Explained { block_bytes: 4096, ..Explained::default() }, &stream)
    }

    /// All reasons that a piece, or the time of the next one, can have.
    const REASONS: [Reason; 25] = [
        Reason::FirstWindow,
        Reason::Nowhere,
        Reason::SlowStart,
        Reason::Competitive,
        Reason::Largest,
        Reason::MeanLength,
        Reason::ReadSoFar,
        Reason::KnownEnd,
        Reason::Odds,
        Reason::NoGain,
        Reason::Sparse,
        Reason::Undisturbed,
        Reason::Memory,
        Reason::Request,
        Reason::Policy,
        Reason::Learnt,
        Reason::CaughtUp,
        Reason::ByRead,
        Reason::AheadWindow,
        Reason::Channels,
        Reason::Even,
        Reason::EqualTime,
        Reason::EqualSafety,
        Reason::EveryAccess,
        Reason::Nothing,
    ];

    #[test]
    fn where_nothing_is_fetched_there_is_no_next_piece() {
        for piece in REASONS {
            for distance in REASONS {
                let why = Why { piece, distance };
                let words = of(Stream { piece: 0, why, ..Stream::default() });
                assert_eq!(words, of(Stream { why: Why { piece, distance: Reason::Nothing }, ..Stream::default() }));
                let next = of(Stream { piece: 8, why, ..Stream::default() });
                assert!(!next.contains("nothing is fetched ahead"), "{next}");
            }
        }
    }

    /// A piece of 38 blocks was planned when a switch cost more than the 19 blocks that it costs
    /// now.
    #[test]
    fn figures_that_the_piece_was_not_planned_by_are_not_given_as_its_reason() {
        let stream = Stream { piece: 38, competitive_depth: 19, rate: 0, distance: 46, ..Stream::default() };
        let why = |piece, distance| of(Stream { why: Why { piece, distance }, ..stream });
        assert!(!why(Reason::SlowStart, Reason::Nothing).contains("19"));
        assert!(why(Reason::Competitive, Reason::Nothing).ends_with("; where it goes on, that now is 19 blocks"));
        let mut young = Stream { piece: 8, ..stream };
        young.why.piece = Reason::SlowStart;
        assert!(of(young).contains("up to 19 blocks"));
    }

    #[test]
    fn more_than_memory_keeps_is_no_contradiction() {
        let words = of_cache(&Cache { ceiling: 2802, unread: 7879, ..Cache::default() });
        assert!(words.contains("7,879 blocks unread; memory keeps 2,802 for such blocks, and more where"), "{words}");
    }

    #[test]
    fn room_is_not_spoken_of_where_there_is_none() {
        let off = Ahead { off: true, room: 2068, streams: 1, share: 2068, ..Ahead::default() };
        assert_eq!(of_room(&off), "the policy fetches nothing ahead");
        assert_eq!(
            of_room(&Ahead { streams: 1, share: 1, ..Ahead::default() }),
            "memory is too small for blocks ahead"
        );
        let five = of_room(&Ahead { room: 2000, streams: 5, share: 400, ..Ahead::default() });
        assert_eq!(
            five,
            "memory for 2,000 blocks that 5 streams together may have ahead (a part of it); 400 blocks each"
        );
    }

    #[test]
    fn samples_of_equal_waits_are_a_plain_sentence() {
        let duel = Duel { with: 125_728, without: 125_728, few: None, lost: true, whole: false };
        let words = of_default(Some(duel));
        assert_eq!(words, "all blocks: in a sample of reads a part for each loop would save no waiting");
        let words = of_default(Some(Duel { with: 9, ..duel }));
        assert!(words.contains("waits for 125,728 block transfers, with a part for each loop for 9 block"), "{words}");
    }
}

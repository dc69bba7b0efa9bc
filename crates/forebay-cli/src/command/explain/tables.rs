//! An explanation as text: a summary, then a table each for streams, devices, partitions, parts of
//! partitions, and contexts.

use std::collections::BTreeSet;

use forebay_core::Pattern;
use forebay_core::explain::Stream;
use forebay_core::reason::Reason;
use forebay_live::engine::Referenced;
use forebay_live::explain::{Explained, Named};

use super::words;
use crate::command::stats::plural;
use crate::size::{about, count};
use crate::table::{Column, Table, WIDTH, folded, shortened};

/// The most characters of a device's name beside a file's.
const DEVICE: usize = 24;

/// The column of contexts with their place.
const WHERE: usize = 6;

/// If fewer streams are active, this many are shown; else all active ones.
const FEW: usize = 20;

/// The fates of blocks that were fetched ahead, below the tables that count them.
const FATES: &str =
    "late: still under way when they were read; wasted: given up unread; thrashed: wasted, and then read\n";

/// The whole explanation.
pub(super) fn text(explained: &Explained) -> String {
    let cache = explained.prefetch_cache.as_ref().map(words::of_cache).unwrap_or_default();
    let parts = [
        format!("{}{}", summary(explained), if cache.is_empty() { cache } else { folded(&cache, WIDTH) }),
        streams(explained),
        ahead_of_streams(explained),
        devices(explained),
        partitions(explained),
        parts_of_partitions(explained),
        contexts(explained),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn summary(explained: &Explained) -> String {
    let Explained { policy, memory_bytes, seconds, .. } = explained;
    let policy = if policy.is_empty() { "unknown policy" } else { policy };
    let active = explained.streams.iter().filter(|stream| stream.of.active).count() as u64;
    let kept = match explained.referenced {
        Referenced::Kept => "",
        Referenced::HandedOn => "; the kernel keeps read blocks",
    };
    let cache = format!(
        "{policy}, {} of memory, after {seconds:.1} s: {} frames of {}, {} free{kept}{}",
        about(*memory_bytes),
        count(explained.frames.into()),
        about(explained.block_bytes.into()),
        count(explained.frames_free.into()),
        beside_frames(explained),
    );
    let streams = format!(
        "{}, {} read in order now; {}",
        plural(explained.stream_count, "stream"),
        if active > 0 { count(active) } else { "none".into() },
        words::of_room(&explained.ahead),
    );
    folded(&cache, WIDTH) + &folded(&streams, WIDTH)
}

/// The memory that is not in frames, if that is worth a word.
fn beside_frames(explained: &Explained) -> String {
    let Explained { memory_bytes, given_bytes, frames, block_bytes, .. } = *explained;
    let framed = u64::from(frames) * u64::from(block_bytes);
    let rest = memory_bytes.saturating_sub(framed);
    let mut text = String::new();
    if rest > memory_bytes / 100 {
        text += &format!("; frames take {}, tables and the process itself {}", about(framed), about(rest));
    }
    if given_bytes > memory_bytes {
        let others = given_bytes - memory_bytes;
        text += &format!(
            "; the other {} of {} are for program contexts, connections and disk tiers",
            about(others),
            about(given_bytes)
        );
    }
    text
}

/// The name of a thing, or its number.
fn called(name: &str, number: impl ToString) -> String {
    if name.is_empty() { number.to_string() } else { name.to_owned() }
}

fn dash() -> String {
    "–".into()
}

fn pattern(pattern: Option<Pattern>) -> String {
    match pattern {
        None => dash(),
        Some(Pattern::OneShot) => "one-shot".into(),
        Some(pattern) => format!("{pattern:?}").to_lowercase(),
    }
}

/// The streams that are shown: the active ones, and others until there are [`FEW`]. Of those that a
/// reader left behind in one file for one reason, only the latest is shown.
fn shown(explained: &Explained) -> Vec<&Named<Stream>> {
    let (active, idle): (Vec<_>, Vec<_>) = explained.streams.iter().partition(|stream| stream.of.active);
    let mut known = BTreeSet::new();
    let alike = |stream: &Stream| (stream.file, stream.handler, words::of_stream(explained, stream));
    let apart = idle.into_iter().filter(|stream| known.insert(alike(&stream.of)));
    let others = FEW.saturating_sub(active.len());
    active.into_iter().chain(apart.take(others)).collect()
}

/// The name of a stream's file.
fn file(stream: &Named<Stream>) -> String {
    called(&stream.name, stream.of.file)
}

/// The positions of streams, and the reasons for the sizes of their pieces.
fn streams(explained: &Explained) -> String {
    let mut table = Table::new([
        Column::left("file"),
        Column::right("reader"),
        Column::right("at block"),
        Column::right("ahead"),
        Column::right("rate"),
        Column::right("idle"),
        Column::right("depth"),
        Column::right("distance"),
    ]);
    let shown = shown(explained);
    for stream in &shown {
        let of = &stream.of;
        table.row([
            file(stream),
            of.handler.to_string(),
            count(of.next.into()),
            count(of.remaining().into()),
            if of.rate > 0 { format!("{}/s", about(of.rate)) } else { dash() },
            words::span(of.idle),
            count(of.piece.into()),
            if of.distance > 0 && of.why.distance != Reason::Nothing { count(of.distance.into()) } else { dash() },
        ]);
        table.note(&words::of_stream(explained, of));
    }
    listed(table.within(WIDTH, 0), shown.len(), explained.stream_count, "other stream")
}

/// The device, reader and context of each stream, and the fate of the blocks fetched ahead for it.
fn ahead_of_streams(explained: &Explained) -> String {
    let several = explained.devices.len() > 1;
    let told_apart = explained.streams.iter().any(|stream| stream.of.pattern.is_some());
    let columns = [
        (Column::left("file"), true),
        (Column::left("device"), several),
        (Column::right("reader"), true),
        (Column::right("context"), told_apart),
        (Column::left("pattern"), told_apart),
        (Column::right("used"), true),
        (Column::right("late"), true),
        (Column::right("wasted"), true),
        (Column::right("thrashed"), true),
    ];
    let mut table = Table::new(columns.iter().filter(|(_, shown)| *shown).map(|&(column, _)| column));
    for stream in shown(explained) {
        let of = &stream.of;
        let device = explained.devices.get(usize::from(of.device));
        let nothing = (of.used, of.late, of.wasted, of.thrashed) == (0, 0, 0, 0);
        let is_elsewhere = nothing && words::elsewhere_alone(of).is_some();
        let counted = |blocks: u32| if is_elsewhere { dash() } else { count(blocks.into()) };
        let cells = [
            file(stream),
            shortened(&called(device.map_or("", |device| &device.name), of.device), DEVICE),
            of.handler.to_string(),
            of.context.to_string(),
            pattern(of.pattern),
            counted(of.used),
            counted(of.late),
            counted(of.wasted),
            counted(of.thrashed),
        ];
        table.row(columns.iter().zip(cells).filter(|((_, shown), _)| *shown).map(|(_, cell)| cell));
        if is_elsewhere {
            table.note("the blocks fetched for such a reader are counted with those of their device, below");
        }
    }
    if table.is_empty() { String::new() } else { table.within(WIDTH, 0).to_string() }
}

/// A table, and how many rows it leaves out; an empty text if the table is empty.
fn listed(table: Table, listed: usize, all: u64, what: &str) -> String {
    match all.saturating_sub(listed as u64) {
        _ if table.is_empty() => String::new(),
        0 => table.to_string(),
        more => format!("{table}and {}\n", plural(more, what)),
    }
}

fn devices(explained: &Explained) -> String {
    let mut table = Table::new([
        Column::left("device"),
        Column::right("switch"),
        Column::right("transfer"),
        Column::right("depth"),
        Column::right("channels"),
        Column::right("lead time"),
        Column::right("under way"),
        Column::right("mean stream"),
    ]);
    let counted = [Column::right("used"), Column::right("late"), Column::right("wasted"), Column::right("thrashed")];
    let mut ahead = Table::new([Column::left("device")].into_iter().chain(counted));
    for (number, device) in explained.devices.iter().enumerate() {
        let of = &device.of;
        let seeks = if of.seek_distance > 0 {
            format!(", which here leads {} further in the mean", about(of.seek_distance))
        } else {
            String::new()
        };
        let name = called(&device.name, number);
        table.row([
            name.clone(),
            words::span(of.switch_cost),
            format!("{:.1} MB/s", of.transfer_rate as f64 / 1e6),
            plural(of.competitive_depth.into(), "block"),
            of.channels.to_string(),
            if of.lead_time > 0 { words::span(of.lead_time) } else { dash() },
            of.under_way.to_string(),
            of.mean_length.map_or_else(dash, |length| plural(length.into(), "block")),
        ]);
        table.note(&format!("depth: as much as it transfers while it moves to another place (a switch){seeks}"));
        ahead.row(std::iter::once(name).chain(of.feedback.map(count)));
    }
    if table.is_empty() {
        return String::new();
    }
    let ahead = listed(ahead.within(WIDTH, 0), explained.devices.len(), explained.device_count, "device");
    format!("{}\n{ahead}{FATES}", table.within(WIDTH, 0))
}

fn partitions(explained: &Explained) -> String {
    let Some(epochs) = explained.epochs else { return String::new() };
    let bytes = |blocks: u32| about(u64::from(blocks) * u64::from(explained.block_bytes));
    let mut table = Table::new([
        Column::left("partition"),
        Column::right("size"),
        Column::right("holds"),
        Column::right("waited for"),
        Column::right("of the mean"),
        Column::right("the next block saves"),
        Column::right("the last one"),
    ]);
    for (number, partition) in explained.partitions.iter().enumerate() {
        let Some(share) = &partition.share else { continue };
        let a_second = |saved: Option<u64>| saved.map_or_else(dash, |saved| format!("{}/s", words::span(saved)));
        table.row([
            called(explained.devices.get(number).map_or("", |device| &device.name), number),
            bytes(partition.size),
            bytes(partition.held),
            if epochs > 0 { words::span(share.wait) } else { dash() },
            if epochs > 0 { format!("{:.0} %", f64::from(share.relative) / 10.0) } else { dash() },
            a_second(share.prospect.map(|prospect| prospect.gain)),
            a_second(share.prospect.map(|prospect| prospect.loss)),
        ]);
        table.note(&words::of_share(share, epochs));
    }
    if table.is_empty() { String::new() } else { table.within(WIDTH, 0).to_string() }
}

fn parts_of_partitions(explained: &Explained) -> String {
    let bytes = |blocks: u32| about(u64::from(blocks) * u64::from(explained.block_bytes));
    let mut table = Table::new([Column::left("partition"), Column::left("part"), Column::right("holds")]);
    for (number, partition) in explained.partitions.iter().enumerate() {
        let device = explained.devices.get(number).filter(|_| explained.epochs.is_some());
        let whose = device.map_or_else(|| "all".into(), |device| called(&device.name, number));
        for (part, &held) in partition.parts.iter().enumerate() {
            let known = part.checked_sub(2).and_then(|part| {
                explained.contexts.iter().find(|context| context.of.part.map(usize::from) == Some(part))
            });
            // An empty part has nothing that could go.
            if held == 0 && part > 0 {
                continue;
            }
            let (name, why) = match (part, known) {
                (0, _) => ("default policy".into(), words::of_default(partition.duel)),
                (1, _) => ("one-shot".into(), "blocks of contexts that read each block once go first".into()),
                (_, None) => (format!("loop {}", part - 2), "a loop without a context, to be freed".into()),
                (_, Some(context)) => {
                    let round = plural(context.of.loop_blocks.into(), "block");
                    let who = called(&context.name, format!("context {}", context.of.context));
                    let who = shortened(&who, WIDTH / 2);
                    (
                        format!("loop {}", part - 2),
                        format!("{who} loops over {round}: the blocks that it used last go first"),
                    )
                }
            };
            table.row([whose.clone(), name, bytes(held)]);
            table.note(&why);
        }
    }
    if table.is_empty() { String::new() } else { table.within(WIDTH, 0).to_string() }
}

fn contexts(explained: &Explained) -> String {
    let mut table = Table::new([
        Column::right("context"),
        Column::left("pattern"),
        Column::right("recency"),
        Column::right("accesses"),
        Column::right("round"),
        Column::right("part"),
        Column::left("where"),
    ]);
    for context in &explained.contexts {
        let of = &context.of;
        table.row([
            of.context.to_string(),
            pattern(Some(of.pattern)),
            of.recency.map_or_else(dash, |recency| format!("{:.2}", f64::from(recency) / 65_536.0)),
            count(of.accesses),
            if of.loop_blocks > 0 { plural(of.loop_blocks.into(), "block") } else { dash() },
            of.part.map_or_else(dash, |part| format!("loop {part}")),
            context.name.clone(),
        ]);
    }
    if table.is_empty() { String::new() } else { table.within(WIDTH, WHERE).to_string() + &legend(explained) }
}

/// The patterns that contexts have, and their recency, in plain words.
fn legend(explained: &Explained) -> String {
    let contexts = || explained.contexts.iter().map(|context| &context.of);
    let words = [
        (Pattern::OneShot, "one-shot: each block is read once"),
        (Pattern::Looping, "looping: the same blocks again and again, in about the same order"),
        (Pattern::Clustered, "clustered: blocks that were read lately are read again"),
        (Pattern::Other, "other: none of the patterns, or not known yet"),
    ];
    let patterns = words.into_iter().filter(|&(pattern, _)| contexts().any(|context| context.pattern == pattern));
    let recency = contexts().any(|context| context.recency.is_some());
    let recency =
        recency.then_some("recency: of the blocks that it reads again, 0 if it read them longest ago, 1 lately");
    let all: Vec<&str> = patterns.map(|(_, words)| words).chain(recency).collect();
    folded(&all.join("; "), WIDTH)
}

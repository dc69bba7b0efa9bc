//! An explanation as text: a summary, then a table each for streams, devices, partitions, parts of
//! partitions, and contexts.

use std::collections::BTreeSet;

use forebay_core::Pattern;
use forebay_core::explain::Stream;
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
    let Explained { policy, memory_bytes, seconds, ahead, .. } = explained;
    let policy = if policy.is_empty() { "unknown policy" } else { policy };
    let active = explained.streams.iter().filter(|stream| stream.of.active).count() as u64;
    let kept = match explained.referenced {
        Referenced::Kept => "",
        Referenced::HandedOn => "; the kernel keeps read blocks",
    };
    let cache = format!(
        "{policy}, {} of memory, after {seconds:.1} s: {} frames of {}, {} free{kept}",
        about(*memory_bytes),
        count(explained.frames.into()),
        about(explained.block_bytes.into()),
        count(explained.frames_free.into()),
    );
    let streams = format!(
        "{}, {} active; all may have {} blocks ahead, each {}",
        plural(explained.stream_count, "stream"),
        count(active),
        count(ahead.room.into()),
        words::of_memory(ahead).replacen("its part of", &format!("{} of", count(ahead.share.into())), 1),
    );
    folded(&cache, WIDTH) + &folded(&streams, WIDTH)
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
            format!("{}/s", about(of.rate)),
            words::span(of.idle),
            count(of.piece.into()),
            if of.distance > 0 { count(of.distance.into()) } else { dash() },
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
        let cells = [
            file(stream),
            shortened(&called(device.map_or("", |device| &device.name), of.device), DEVICE),
            of.handler.to_string(),
            of.context.to_string(),
            pattern(of.pattern),
            count(of.used.into()),
            count(of.late.into()),
            count(of.wasted.into()),
            count(of.thrashed.into()),
        ];
        table.row(columns.iter().zip(cells).filter(|((_, shown), _)| *shown).map(|(_, cell)| cell));
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
            format!(", over {} as its arm does", about(of.seek_distance))
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
        table.note(&format!("depth: as much as it transfers in the time of one switch{seeks}"));
        ahead.row(std::iter::once(name).chain(of.feedback.map(count)));
    }
    if table.is_empty() {
        return String::new();
    }
    let ahead = listed(ahead.within(WIDTH, 0), explained.devices.len(), explained.device_count, "device");
    format!("{}\n{ahead}", table.within(WIDTH, 0))
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
            let (name, why) = match (part, known) {
                (0, _) => ("default policy".into(), words::of_default(partition.duel)),
                (1, _) => ("one-shot".into(), "blocks that are read once go first".into()),
                (_, None) if held == 0 => continue,
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
    if table.is_empty() { String::new() } else { table.within(WIDTH, WHERE).to_string() }
}

//! The streams of a mount, as a table.

use serde::Deserialize;

use super::{IDLE_MS, plural};
use crate::size::{about, count};
use crate::table::{Column, Side, Table, WIDTH};

/// A stream. A mount of another version may lack some fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Stream {
    file: u64,
    path: String,
    handler: u64,
    position: u64,
    depth_blocks: u64,
    ahead_blocks: u64,
    rate_bytes: u64,
    deviation_bytes: Option<u64>,
    distance_blocks: Option<u64>,
    idle_ms: u64,
}

impl Stream {
    /// The path of its file, or the file's number if the mount no longer knows the path.
    fn name(&self) -> String {
        if self.path.is_empty() { format!("file {}", self.file) } else { self.path.clone() }
    }
}

/// The streams that are being read, the busiest first, and how many are idle.
pub(super) fn table(streams: &[Stream]) -> String {
    let mut active: Vec<&Stream> = streams.iter().filter(|stream| stream.idle_ms < IDLE_MS).collect();
    active.sort_by_key(|stream| std::cmp::Reverse(stream.rate_bytes));
    let idle = match streams.len() - active.len() {
        0 => String::new(),
        idle => format!("{} idle for {} s or longer\n", plural(idle as u64, "stream"), IDLE_MS / 1000),
    };
    // Not every policy measures deviations or has trigger distances.
    let deviates = active.iter().any(|stream| stream.deviation_bytes.is_some());
    let triggers = active.iter().any(|stream| stream.distance_blocks.is_some());
    let columns = [
        ("file", true),
        ("reader", true),
        ("position", true),
        ("rate", true),
        ("deviation", deviates),
        ("depth", true),
        ("distance", triggers),
        ("ahead", true),
    ];
    let side = |name| if name == "file" { Side::Left } else { Side::Right };
    let mut table =
        Table::new(columns.iter().filter(|column| column.1).map(|&(name, _)| Column { name, side: side(name) }));
    for stream in active {
        let known = |text: Option<String>| text.unwrap_or_else(|| "–".into());
        let cells = [
            stream.name(),
            stream.handler.to_string(),
            about(stream.position),
            format!("{}/s", about(stream.rate_bytes)),
            known(stream.deviation_bytes.map(|bytes| format!("{}/s", about(bytes)))),
            count(stream.depth_blocks),
            known(stream.distance_blocks.map(count)),
            count(stream.ahead_blocks),
        ];
        table.row(columns.iter().zip(cells).filter(|(column, _)| column.1).map(|(_, cell)| cell));
    }
    if table.is_empty() {
        return idle;
    }
    let blocks = if triggers { "depth, distance and ahead" } else { "depth and ahead" };
    format!("streams, the busiest first; {blocks} in blocks\n{}{idle}", table.within(WIDTH, 0))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::show;

    /// A stream of a long path, with the largest figures.
    fn stream(number: u64, rate: u64, idle_ms: u64) -> Value {
        json!({
            "file": number, "path": format!("a/rather/long/path/of/a/tree/of/many/folders/file-{number:05}.parquet"),
            "handler": 4_194_304, "position": (1u64 << 40) - 1, "rate_bytes": rate, "deviation_bytes": 900 << 20,
            "depth_blocks": 99_999, "distance_blocks": 99_999, "ahead_blocks": 99_999, "idle_ms": idle_ms,
        })
    }

    #[test]
    fn by_path_the_busiest_first_and_idle_ones_in_a_line() {
        let idle = (10..480).map(|number| stream(number, 0, 60_000));
        let streams: Vec<Value> = [stream(1, 1 << 20, 10), stream(2, 900 << 20, 10)].into_iter().chain(idle).collect();
        let device = json!({
            "name": "https://a.rather.long.name.of.a/server/and/its/folder", "hits": 1_234_567_890u64, "misses": 1_234_567,
            "late": 1_234_567, "wasted": 1_234_567, "fetched_bytes": 1u64 << 40, "depth_bytes": 1 << 29,
            "switch_cost_us": 123_456.0, "transfer_mb_s": 12_345.6, "in_flight": 64, "lead_time_us": 123_456.0,
            "partition": {"size_bytes": 1u64 << 40, "held_bytes": 1u64 << 40, "wait_ms": 1e7, "relative_wait": 99.0,
                          "state": "Warming"},
        });
        let context = json!({
            "context": 12, "pattern": "Looping", "recency": 0.5, "accesses": 20_000_000, "blocks": 1_000_000,
            "loop_blocks": 1_000_000, "loop_accesses": 15_000_000, "partition": 2, "executable": "/usr/bin/cscope",
            "frames": ["cscope+0x10", "cscope+0x20", "cscope+0x30"],
        });
        let stats = json!({
            "policy": "lazy-lru:window=100,increment=20,cache=worth", "memory_bytes": 1u64 << 40, "frames": 9, "epochs": 3,
            "device_count": 1, "active_streams": 2, "streams": streams, "devices": [device], "contexts": [context],
            "prefetch_cache": {"unread": 1_234_567, "under_way": 1_234_567, "ceiling": 1_234_567, "unit": 1_234_567},
            "hits": 1_234_567_890u64, "called_off": 1_234_567, "fetched_bytes": 1u64 << 40, "prefetched_bytes": 1u64 << 40,
        });
        let text = show(&stats.to_string(), false).unwrap();
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{}: {line}", line.chars().count());
        }
        let (two, one) = (text.find("file-00002.parquet"), text.find("file-00001.parquet"));
        assert!(two.is_some() && two < one, "{text}");
        assert!(!text.contains("00011"), "{text}");
        assert!(text.contains("470 streams idle for 5 s or longer\n"), "{text}");
    }
}

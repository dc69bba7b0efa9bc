//! `forebay stats`: the live counters of a mount or a server. A mount publishes them as an extended
//! attribute of its root and at its control socket, a server at its address.

mod contexts;
mod streams;
mod tiers;

use std::io::IsTerminal;
use std::time::Duration;

use forebay_live::engine::Referenced;
use forebay_source::TierFigures;
use serde::Deserialize;

use crate::failure::Failure;
use crate::options::Stats;
use crate::output;
use crate::published::published;
use crate::size::{about, count};
use crate::table::{Column, Table, WIDTH, folded};
use contexts::Context;
use streams::Stream;

/// The attribute whose value is the counters as JSON.
const ATTRIBUTE: &str = "user.forebay.stats";

/// A stream without a read for this long is idle.
const IDLE_MS: u64 = 5_000;

/// Clears the terminal and begins at its top.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Shows the counters once, or again every second.
pub(crate) fn run(options: &Stats) -> Result<(), Failure> {
    loop {
        let text = published(&options.mountpoint, ATTRIBUTE, &options.access)?;
        let shown = show(&text, options.json).map_err(|error| {
            Failure::run(format!("{}: its counters are not understood: {error}", options.mountpoint.display()))
        })?;
        let clear = options.watch && !options.json && std::io::stdout().is_terminal();
        output::print(&format!("{}{shown}", if clear { CLEAR } else { "" }))?;
        if !options.watch {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// The counters as a text or as a line of JSON.
fn show(text: &str, json: bool) -> serde_json::Result<String> {
    if json {
        // Through a value, so that the output is one line of valid JSON whatever the mount has
        // sent.
        return serde_json::from_str::<serde_json::Value>(text).map(|value| format!("{value}\n"));
    }
    serde_json::from_str(text).map(|counters: Counters| counters.text())
}

/// Counters of blocks. A mount of another version may lack some.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counts {
    hits: u64,
    misses: u64,
    joined: u64,
    late: u64,
    used: u64,
    wasted: u64,
    thrashed: u64,
    called_off: u64,
    fetched_bytes: u64,
    prefetched_bytes: u64,
    errors: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counters {
    policy: String,
    referenced: Referenced,
    memory_bytes: u64,
    frames: u64,
    frames_free: u64,
    #[serde(flatten)]
    counts: Counts,
    active_streams: u64,
    prefetch_cache: Option<PrefetchCache>,
    epochs: Option<u64>,
    context_count: Option<u64>,
    contexts: Vec<Context>,
    device_count: u64,
    devices: Vec<Device>,
    tiers: Vec<TierFigures>,
    streams: Vec<Stream>,
}

/// The prefetch cache, in blocks.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PrefetchCache {
    unread: u64,
    under_way: u64,
    ceiling: u64,
    unit: u64,
    thrashed: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Device {
    name: String,
    #[serde(flatten)]
    counts: Counts,
    depth_bytes: u64,
    switch_cost_us: f64,
    transfer_mb_s: f64,
    in_flight: u64,
    lead_time_us: f64,
    partition: Option<Partition>,
}

/// A device's partition.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Partition {
    size_bytes: u64,
    held_bytes: u64,
    wait_ms: f64,
    relative_wait: f64,
    state: String,
}

impl Counters {
    fn text(&self) -> String {
        let cache = self.prefetch_cache.as_ref().map(PrefetchCache::text).unwrap_or_default();
        let counts = self.counts.table().to_string();
        let parts = [
            self.summary(),
            counts,
            cache,
            self.device_table(),
            self.partition_table(),
            tiers::table(&self.tiers),
            contexts::table(&self.contexts, self.context_count.unwrap_or(0)),
            streams::table(&self.streams),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n")
    }

    fn summary(&self) -> String {
        let used = self.frames.saturating_sub(self.frames_free);
        let full = percent(used, self.frames);
        let policy = if self.policy.is_empty() { "unknown policy" } else { &self.policy };
        let kernel = match self.referenced {
            Referenced::Kept => "off",
            Referenced::HandedOn => "on",
        };
        let line = format!(
            "{policy}, {} of memory, {full} of its frames in use, kernel cache {kernel}, {} active",
            about(self.memory_bytes),
            plural(self.active_streams, "stream")
        );
        folded(&line, WIDTH)
    }

    fn device_table(&self) -> String {
        let mut table = Table::new([
            Column::left("device"),
            Column::right("hits"),
            Column::right("misses"),
            Column::right("late"),
            Column::right("wasted"),
            Column::right("fetched"),
        ]);
        let mut costs = Table::new([
            Column::left("device"),
            Column::right("depth"),
            Column::right("switch"),
            Column::right("transfer"),
            Column::right("in flight"),
            Column::right("lead time"),
        ]);
        for device in &self.devices {
            let counts = &device.counts;
            table.row([
                device.name.clone(),
                count(counts.hits),
                count(counts.misses),
                count(counts.late),
                count(counts.wasted),
                about(counts.fetched_bytes),
            ]);
            costs.row([
                device.name.clone(),
                about(device.depth_bytes),
                format!("{:.2} ms", device.switch_cost_us / 1e3),
                format!("{:.1} MB/s", device.transfer_mb_s),
                count(device.in_flight),
                // Nothing has been fetched ahead so far.
                if device.lead_time_us > 0.0 { format!("{:.2} ms", device.lead_time_us / 1e3) } else { "–".into() },
            ]);
        }
        if table.is_empty() {
            return String::new();
        }
        let tables = format!("{}\n{}", table.within(WIDTH, 0), costs.within(WIDTH, 0));
        match self.device_count.saturating_sub(self.devices.len() as u64) {
            0 => tables,
            more => format!("{tables}and {} that are too many to be listed\n", plural(more, "device")),
        }
    }

    /// An empty text, unless the policy has partitions.
    fn partition_table(&self) -> String {
        let mut table = Table::new([
            Column::left("partition"),
            Column::right("shall have"),
            Column::right("has"),
            Column::right("waited for"),
            Column::right("of the mean"),
            Column::left(""),
        ]);
        let epochs = self.epochs.unwrap_or(0);
        for device in &self.devices {
            let Some(partition) = &device.partition else { continue };
            let known = |text: String| if epochs > 0 { text } else { "–".into() };
            table.row([
                device.name.clone(),
                about(partition.size_bytes),
                about(partition.held_bytes),
                known(format!("{:.1} ms", partition.wait_ms)),
                known(format!("{:.0} %", partition.relative_wait * 100.0)),
                known(partition.state.to_lowercase()),
            ]);
        }
        if table.is_empty() {
            return String::new();
        }
        let looked = "partitions, by the last of";
        format!("{looked} {}\n{}", plural(epochs, "epoch"), table.within(WIDTH, 0))
    }
}

impl PrefetchCache {
    fn text(&self) -> String {
        let PrefetchCache { unread, under_way, ceiling, unit, thrashed } = *self;
        let line = format!(
            "prefetch cache: {} unread, {} of them under way; memory keeps {} for such blocks, and more where nothing \
             else needs it (the ceiling, which moves by {}); {} were given up unread and then read (thrashed)",
            plural(unread, "block"),
            count(under_way),
            count(ceiling),
            count(unit),
            count(thrashed)
        );
        folded(&line, WIDTH)
    }
}

impl Counts {
    /// The totals, each with its most telling share.
    fn table(&self) -> Table {
        let reads = self.hits + self.misses + self.joined + self.late;
        let ahead = self.used + self.late + self.wasted + self.called_off;
        let mut table = Table::new([Column::left(""), Column::right("blocks"), Column::right(""), Column::left("")]);
        let mut row = |name: &str, number: u64, share: String, of: &str| {
            table.row([name.to_owned(), count(number), share, of.to_owned()]);
        };
        row("hits", self.hits, percent(self.hits, reads), "of the blocks read");
        row("misses", self.misses, percent(self.misses, reads), "of the blocks read");
        row("joined", self.joined, percent(self.joined, reads), "of the blocks read: another reader was fetching them");
        row("late", self.late, percent(self.late, reads), "of the blocks read: requested while under way");
        row("used", self.used, percent(self.used, ahead), "of the blocks fetched ahead");
        row("wasted", self.wasted, percent(self.wasted, ahead), "of the blocks fetched ahead");
        row("thrashed", self.thrashed, percent(self.thrashed, ahead), "of the blocks fetched ahead: given up too soon");
        let spared = "of the blocks fetched ahead: spared when their file was closed";
        row("called off", self.called_off, percent(self.called_off, ahead), spared);
        row("errors", self.errors, String::new(), "");
        let bytes = format!("{}, {} of it ahead", about(self.fetched_bytes), about(self.prefetched_bytes));
        table.row(["fetched".to_owned(), String::new(), String::new(), bytes]);
        table
    }
}

/// A share, or a dash if the whole is zero.
fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "–".into() } else { format!("{:.1} %", 100.0 * part as f64 / whole as f64) }
}

pub(super) fn plural(number: u64, what: &str) -> String {
    format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"{
        "policy": "competitive", "memory_bytes": 536870912, "frames": 8000, "frames_free": 2000,
        "hits": 90000, "misses": 9000, "late": 1000, "used": 7000, "wasted": 2000, "thrashed": 50, "called_off": 2500,
        "fetched_bytes": 1288490188, "prefetched_bytes": 1073741824, "errors": 3, "active_streams": 1,
        "prefetch_cache": {"unread": 1500, "under_way": 132, "ceiling": 2000, "unit": 31, "thrashed": 50},
        "devices": [{"name": "cold", "hits": 5, "depth_bytes": 540672, "switch_cost_us": 10530.0,
                     "transfer_mb_s": 51.3, "in_flight": 2}],
        "streams": [{"file": 7, "path": "a/file", "handler": 4321, "position": 1048576, "depth_blocks": 132, "ahead_blocks": 1,
                     "rate_bytes": 5242880, "idle_ms": 1250, "novelty": 1}]
    }"#;

    #[test]
    fn a_sample_as_text() {
        let text = show(SAMPLE, false).unwrap();
        for expected in [
            "competitive, 512.0 MiB of memory, 75.0 % of its frames in use, kernel cache off, 1 stream active",
            "hits        90,000  90.0 %",
            "late         1,000   1.0 %",
            "used         7,000  56.0 %",
            "thrashed        50   0.4 %",
            "called off   2,500  20.0 %",
            "1.2 GiB, 1.0 GiB of it ahead",
            "prefetch cache: 1,500 blocks unread, 132 of them under way; memory keeps 2,000 for such blocks",
            "10.53 ms",
            "51.3 MB/s",
            "528.0 KiB",
            "a/file    4321   1.0 MiB  5.0 MiB/s    132      1",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
    }

    #[test]
    fn partitions_as_text() {
        let device = |name: &str, partition: &str| format!(r#"{{"name": "{name}", "partition": {partition}}}"#);
        let slow = device(
            "slow",
            r#"{"size_bytes": 3145728, "held_bytes": 2097152, "wait_ms": 1234.56, "relative_wait": 1.52, "state": "Warming"}"#,
        );
        let quick = device(
            "quick",
            r#"{"size_bytes": 1048576, "held_bytes": 4096, "wait_ms": 2, "relative_wait": 0.48, "state": "Cool"}"#,
        );
        let counters = |epochs: u64, count: u64| {
            show(&format!(r#"{{"epochs": {epochs}, "device_count": {count}, "devices": [{slow}, {quick}]}}"#), false)
                .unwrap()
        };
        let text = counters(17, 2);
        for expected in [
            "partitions, by the last of 17 epochs\n",
            "slow          3.0 MiB  2.0 MiB   1234.6 ms        152 %  warming",
            "quick         1.0 MiB  4.0 KiB      2.0 ms         48 %  cool",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
        assert!(!text.contains("too many"), "{text}");
        let text = counters(0, 99);
        assert!(text.contains("97 devices that are too many to be listed"), "{text}");
        assert!(!text.contains("warming") && text.contains('–'), "before the first epoch nothing is known: {text}");
    }

    #[test]
    fn trigger_distances_as_text() {
        let text = show(
            r#"{"devices": [{"name": "a", "lead_time_us": 12340}, {"name": "b"}], "streams": [
                {"file": 1, "rate_bytes": 4194304, "deviation_bytes": 524288, "depth_blocks": 48, "distance_blocks": 36},
                {"file": 2, "rate_bytes": 1048576, "deviation_bytes": 0}]}"#,
            false,
        )
        .unwrap();
        for expected in [
            "file    reader  position       rate    deviation  depth  distance  ahead",
            "file 1       0       0 B  4.0 MiB/s  512.0 KiB/s     48        36      0",
            "file 2       0       0 B  1.0 MiB/s        0 B/s      0         –      0",
            "12.34 ms\n",
            "–\n",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
        let plain = show(SAMPLE, false).unwrap();
        assert!(!plain.contains("distance") && !plain.contains("deviation"), "{plain}");
    }

    #[test]
    fn who_keeps_what_was_read() {
        let text = show(r#"{"referenced": "HandedOn", "policy": "competitive"}"#, false).unwrap();
        assert!(text.contains("kernel cache on"), "{text}");
    }

    #[test]
    fn what_is_missing_counts_as_nothing() {
        let text = show("{}", false).unwrap();
        assert!(text.contains("hits             0  –"), "{text}");
        assert!(!text.contains("device") && !text.contains("position"), "{text}");
        assert!(!text.contains("partition"), "a policy without them says nothing of them: {text}");
        assert!(!text.contains("prefetch cache"), "a policy without one says nothing of it: {text}");
        assert!(show("[]", false).is_err() && show("", true).is_err());
    }

    #[test]
    fn json_is_what_the_mount_sent_on_one_line() {
        let text = show(SAMPLE, true).unwrap();
        assert_eq!(text.matches('\n').count(), 1);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["streams"][0]["novelty"], 1);
    }
}

//! The display at both widths, and of mounts that are gone.

use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

use super::*;

fn counts(scale: u64) -> Value {
    json!({
        "hits": 90 * scale, "misses": 5 * scale, "joined": scale, "used": 40 * scale, "late": 4 * scale, "wasted": 2 * scale,
        "thrashed": 0, "called_off": 0, "fetched_bytes": 50 * scale * 4096, "prefetched_bytes": 0, "fetches": scale,
        "errors": 3
    })
}

fn with(mut object: Value, more: Value) -> Value {
    let more = more.as_object().expect("an object").clone();
    object.as_object_mut().expect("an object").extend(more);
    object
}

/// A mount of three devices with many streams, after some time.
fn said(scale: u64) -> Said {
    let device = |name: &str, state: &str| {
        let partition = json!({
            "size_bytes": 200 << 20, "held_bytes": 190 << 20, "wait_ms": 12.5, "relative_wait": 1.0, "state": state
        });
        let figures = json!({
            "name": name, "switch_cost_us": 8400.0, "transfer_mb_s": 60.0, "depth_bytes": 512 << 10, "channels": 1,
            "in_flight": 7, "partition": partition
        });
        with(counts(scale), figures)
    };
    let stats = json!({
        "policy": "auto", "memory_bytes": 512 << 20, "bookkeeping_bytes": 0, "block_bytes": 4096, "frames": 1000,
        "frames_free": 250, "active_streams": 64, "epochs": 3, "devices": [
            device("hot", "Cool"), device("cold\u{1b}[31m", "Warming"), device("https://a.long.name/of/a/server", "Warm")
        ], "streams": [], "tiers": [{
            "folder": "/var/cache/forebay", "hit_bytes": 3u64 << 30, "miss_bytes": 1u64 << 30, "written_bytes": 2u64 << 30,
            "disk_bytes": 5u64 << 30, "size_bytes": 100u64 << 30, "no_writes": "the disk is full"
        }]
    });
    let stream = |number: u64| {
        json!({
            "name": format!("train/a/rather/long/path/of/folders/shard-{number:05}.tar"), "file": number, "device": 1,
            "rate": (number + 1) << 20, "piece": 64, "next": 100, "ahead": 200,
            "why": { "piece": "memory", "distance": "channels" }
        })
    };
    let devices = ["hot", "cold\u{1b}[31m", "https"].map(|name| json!({ "name": name, "channels": 4 }));
    let explained = json!({
        "block_bytes": 4096, "stream_count": 100, "streams": (0..60).map(stream).collect::<Vec<_>>(), "devices": devices
    });
    Said {
        stats: serde_json::from_value(with(counts(scale), stats)).expect("stats"),
        explained: serde_json::from_value(explained).expect("an explanation"),
    }
}

fn history(name: &str) -> History {
    let mut history = History::new(name.into());
    let start = Instant::now();
    for second in 0..30 {
        history.take(start + Duration::from_secs(second), Ok(said(100 * (second + 1))));
    }
    history
}

fn text(columns: u16, lines: u16, view: &View<'_>) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).expect("a terminal");
    terminal.draw(|frame| draw(frame, view)).expect("drawn");
    let buffer = terminal.backend().buffer();
    let line = |y| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..lines).map(|y| line(y) + "\n").collect()
}

#[test]
fn everything_is_shown_at_both_widths() {
    let mounts = [history("/mnt/data"), history("/mnt/other")];
    let view = View { mounts: &mounts, chosen: 0, now: Instant::now() };
    for (columns, lines) in [(80, 24), (200, 50)] {
        let text = text(columns, lines, &view);
        for expected in [
            "2 mounts",
            "/mnt/data",
            "/mnt/other",
            " failed fetches, ",
            "auto, 512.0 MiB of memory, 75.0 %",
            "read 39.1 MiB/s",
            "hits 90.0 %",
            "late 400/s",
            "wasted 200/s",
            "cold",
            "190.0 MiB",
            "shard-00059.tar",
            "60.0 MiB/s",
            "256.0 KiB",
            if columns == 80 { "its share of memory" } else { "its part of" },
            "/var/cache/forebay",
            "75.0 %",
            "reads only",
            "█",
        ] {
            assert!(text.contains(expected), "{expected:?} at {columns}:\n{text}");
        }
        assert!(!text.contains('\u{1b}'), "a name is no order to the terminal");
        let busiest = text.find("shard-00059").zip(text.find("shard-00058"));
        assert!(busiest.is_some_and(|(first, second)| first < second), "{text}");
        for wide in ["shall be", "200.0 MiB", "warming", "8.40 ms", "one under way on each of the device's 4 channels"]
        {
            assert_eq!(text.contains(wide), columns == 200, "{wide} at {columns}:\n{text}");
        }
    }
}

/// Long names of policies, and of mounts.
#[test]
fn nothing_above_the_tables_is_cut() {
    let mut history = history(&"/a/long/path".repeat(10));
    for (_, said) in &mut history.said {
        said.stats.policy = "auto:without=devices/contexts".into();
    }
    let mounts = [history];
    let text = text(80, 24, &View { mounts: &mounts, chosen: 0, now: Instant::now() });
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let state = "3 failed fetches, 64 active streams, auto:without=devices/contexts, 512.0 MiB of memory, \
                 75.0 % of its frames in use";
    assert!(words.contains(state) && words.contains("…") && words.contains("/a/long/path "), "{text}");
}

#[test]
fn what_is_gone_says_so() {
    let mut mounts = [history("/mnt/data"), History::new("/mnt/new".into())];
    let since = Instant::now();
    mounts[0].take(since, Err("/mnt/data: its forebay is gone".into()));
    mounts[0].take(since + Duration::from_secs(2), Err("/mnt/data: its forebay is gone".into()));
    let now = since + Duration::from_secs(5);
    let first = text(80, 24, &View { mounts: &mounts, chosen: 0, now });
    assert!(
        first.contains("/mnt/data gone") && first.contains("gone for 5 s: /mnt/data: its forebay is gone"),
        "{first}"
    );
    assert!(first.contains("shard-00059"), "the last figures stay: {first}");
    let second = text(80, 24, &View { mounts: &mounts, chosen: 1, now });
    assert!(second.contains("asking…"), "{second}");
    let none = text(80, 24, &View { mounts: &[], chosen: 0, now });
    assert!(none.contains("No mount of Forebay is here"), "{none}");
    mounts[0].take(now, Ok(said(1)));
    assert_eq!((mounts[0].said.len(), mounts[0].gone.is_none()), (1, true), "another process begins anew");
}

#[test]
fn no_size_is_too_small() {
    let mounts = [history("/mnt/data")];
    for (columns, lines) in [(1, 1), (10, 3), (20, 8), (80, 9), (500, 2)] {
        text(columns, lines, &View { mounts: &mounts, chosen: 0, now: Instant::now() });
    }
}

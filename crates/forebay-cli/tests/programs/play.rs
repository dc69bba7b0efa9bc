//! The papers' workloads through a mount, by `forebay trace play`: every byte is the laid one, and
//! every task is a handler.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use forebay_core::EventKind;
use forebay_live::flight::Line;
use forebay_testkit::mounts;
use forebay_testkit::process::Signal;

use crate::{Mount, forebay, text};

fn play(args: &[&str]) -> Output {
    forebay(&["trace", "play"]).args(args).output().expect("the command starts")
}

/// The JSON that the command printed; it must succeed.
fn records(args: &[&str]) -> Vec<serde_json::Value> {
    let output = play(&[args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn lay(trace: &str, folder: &Path) -> serde_json::Value {
    records(&[trace, text(folder), "--lay"]).remove(0)
}

/// Several times the mount's memory, in files of half a megabyte.
const MICRO: &str = "files=100,bytes=512k,tasks=120";

#[test]
fn the_microbenchmarks() {
    if !mounts::possible() {
        return;
    }
    let source = tempfile::tempdir().expect("a folder");
    let laid = lay(&format!("one-whole-0:{MICRO}"), source.path());
    assert_eq!((laid["files"].as_u64(), laid["kept"].as_u64()), (Some(100), Some(0)));
    assert_eq!(lay(&format!("two-rand-0:{MICRO}"), source.path())["kept"].as_u64(), Some(100));
    for (kind, policy) in [
        ("one-whole-0", "aggressive"),
        ("one-rand-10", "linux+arc"),
        ("two-rand-0", "competitive"),
        ("four-64kb-0", "none"),
    ] {
        let mount =
            Mount::start(&[text(source.path()), "--memory", "24MiB", "--policy", policy, "--kernel-cache", "off"]);
        let trace = format!("{kind}:{MICRO}");
        let args = [&trace, text(mount.path()), "--verify", "--handlers", "1,16", "--private-memory", "1MB"];
        // The think times of one handler would take five seconds.
        let fast: &[&str] = if kind == "one-rand-10" { &["--think", "0s"] } else { &[] };
        let runs = records(&[&args[..], fast].concat());
        assert_eq!(runs.len(), 2);
        for run in runs {
            assert_eq!(run["tasks"].as_u64(), Some(120), "{kind}: {run}");
            assert_eq!(run["trace"].as_str(), Some(trace.as_str()));
            assert!(run["throughput_mb_s"].as_f64() > Some(0.0) && run["p99_ms"].as_f64() >= run["p50_ms"].as_f64());
        }
        let ahead = mount.counter("prefetched_bytes");
        match policy {
            "none" => assert_eq!(ahead, 0, "{kind}"),
            // On a device with a tiny switch cost, competitive prefetching has nothing to do.
            "competitive" => {}
            _ => assert!(ahead > 0, "{kind}, {policy}: nothing was fetched ahead"),
        }
        assert_eq!(mount.end(Signal::TERM).code(), Some(0));
    }
}

#[test]
fn index_searching_and_clips() {
    if !mounts::possible() {
        return;
    }
    let index = "index-search:tasks=60,mapping=4M,index=64M,keywords=1000,longest=1M";
    let clips = "media-clips:tasks=200,files=300";
    for trace in [index, clips] {
        let source = tempfile::tempdir().expect("a folder");
        lay(trace, source.path());
        let mount = Mount::start(&[text(source.path()), "--memory", "24MiB"]);
        let run = records(&[trace, text(mount.path()), "--verify", "--handlers", "16"]).remove(0);
        assert!(run["requests"].as_u64() >= run["tasks"].as_u64(), "{run}");
        assert!(mount.counter("fetched_bytes") > 0, "nobody asked the mount");
    }
}

/// In a mount, a handler is a thread: each task's reads come from one thread, and no two tasks
/// share a thread.
#[test]
fn a_task_is_a_handler() {
    if !mounts::possible() {
        return;
    }
    let source = tempfile::tempdir().expect("a folder");
    let trace = "one-whole-0:files=30,bytes=300000,tasks=25";
    lay(trace, source.path());
    let flight = tempfile::NamedTempFile::new().expect("a file");
    let mount = Mount::start(&[text(source.path()), "--record", text(flight.path())]);
    records(&[trace, text(mount.path()), "--handlers", "3"]);
    assert_eq!(mount.end(Signal::TERM).code(), Some(0));
    let lines = fs::read_to_string(flight.path()).expect("readable");
    let mut streams: BTreeSet<(u32, u32)> = BTreeSet::new();
    for line in lines.lines().skip(1) {
        let Line::Event(event) = serde_json::from_str(line).expect("a line of a flight") else { continue };
        if let EventKind::Read { handler, file, .. } = event.kind {
            streams.insert((handler.0, file.0));
        }
    }
    let handlers: BTreeSet<u32> = streams.iter().map(|(handler, _)| *handler).collect();
    assert_eq!(handlers.len(), streams.len(), "a thread read two files: {streams:?}");
    // A task whose file is in memory need not reach the mount.
    assert!(handlers.len() <= 25 && handlers.len() > 10, "{handlers:?}");
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = "four-64kb-0:files=5,bytes=64k,tasks=9";
    lay(trace, folder.path());
    fs::write(folder.path().join("000003"), vec![7; 65536]).expect("written");
    let said = |args: &[&str], code: i32, expected: &str| {
        let output = play(args);
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {line}");
        assert!(line.contains(expected) && line.matches('\n').count() == 1, "{args:?}: {line}");
    };
    said(&[trace, text(folder.path()), "--verify"], 1, "000003: the byte at 0 is not what was laid there");
    said(&[trace, text(folder.path()), "--verify", "--sparse"], 1, "is not what was laid there");
    said(&["four-64kb-0:files=5,tasks=9", text(folder.path())], 1, "shorter than the trace says");
    said(&["four-64kb-0:files=9,bytes=64k", text(folder.path())], 1, "opening it: No such file");
    said(&["four-64kb-0:files=1", text(folder.path())], 2, "files=1 makes no sense");
    said(&[trace, text(folder.path()), "--lay", "--verify"], 2, "cannot be used with");
    said(&[trace, text(folder.path()), "--warm-up", "1000000"], 2, "over before its warm-up");
}

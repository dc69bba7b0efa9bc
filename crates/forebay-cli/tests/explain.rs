//! `forebay explain` of traces, as a shell runs it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const TASKS: &str = "one-whole-0:tasks=60";
const ON: [&str; 6] = ["--device", "ibm-10k", "--handlers", "8", "--memory", "16MiB"];

fn explain(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.env_clear().stdin(Stdio::null()).arg("explain").args(args).output().expect("the command starts")
}

fn text(args: &[&str]) -> String {
    let output = explain(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8(output.stdout).expect("text");
    let wide = shown.lines().find(|line| line.chars().count() > 100).filter(|_| !args.contains(&"--json"));
    assert_eq!(wide, None, "{args:?}");
    shown
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&text(&[args, &["--json"]].concat())).expect("JSON")
}

fn refused(args: &[&str], expected: &[&str]) {
    let output = explain(args);
    let line = String::from_utf8(output.stderr).expect("text");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {line}");
    assert!(line.starts_with("error: ") && line.matches('\n').count() == 1, "{line}");
    for part in expected {
        assert!(line.contains(part), "{part:?} is not in {line}");
    }
}

/// The numbers of the most active stream and of the device agree with the policy's paper.
#[test]
fn a_moment_of_a_trace_under_one_paper_policy() {
    let args = [&[TASKS, "--policy", "competitive", "--at", "2s"][..], &ON].concat();
    let explained = json(&args);
    assert_eq!((&explained["policy"], &explained["seconds"]), (&"competitive+lru".into(), &2.0.into()));
    assert_eq!((&explained["frames"], &explained["block_bytes"]), (&4096.into(), &4096.into()));
    let streams = explained["streams"].as_array().expect("streams");
    let active = streams.iter().filter(|stream| stream["active"] == true).count() as u64;
    assert_eq!(explained["ahead"]["streams"], active.max(1));
    // A third of the frames (CPEM §2.3), and a stream has room for two pieces.
    let share = 4096 / 3 / active.max(1);
    assert_eq!(explained["ahead"]["share"], share);
    let of_memory = streams.iter().filter(|stream| stream["why"]["piece"] == "memory");
    assert!(of_memory.clone().count() > 0, "{streams:?}");
    assert!(of_memory.clone().all(|stream| stream["piece"].as_u64() <= Some(4096 / 3 / 2)), "{streams:?}");
    assert!(explained["prefetch_cache"].is_null() && explained["epochs"].is_null());
    let device = &explained["devices"][0];
    assert_eq!(device["name"], "ibm-10k");
    assert!(device["competitive_depth"].as_u64().is_some_and(|depth| (90..180).contains(&depth)), "{device}");

    let shown = text(&args);
    for expected in [
        "competitive+lru, 16.0 MiB of memory, after 2.0 s: 4,096 frames of 4.0 KiB",
        "memory for 1,365 blocks that ",
        "depth: as much as it transfers while it moves to another place (a switch)",
    ] {
        assert!(shown.contains(expected), "{expected:?} is not in\n{shown}");
    }
    assert!(!shown.contains("partition") && !shown.contains("context"), "{shown}");
}

#[test]
fn the_end_of_a_trace_under_auto_says_what_was_learnt() {
    let devices = ["--device", "ibm-10k,ibm-10k", "--handlers", "8", "--memory", "16MiB"];
    let args = [&["one-whole-0:tasks=200"][..], &devices].concat();
    let explained = json(&args);
    assert_eq!(explained["policy"], "auto");
    assert!(explained["prefetch_cache"]["ceiling"].is_u64() && explained["epochs"].is_u64(), "{explained}");
    let streams = explained["streams"].as_array().expect("streams");
    assert!(streams.iter().all(|stream| stream["active"] == false), "everything was read");
    let shown = text(&args);
    for expected in ["auto, 16.0 MiB of memory", "prefetch cache: ", "the next block saves", "mean stream"] {
        assert!(shown.contains(expected), "{expected:?} is not in\n{shown}");
    }
    assert_eq!(text(&args), shown, "the same seed, the same bytes");
}

/// Streams of one read each, left behind by one reader, are one line with the reason.
#[test]
fn a_reader_in_equal_steps_is_a_line() {
    let shown = text(&["steps", "--device", "object-store", "--memory", "16MiB"]);
    let reason = "its reader takes 8 blocks every 64 blocks: its next steps are fetched";
    assert_eq!(shown.matches(reason).count(), 1, "{shown}");
    assert!(shown.contains("and 1,023 other streams"), "{shown}");
}

/// The counts of a reader in equal steps are its device's: zeros of its own would be wrong.
#[test]
fn what_was_fetched_by_steps_is_not_said_to_be_unused() {
    let args = ["steps", "--device", "object-store", "--memory", "50%", "--limit", "500"];
    let used = json(&args)["devices"][0]["feedback"][0].as_u64();
    assert!(used > Some(1000), "{used:?}");
    let shown = text(&args);
    let counted = shown.lines().skip_while(|line| !line.contains("used  late")).nth(1).expect("a row");
    assert_eq!(counted.split_whitespace().collect::<Vec<_>>()[2..], ["0", "other", "–", "–", "–", "–"], "{shown}");
    assert!(shown.contains("the blocks fetched for such a reader are counted with those of their device"), "{shown}");
}

/// A CSV file whose requests are for these files, in order.
fn csv(folder: &Path, files: &[&str]) -> String {
    let lines = files.iter().map(|file| format!("{file},0,65536,1\n{file},65536,65536,1\n"));
    let path = folder.join("requests.csv");
    std::fs::write(&path, format!("file,offset,length,handler\n{}", lines.collect::<String>())).expect("a file");
    path.to_str().expect("a plain name").to_owned()
}

/// Files are not numbered by their first appearance.
#[test]
fn files_have_the_names_that_the_trace_gives_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = |files: &[&str]| {
        let args = [&csv(folder.path(), files), "--device", "ibm-10k", "--memory", "1MiB"];
        let explained = json(&args);
        let streams = explained["streams"].as_array().expect("streams");
        let mut names: Vec<String> = streams.iter().map(|it| it["name"].as_str().unwrap_or("none").into()).collect();
        names.sort();
        let shown = text(&args);
        let listed = |name: &String| shown.lines().any(|line| line.starts_with(&format!("{name} ")));
        assert!(names.iter().all(listed), "{names:?} in\n{shown}");
        names
    };
    assert_eq!(names(&["15", "8", "40"]), ["15", "40", "8"]);
    assert_eq!(names(&["logs/b", "logs/a"]), ["logs/a", "logs/b"]);
}

/// Presets that fetch nothing, or learn nothing, do not say that they do.
#[test]
fn presets_give_their_own_reasons() {
    let of = |policy: &str| text(&[TASKS, "--policy", policy, "--device", "ibm-10k", "--memory", "16MiB"]);
    let none = of("none");
    assert!(none.contains("the policy fetches nothing ahead") && !none.contains("may be ahead"), "{none}");
    let mountpoint = of("mountpoint");
    assert!(mountpoint.contains("its window doubles whenever its reader has read all"), "{mountpoint}");
    let gcsfs = of("gcsfs");
    assert!(gcsfs.contains("its window grows by one read with each read in order"), "{gcsfs}");
    for shown in [none, mountpoint, gcsfs] {
        assert!(!shown.contains("learnt"), "{shown}");
    }
}

/// Rates are measured or not shown, parts hold something, and no formula stands for a reason.
#[test]
fn every_line_says_something() {
    let loads = ["one-whole-0:tasks=60", "one-rand-10:tasks=60", "container-starts", "amp-small-loops"];
    for load in loads {
        for policy in ["auto", "competitive", "ets", "amp"] {
            let args = [load, "--policy", policy, "--device", "ibm-10k", "--memory", "10%", "--limit", "20000"];
            let shown = text(&args);
            for senseless in [" 0 B", "√", " · ", "as its arm does", "among ", "of at most", "active"] {
                assert!(!shown.contains(senseless), "{args:?}: {senseless:?} in\n{shown}");
            }
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("a plain name");
    refused(&[TASKS], &["--device ibm-10k"]);
    refused(&["nothing.here", "--device", "ibm-10k"], &["nothing.here: there is no such folder or file"]);
    refused(&["nothing.here"], &["nothing.here: there is no such folder or file"]);
    refused(&[folder], &[folder, "is not a forebay mount"]);
    refused(&[folder, "--device", "ibm-10k"], &["is no trace"]);
    refused(&[TASKS, "--device", "ibm-10k", "--handlers", "1,2"], &["one run is explained, not 2"]);
    refused(&[TASKS, "--device", "ibm-10k", "--at", "soon"], &["soon"]);
    refused(&[TASKS, "--device", "ibm-10k", "--policy", "psychic"], &["psychic"]);
}

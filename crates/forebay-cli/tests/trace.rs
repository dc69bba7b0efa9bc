//! `forebay trace`, as a shell runs it.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn forebay(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.arg("trace").args(args).env_clear().env("HOME", folder).current_dir(folder).stdin(Stdio::null());
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    forebay(folder, args).output().expect("the command starts")
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// The only record that the command printed.
fn record(output: &Output) -> serde_json::Value {
    let records: Vec<serde_json::Value> = serde_json::from_str(&stdout(output)).expect("JSON");
    assert_eq!(records.len(), 1);
    records.into_iter().next().expect("a record")
}

/// The command must have refused: exit code 2, nothing on standard output and one line that holds
/// all of `expected`.
fn refused(output: &Output, expected: &[&str]) {
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert!(output.stdout.is_empty());
    assert!(line.starts_with("error: ") && line.matches('\n').count() == 1, "{line}");
    for part in expected {
        assert!(line.contains(part), "{part:?} is not in {line}");
    }
}

/// The names in a folder, hidden or not.
fn content(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn info_says_what_is_in_a_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    // Blocks 0 1 2 3 in sequence, then 0 again, then 9.
    fs::write(folder.path().join("small.trace"), "0\n1\n2\n3\n*\n0\n9\n").expect("written");
    let figures = record(&run(folder.path(), &["info", "small.trace", "--json"]));
    for (name, expected) in [
        ("requests", 6.0),
        ("reads", 6.0),
        ("writes", 0.0),
        ("references", 6.0),
        ("distinct", 5.0),
        ("distinct_bytes", 20_480.0),
        ("bytes", 24_576.0),
        ("files", 1.0),
        ("block_bytes", 4096.0),
        ("median_bytes", 4096.0),
        ("sequential_share", 0.5),
        ("once_share", 0.8),
        ("top_1_share", 1.0 / 3.0),
        ("duration_s", 0.0),
    ] {
        assert_eq!(figures[name].as_f64(), Some(expected), "{name} in {figures}");
    }
    let halves = record(&run(folder.path(), &["info", "small.trace", "--json", "--block-bytes", "2k"]));
    assert_eq!((halves["references"].as_u64(), halves["distinct"].as_u64()), (Some(12), Some(10)));
    let text = stdout(&run(folder.path(), &["info", "small.trace"]));
    assert!(text.contains("distinct blocks") && text.contains("20.0 KiB") && text.contains("50.0 %"), "{text}");
    let csv = stdout(&run(folder.path(), &["info", "small.trace", "small.trace", "--csv"]));
    assert_eq!(csv.lines().count(), 3);
    assert!(csv.starts_with("trace,about,block_bytes,requests,"), "{csv}");
    stdout(&run(folder.path(), &["info", "small.trace", "--plot", "popular.svg"]));
    assert!(fs::read_to_string(folder.path().join("popular.svg")).expect("a picture").contains("<svg"));
}

#[test]
fn a_generated_trace_goes_through_every_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let made =
        ["generate", "zipf", "--requests", "20000", "--objects", "500", "--alpha", "1.1", "--seed", "9", "--json"];
    let written = record(&run(folder.path(), &[&made[..], &["-o", "zipf.parquet"]].concat()));
    assert_eq!((written["requests"].as_u64(), written["seed"].as_u64()), (Some(20_000), Some(9)));
    let first = fs::read(folder.path().join("zipf.parquet")).expect("a trace");
    run(folder.path(), &[&made[..], &["-o", "again.parquet"]].concat());
    assert_eq!(fs::read(folder.path().join("again.parquet")).expect("a trace"), first, "same seed, same bytes");
    let figures = |name: &str| {
        let mut figures = record(&run(folder.path(), &["info", name, "--json"]));
        assert!(figures["once_share"].is_number());
        for differs in ["trace", "made_by", "format", "columns"] {
            figures[differs].take();
        }
        figures
    };
    let expected = figures("zipf.parquet");
    for out in ["zipf.oracleGeneral", "zipf.csv.zst", "zipf.oracleGeneral.gz"] {
        record(&run(folder.path(), &["convert", "zipf.parquet", out, "--json"]));
        assert_eq!(figures(out), expected, "{out}");
    }
    // A format with ids only keeps their popularity.
    record(&run(folder.path(), &["convert", "zipf.parquet", "--to", "u64-be", "zipf.u64be", "--json"]));
    assert_eq!(figures("zipf.u64be")["top_10_share"], expected["top_10_share"]);
    // Back to the own format, with everything that the first file had.
    run(folder.path(), &["convert", "zipf.parquet", "--to", "parquet", "copy"]);
    assert_eq!(fs::read(folder.path().join("copy")).expect("a trace"), first);
    let origin = record(&run(folder.path(), &["info", "copy", "--json"]))["made_by"].clone();
    assert_eq!(origin, "zipf requests=20000 objects=500 alpha=1.1 bytes=4096 seed=9");
}

#[test]
fn what_makes_no_sense_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("bad.lirs"), "1\n2\nthree\n").expect("written");
    let in_folder = |args: &[&str]| run(folder.path(), args);
    refused(&in_folder(&["info", "bad.lirs"]), &["bad.lirs: record 3: `three` is no block number", "lirs"]);
    refused(&in_folder(&["convert", "bad.lirs", "out.csv"]), &["record 3"]);
    refused(&in_folder(&["convert", "bad.lirs", "out.tape"]), &["out.tape", "parquet", "--to"]);
    refused(&in_folder(&["convert", "bad.lirs", "out", "--to", "msr"]), &["msr can be read, not written"]);
    refused(&in_folder(&["info", "bad.lirs", "--format", "tape"]), &["'tape'", "known are lirs, "]);
    refused(&in_folder(&["generate", "ziff", "-o", "x.csv"]), &["ziff", "zipf"]);
    refused(&in_folder(&["generate", "loop", "--alpha", "1", "-o", "x.csv"]), &["loop has no parameter 'alpha'"]);
    refused(&in_folder(&["generate", "zipf", "--objects", "none", "-o", "x.csv"]), &["objects=none", "from one on"]);
    assert_eq!(content(folder.path()), ["bad.lirs"]);
    refused(&in_folder(&["info", "missing.csv"]), &["missing.csv: No such file"]);
}

#[test]
fn formats_are_listed_and_what_is_not_understood_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let in_folder = |args: &[&str]| run(folder.path(), args);
    let listed: Vec<serde_json::Value> =
        serde_json::from_str(&stdout(&in_folder(&["formats", "--json"]))).expect("JSON");
    let twitter = listed.iter().find(|format| format["format"] == "twitter").expect("a preset");
    assert!(twitter["columns"].as_str().is_some_and(|columns| columns.contains("op-col=6")), "{twitter}");
    let presets = listed.iter().filter(|format| format["source"] != "").count();
    assert!(presets >= 14 && stdout(&in_folder(&["formats"])).contains("tencent-block"), "{presets}");
    let lines = "0,key:a,22,180,100,set,300\n0,key:b,22,90,100,get,0\n1,key:a,22,0,7,touch,0\n";
    fs::write(folder.path().join("cluster"), lines).expect("written");
    let figures = record(&in_folder(&["info", "cluster", "--json"]));
    assert_eq!((figures["format"].as_str(), figures["requests"].as_u64()), (Some("twitter"), Some(2)));
    assert_eq!((figures["left_out"].as_u64(), figures["bytes"].as_u64()), (Some(1), Some(314)));
    let text = stdout(&in_folder(&["info", "cluster"]));
    assert!(text.contains("1 × operation `touch`") && text.contains("columns not read"), "{text}");
    let written = record(&in_folder(&["convert", "cluster", "cluster.parquet", "--json"]));
    assert_eq!((written["requests"].as_u64(), written["left_out"].as_u64()), (Some(2), Some(1)));
    // Two formats fit, and one is asked for.
    fs::write(folder.path().join("numbers"), "1 6 657 3\n2 3 357 4\n").expect("written");
    refused(&in_folder(&["info", "numbers"]), &["--format webcachesim or --format lis"]);
    let told = record(&in_folder(&["info", "numbers", "--format", "webcachesim", "--json"]));
    assert_eq!(told["bytes"].as_u64(), Some(1014));
    // Columns alone say that it is CSV.
    let columns = record(&in_folder(&["info", "numbers", "--columns", "obj-id-col=2,obj-size-col=1", "--json"]));
    assert_eq!((columns["format"].as_str(), columns["bytes"].as_u64()), (Some("csv"), Some(3)));
    fs::write(folder.path().join("bad.csv"), "time,id,size\n1,2,3\n2,3,-4\n").expect("written");
    refused(&in_folder(&["info", "bad.csv"]), &["line 3: column 3: `-4` is no size"]);
}

#[test]
fn ctrl_c_leaves_no_half_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let args = ["generate", "zipf", "--requests", "1000000000000", "-o", "endless.u64"];
    let mut child = forebay(folder.path(), &args).stderr(Stdio::piped()).spawn().expect("the command starts");
    // The command has begun when its hidden file is there.
    let deadline = Instant::now() + Duration::from_secs(60);
    while content(folder.path()).is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(content(folder.path()).len(), 1, "it writes under another name");
    std::thread::sleep(Duration::from_millis(50));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let status = child.wait().expect("it ends");
    assert!(!status.success());
    assert_eq!(content(folder.path()), Vec::<String>::new());
}

#[test]
fn help_lists_the_kinds_and_what_can_be_said_about_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let help = stdout(&run(folder.path(), &["generate", "--help"]));
    for kind in
        ["zipf", "scan-zipf", "one-rand-10", "four-64kb-0", "index-search", "media-clips", "blast", "vod", "sac-3"]
    {
        assert!(help.contains(kind), "{kind}");
    }
    assert!(help.contains("--alpha <VALUE>") && help.contains("--think <VALUE>"), "{help}");
}

/// The command with standard input from a pipe, that gives `content` once.
fn piped(folder: &Path, command: &str, args: &[&str], content: &str) -> Output {
    let mut forebay = Command::new(env!("CARGO_BIN_EXE_forebay"));
    forebay.arg(command).args(args).env_clear().env("HOME", folder).current_dir(folder);
    let mut child = forebay
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(content.as_bytes()).expect("the command reads it");
    drop(pipe);
    child.wait_with_output().expect("an output")
}

#[test]
fn a_pipe_is_read_once_for_all_passes() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines: String = (0..3000).map(|n| format!("{n},{},{}\n", n * 7 % 100 + 1, n * 7 % 100 + 5)).collect();
    let lines = format!("time,key,size\n{lines}");
    fs::write(folder.path().join("plain.csv"), &lines).expect("written");
    for options in [&["--policy", "lru,arc"][..], &["--sizes", "--policy", "lru"], &["--curve", "lru"]] {
        let misses = |output: Output| {
            let records: Vec<serde_json::Value> = serde_json::from_str(&stdout(&output)).expect("JSON");
            records.into_iter().map(|record| record["miss_ratio"].clone()).collect::<Vec<_>>()
        };
        let args = |trace: &'static str| [&[trace, "--json"], options].concat();
        let expected = misses(piped(folder.path(), "sim", &args("plain.csv"), ""));
        for trace in ["-", "/dev/stdin"] {
            assert_eq!(misses(piped(folder.path(), "sim", &args(trace), &lines)), expected, "{trace} {options:?}");
        }
    }
    let figures = record(&piped(folder.path(), "trace", &["info", "-", "--json"], &lines));
    assert_eq!(figures["requests"].as_u64(), Some(3000));
    let written = record(&piped(folder.path(), "trace", &["convert", "-", "copy.parquet", "--json"], &lines));
    assert_eq!(written["requests"].as_u64(), Some(3000));
    refused(&piped(folder.path(), "trace", &["info", "-"], ""), &["-: it is empty"]);
}

#[test]
fn a_trace_that_may_mean_something_else_is_doubted_aloud() {
    let folder = tempfile::tempdir().expect("a folder");
    let in_folder = |args: &[&str]| run(folder.path(), args);
    fs::write(folder.path().join("keys.csv"), "time,key\n1,a\n2,b\n1.02,a\n").expect("written");
    let doubt = "no column of sizes: each object counts as one byte";
    assert!(stdout(&in_folder(&["info", "keys.csv"])).contains(doubt));
    let converted = in_folder(&["convert", "keys.csv", "keys.parquet"]);
    assert!(String::from_utf8_lossy(&converted.stderr).contains(doubt), "{converted:?}");
    refused(&piped(folder.path(), "sim", &["keys.csv", "--sizes"], ""), &["has no sizes, which --sizes counts"]);
    fs::write(folder.path().join("op.csv"), "0,read,4096,8192\n1,write,8192,8192\n").expect("written");
    refused(&in_folder(&["info", "op.csv"]), &["column 2 would be the object", "op-col=2"]);
    // Formats without operations.
    fs::write(folder.path().join("rw.csv"), "time,key,size,op\n1,1,9,get\n1.02,2,9,set\n").expect("written");
    let written = in_folder(&["convert", "rw.csv", "rw.u64", "--json"]);
    assert!(String::from_utf8_lossy(&written.stderr).contains("1 writes are reads in rw.u64"), "{written:?}");
    assert_eq!(record(&written)["writes_as_reads"].as_u64(), Some(1));
    assert!(stdout(&in_folder(&["info", "rw.csv"])).contains("20.0 ms"));
}

/// The parts of a trace that a format cannot hold are named, whatever writes it.
#[test]
fn the_parts_that_an_export_loses_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = |to: &str| run(folder.path(), &["generate", "container-starts", "--tasks", "3", "-o", to, "--json"]);
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said(&made("exact.parquet")), "");
    let csv = made("starts.csv");
    assert!(said(&csv).contains("csv cannot hold, and starts.csv lacks: the sizes of "), "{}", said(&csv));
    assert!(said(&csv).contains("parquet is exact"), "{}", said(&csv));
    assert!(record(&csv)["lost"].as_str().is_some_and(|lost| lost.starts_with("the sizes of ")));
    let converted = run(folder.path(), &["convert", "exact.parquet", "starts.oracleGeneral"]);
    assert!(said(&converted).contains("which file a block is of"), "{}", said(&converted));
}

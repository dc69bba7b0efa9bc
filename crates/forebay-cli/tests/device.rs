//! `forebay device` as a shell runs it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use forebay_device::random::Random;
use forebay_device::validation::Measured;
use forebay_device::{demerit, device};
use serde_json::Value;

/// Runs `forebay device` in `home`, in an environment of its own.
fn run(home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.arg("device").args(args).env_clear().env("HOME", home).current_dir(home).stdin(Stdio::null());
    command.output().expect("the command starts")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn write(home: &Path, name: &str, content: impl AsRef<[u8]>) {
    std::fs::write(home.join(name), content).expect("a file");
}

/// Standard output of a run that must succeed with nothing on standard error.
fn told(home: &Path, args: &[&str]) -> String {
    let output = run(home, args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{args:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn records(home: &Path, args: &[&str]) -> Vec<Value> {
    let text = told(home, &[args, &["--json"]].concat());
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let records = value.as_array().expect("an array").clone();
    let flat = |record: &Value| record.as_object().expect("a record").values().all(|v| !v.is_object() && !v.is_array());
    assert!(records.iter().all(flat), "{text}");
    records
}

/// The command must have refused: exit code 2, nothing on standard output and one line that holds
/// all of `expected`.
fn refused(home: &Path, args: &[&str], expected: &[&str]) {
    let output = run(home, args);
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &[][..]), "{args:?}: {line}");
    assert!(line.starts_with("error: ") && line.matches('\n').count() == 1, "{line}");
    for part in expected {
        assert!(line.contains(part), "{part:?} is not in {line}");
    }
}

fn number(record: &Value, field: &str) -> f64 {
    record[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {record}"))
}

#[test]
fn devices_are_listed_for_people_and_programs() {
    let home = folder();
    let list = records(home.path(), &["list"]);
    let ibm = list.iter().find(|record| record["name"] == "ibm-10k").expect("the papers' disk");
    assert_eq!(ibm["kind"], "disk");
    // CP §2: 7.53 ms, 3.00 ms, 51.3 MB/s, around 540 KB.
    for (field, expected, off) in [
        ("mean_seek_ms", 7.53, 0.05),
        ("half_revolution_ms", 3.0, 0.0),
        ("rate_mb_s", 51.3, 0.5),
        ("competitive_depth_bytes", 540e3, 20e3),
    ] {
        assert!((number(ibm, field) - expected).abs() <= off, "{field} of {ibm}");
    }
    let store = list.iter().find(|record| record["name"] == "object-store").expect("a store");
    assert!(store["capacity_bytes"].is_null() && store["mean_seek_ms"].is_null());
    let (table, csv) = (told(home.path(), &["list"]), told(home.path(), &["list", "--csv"]));
    assert!(
        csv.starts_with("name,kind,capacity_bytes,mean_seek_ms,half_revolution_ms,switch_ms,rate_mb_s,channels,"),
        "{csv}"
    );
    for record in &list {
        let name = record["name"].as_str().expect("a name");
        assert!(table.lines().any(|line| line.starts_with(&format!("{name} "))), "{table}");
        assert!(csv.lines().any(|line| line.starts_with(&format!("{name},"))), "{csv}");
    }
}

#[test]
fn a_device_is_shown_with_its_parameters() {
    let home = folder();
    let [ibm] = &records(home.path(), &["show", "ibm-10k"])[..] else { panic!("one record") };
    assert_eq!((ibm["name"].as_str(), ibm["disk.rpm"].as_f64()), (Some("ibm-10k"), Some(10_000.0)));
    assert_eq!(ibm["disk.zones.sectors"], "810 781 752 724 695 666 637 609 580 551 522 494");
    let text = told(home.path(), &["show", "ssd"]);
    assert!(text.contains("ssd.write.latency ms"), "{text}");
}

#[test]
fn devices_of_devices_are_shown() {
    let home = folder();
    let array = "name = 'four'\nabout = 'four disks'\n[model.array]\nmembers = ['ibm-10k', 'ibm-10k', 'slow.toml', 'ibm-10k']\nstripe_kib = 64";
    write(home.path(), "four.toml", array);
    let slow =
        "name = 'slow'\nabout = ''\n[model.slowed]\ndevice = 'ibm-10k'\nslowdowns = [{ at_s = 500, factor = 2 }]";
    write(home.path(), "slow.toml", slow);
    write(home.path(), "far.toml", "name = 'far'\nabout = ''\n[model.attached]\ndevice = 'four.toml'");
    let one = &records(home.path(), &["show", "ibm-10k"])[0];
    let four = &records(home.path(), &["show", "four.toml"])[0];
    assert_eq!((&four["kind"], &four["array.members"]), (&"array".into(), &"ibm-10k ibm-10k slow.toml ibm-10k".into()));
    for field in ["rate_mb_s", "competitive_depth_bytes"] {
        assert!((number(four, field) / number(one, field) - 4.0).abs() < 0.05, "{field} of {four}");
    }
    assert!((number(four, "switch_ms") - number(one, "switch_ms")).abs() < 0.05);
    let far = &records(home.path(), &["show", "far.toml"])[0];
    assert!(number(far, "switch_ms") > number(four, "switch_ms"));
    write(home.path(), "round.toml", "name = 'round'\nabout = ''\n[model.attached]\ndevice = 'round.toml'");
    refused(home.path(), &["show", "round.toml"], &["round", "eight deep"]);
}

#[test]
fn pictures_are_drawn_as_their_names_say() {
    let home = folder();
    let drawn = |name: &str, args: &[&str]| {
        told(home.path(), &[args, &["--plot", name]].concat());
        std::fs::read(home.path().join(name)).expect("a picture")
    };
    let svg = String::from_utf8(drawn("seek.svg", &["show", "ibm-10k"])).expect("text");
    assert!(svg.contains("<svg") && svg.contains("Seek time of ibm-10k") && svg.contains("cylinders"));
    assert!(drawn("seek.png", &["show", "seagate-10k"]).starts_with(b"\x89PNG"));
    let page = String::from_utf8(drawn("store.html", &["show", "object-store", "--seed", "7"])).expect("text");
    assert!(page.contains("99 of 100 stay below") && page.contains("seed 7"));
    assert_ne!(drawn("a.svg", &["show", "ssd"]), drawn("b.svg", &["show", "ssd", "--seed", "2"]));
    assert_eq!(drawn("a.svg", &["list"]), drawn("b.svg", &["list"]));
    refused(home.path(), &["show", "ibm-10k", "--plot", "seek.gif"], &["seek.gif", ".svg, .png or .html"]);
}

#[test]
fn unknown_devices_are_refused() {
    let home = folder();
    refused(home.path(), &["show", "ibm"], &["`ibm`", "ibm-10k", "object-store", ".toml"]);
    refused(home.path(), &["show", "missing.toml"], &["missing.toml", "No such file"]);
    write(home.path(), "bad.toml", "name = 'x'");
    refused(home.path(), &["show", "bad.toml"], &["bad.toml", "about"]);
    refused(home.path(), &["shaw"], &["'shaw'"]);
}

#[test]
fn schedulers_are_listed_with_their_parameters() {
    let home = folder();
    let list = records(home.path(), &["schedulers"]);
    let names: Vec<&str> = list.iter().filter_map(|record| record["scheduler"].as_str()).collect();
    assert_eq!(names, ["none", "elevator", "anticipatory", "deadline", "cfq"]);
    assert_eq!(list[3]["parameters"], "fifo_batch=16,read_expire_ms=500.0,write_expire_ms=5000.0,writes_starved=2");
}

/// A trace of the modelled disk itself, each time `off` milliseconds longer; and the mean of its
/// times.
fn trace(off: f64) -> (String, f64) {
    let mut random = Random::new(9);
    let mut requests: Vec<Measured> = (0..400)
        .map(|_| {
            let gap = random.below(20_000) as f64 * 1e3;
            Measured { write: false, block: random.below(70_000_000), blocks: 1 + random.below(64), service: 0.0, gap }
        })
        .collect();
    let times = demerit::replay(&device("ibm-10k").expect("shipped"), &requests).expect("possible");
    let mut text = String::new();
    for (request, time) in requests.iter_mut().zip(&times) {
        let Measured { block, blocks, gap, .. } = request;
        let us = time / 1e3 + off * 1e3;
        writeln!(text, "R Miss {block} {blocks} {us:.5} {:.5}", *gap / 1e3).expect("a line");
    }
    (text, times.iter().sum::<f64>() / 400.0 / 1e6 + off)
}

#[test]
fn a_disk_is_compared_with_what_was_measured() {
    let home = folder();
    for (off, name) in [(0.0, "same"), (1.25, "later")] {
        let (text, mean) = trace(off);
        write(home.path(), name, text);
        let [record] = &records(home.path(), &["check", "ibm-10k", "--trace", name])[..] else { panic!("one record") };
        assert_eq!((&record["device"], &record["requests"]), (&"ibm-10k".into(), &400.into()));
        // Times are written in units of ten picoseconds.
        for (field, expected) in
            [("demerit_ms", off), ("demerit_share", off / mean), ("mean_ms", mean), ("modelled_mean_ms", mean - off)]
        {
            assert!((number(record, field) - expected).abs() < 1e-6, "{field} of {record}: {expected}");
        }
    }
    told(home.path(), &["check", "ibm-10k", "--trace", "later", "--plot", "both.svg"]);
    let picture = std::fs::read_to_string(home.path().join("both.svg")).expect("a picture");
    assert!(picture.contains("measured") && picture.contains("modelled") && picture.contains("1.250 ms"));
}

#[test]
fn traces_may_be_compressed_whatever_they_are_called() {
    let home = folder();
    let (text, _) = trace(0.5);
    write(home.path(), "plain.zst", &text);
    write(home.path(), "zstd", zstd::encode_all(text.as_bytes(), 3).expect("compressed"));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).expect("compressed");
    write(home.path(), "gzip.txt", gzip.finish().expect("compressed"));
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(text.as_bytes()).expect("compressed");
    write(home.path(), "xz.trace", xz.finish().expect("compressed"));
    let check = |name: &str| told(home.path(), &["check", "ibm-10k", "--trace", name, "--csv"]);
    let plain = check("plain.zst");
    assert!(
        plain.starts_with("device,requests,demerit_ms,demerit_share,mean_ms,modelled_mean_ms\nibm-10k,400,"),
        "{plain}"
    );
    for name in ["zstd", "gzip.txt", "xz.trace"] {
        assert_eq!(check(name), plain, "{name}");
    }
}

#[test]
fn damaged_traces_are_refused() {
    let home = folder();
    let check = |content: &[u8], expected: &[&str]| {
        write(home.path(), "trace", content);
        refused(home.path(), &["check", "ibm-10k", "--trace", "trace"], &[&["trace"], expected].concat());
    };
    check(b"R Hit 1 1 1 1\nX Hit 1 1 1 1\n", &["line 2", "R or W"]);
    check(b"R Hit 1 1 1\n", &["line 1", "six columns"]);
    check(b"", &["no requests"]);
    check(b"\x28\xb5\x2f\xfdnonsense", &[]);
    check(b"\x1f\x8bnonsense", &[]);
    refused(home.path(), &["check", "ibm-10k", "--trace", "missing"], &["missing", "No such file"]);
    refused(home.path(), &["check", "ibm-10k"], &["--trace"]);
    refused(home.path(), &["check", "nobody", "--trace", "trace"], &["`nobody`", "ibm-10k"]);
}

/// The measured disks, if their files are there.
fn disks() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("FOREBAY_TRACES").map_or(beside, PathBuf::from).join("disks");
    if !folder.is_dir() {
        println!("SKIPPED: there is no {}", folder.display());
        return None;
    }
    Some(folder)
}

/// From the parameter files of a real disk to the distance of its model from the measured times.
#[test]
fn real_disks_are_imported_and_checked() {
    let Some(disks) = disks() else { return };
    let home = folder();
    let path = |name: &str| disks.join(name).to_str().expect("text").to_owned();
    let (file, trace) = (path("cheetah9LP.diskspecs"), path("cheetah9LP.trace.zst"));
    assert_eq!(told(home.path(), &["import", &file, "-o", "full.toml"]), "");
    told(home.path(), &["import", &file, "--simple", "--output", "simple.toml"]);
    let printed = told(home.path(), &["import", &file]);
    assert_eq!(printed, std::fs::read_to_string(home.path().join("full.toml")).expect("a description"));
    assert!(printed.starts_with("# From cheetah9LP.diskspecs.\nname = "), "{printed}");
    let share = |name| number(&records(home.path(), &["check", name, "--trace", &trace])[0], "demerit_share");
    let (full, simple) = (share("full.toml"), share("simple.toml"));
    assert!(full < simple && simple < 0.1, "{full} {simple}");
    assert_eq!(records(home.path(), &["show", "full.toml"])[0]["kind"], "disk");
}

#[test]
fn what_cannot_be_imported_is_refused() {
    let home = folder();
    refused(home.path(), &["import", "missing.diskspecs"], &["missing.diskspecs", "No such file"]);
    write(home.path(), "bad.diskspecs", "disksim_disk {\n");
    refused(home.path(), &["import", "bad.diskspecs"], &["bad.diskspecs"]);
    refused(home.path(), &["import", "bad.diskspecs", "-o", "x.txt"], &["x.txt", ".toml"]);
    write(home.path(), "empty.diskspecs", "");
    refused(home.path(), &["import", "empty.diskspecs", "-o", "x.toml"], &["empty.diskspecs"]);
    assert!(!home.path().join("x.toml").exists());
}

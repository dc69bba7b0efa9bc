//! Every benchmark in its smallest form, which shows only that it still runs. Its figures mean
//! nothing.

use std::process::Command;

use forebay_testkit::{loop_disk, memory_group, mounts, need};

fn smoke(names: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_forebay-bench")).args(["--smoke", "--json"]).args(names).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn in_process() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("plot.svg");
    let rows = smoke(&["local-stream", "handlers", "--plot", plot.to_str().unwrap()]);
    assert!(rows.contains("\"against\": \"offline optimum\""), "{rows}");
    assert!(std::fs::read_to_string(plot).unwrap().contains("competitive"));
    assert!(smoke(&["scrape"]).contains("ms a scrape"));
}

#[test]
fn reading_traces() {
    // Without libCacheSim it says so, and there are no rows.
    let rows = smoke(&["trace-read"]);
    assert!(rows.contains("\"against\": \"libCacheSim\"") || rows.trim() == "[]", "{rows}");
}

#[test]
fn on_the_disk() {
    let _fio = need!("fio");
    let rows = smoke(&["tier"]);
    assert!(rows.contains("tier hits of 1024 KiB, 32 at a time") && rows.contains("fio, a plain file"), "{rows}");
    assert!(rows.contains("a miss of 64 KiB, an empty tier") && rows.contains("everything found"), "{rows}");
}

#[test]
fn in_virtual_time() {
    let rows = smoke(&["bridge", "timed"]);
    assert!(rows.contains("live engine, paced") && rows.contains("block references/s"), "{rows}");
}

#[test]
fn auto_live_and_simulated() {
    let rows = smoke(&["auto"]);
    let cases = ["whole files", "a loop beside scans", "slow readers beside a copy", "a report beside scans"];
    let today = ["epochs, store", "steps, disk", "container starts, store", "parquet, disk"];
    for case in cases.into_iter().chain(today) {
        assert!(rows.contains(&format!("{case}: lazy+amp, live")), "{rows}");
        assert!(rows.contains(&format!("{case}: the order of policies")), "{rows}");
    }
}

#[test]
fn replays() {
    let rows = smoke(&["replay", "curve"]);
    assert!(rows.contains("resident memory") && rows.contains("eight sizes one by one"), "{rows}");
}

#[test]
fn instructions() {
    let _valgrind = need!("valgrind");
    assert!(smoke(&["hit"]).contains("instructions"));
    let rows = smoke(&["partitions"]);
    assert!(rows.contains("lazy-clock, a hit by the short cut, 64 devices"), "{rows}");
    assert!(rows.contains("a miss of LANDLORD"), "{rows}");
    assert!(smoke(&["distances"]).contains("a request under esf"));
}

#[test]
fn over_http() {
    let (_nginx, _wrk) = (need!("nginx"), need!("wrk"));
    assert!(smoke(&["serve"]).contains("nginx without sendfile"));
}

#[test]
fn through_a_mount() {
    if mounts::possible() {
        assert!(smoke(&["mount-hits"]).contains("null FUSE server"));
        assert!(smoke(&["programs"]).contains("the mount with linux"));
        assert!(smoke(&["storage-aware"]).contains("a store turns slow: landlord"));
        assert!(smoke(&["supply-chain"]).contains("RA over SARC, labels: hits: response"));
        assert!(smoke(&["amp"]).contains("the mount with competitive+arc"));
        assert!(smoke(&["kernel-cache"]).contains("mapped, at random, cold, disk"));
    }
}

#[test]
fn from_an_object_store() {
    let _versitygw = need!("versitygw");
    assert!(smoke(&["object-stream"]).contains("parallel raw range gets"));
}

#[test]
fn beside_other_mounts() {
    let (_versitygw, _rclone) = (need!("versitygw"), need!("rclone"));
    if mounts::possible() && beside("forebay") {
        let rows = smoke(&["peers"]);
        assert!(rows.contains("rclone, the best peer") || rows.contains("s3fs, the best peer"), "{rows}");
        assert!(rows.contains("raw connections") && rows.contains("peak memory, a budget of 128 MiB"), "{rows}");
        let rows = smoke(&["kept"]);
        assert!(rows.contains("a start, files of 64 KiB, another mount") && rows.contains("written_bytes"), "{rows}");
    }
}

#[test]
fn against_the_kernel() {
    if loop_disk::possible() && memory_group::possible() && beside("forebay") {
        let rows = smoke(&["kernel"]);
        assert!(rows.contains("forebay, competitive") && rows.contains("read-ahead 1024 KiB"), "{rows}");
        assert!(rows.contains("its own peak in this sweep"), "{rows}");
    }
}

/// Whether the command was built too. cargo builds it for the workspace, but not for this crate
/// alone.
fn beside(name: &str) -> bool {
    let there = std::path::Path::new(env!("CARGO_BIN_EXE_forebay-bench")).with_file_name(name).is_file();
    if !there {
        forebay_testkit::tools::skip("the command `forebay`, which `cargo build -p forebay-cli` makes,");
    }
    there
}

//! What a mount learns of its readers when they don't read.

use std::fs::{self, File};
use std::io::Read;
use std::process::{Command, Stdio};

use forebay_testkit::mounts;
use forebay_testkit::process::Signal;

use crate::{Mount, eventually, text};

/// Names of a process's threads.
fn threads(id: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).expect("it runs");
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.map(|name| name.trim().to_owned()).collect()
}

/// A reader that has had something fetched ahead and exits without reading it is noticed, though it cannot say so.
#[test]
fn a_reader_that_exits_is_noticed() {
    if !mounts::possible() {
        return;
    }
    let source = tempfile::tempdir().expect("a folder");
    fs::write(source.path().join("file"), vec![7; 8 << 20]).expect("written");
    for kernel_cache in ["on", "off"] {
        let flight = source.path().join(format!("flight-{kernel_cache}"));
        let how = ["--policy", "competitive-em", "--kernel-cache", kernel_cache, "--record", text(&flight)];
        let mount = Mount::start(&[&[text(source.path())], &how[..]].concat());
        // The file stays open, so that what was fetched ahead is not given up with it.
        let mut open = File::open(mount.path().join("file")).expect("there");
        let mut reader = Command::new("dd");
        reader.arg(format!("if={}", text(&mount.path().join("file")))).args(["of=/dev/null", "bs=4k", "count=40"]);
        let mut reader = reader.stderr(Stdio::null()).spawn().expect("dd is everywhere");
        let id = reader.id();
        assert!(reader.wait().expect("it ends").success());
        assert!(mount.counter("prefetched_bytes") > 0);
        let exited = format!("{{\"Exited\":{{\"handler\":{id}}}}}");
        eventually("its exit in the flight", || fs::read_to_string(&flight).expect("a flight").contains(&exited));
        open.read_exact(&mut [0; 100]).expect("readable");
        drop(open);
        assert!(mount.end(Signal::INT).success());
    }
}

#[test]
fn only_a_policy_that_asks_has_a_thread_for_it() {
    if !mounts::possible() {
        return;
    }
    let source = tempfile::tempdir().expect("a folder");
    for (policy, watches) in [("competitive-em", true), ("competitive", false), ("linux+arc", false)] {
        let mount = Mount::start(&[text(source.path()), "--policy", policy]);
        let id = mount.running.id();
        // A thread has its name a moment after it has begun.
        if watches {
            eventually("a thread that watches", || threads(id).iter().any(|name| name == "forebay-activit"));
        } else {
            assert!(threads(id).iter().all(|name| name != "forebay-activit"), "{policy}: {:?}", threads(id));
        }
        assert!(mount.end(Signal::INT).success());
    }
}

//! Facts that a mount learns of its readers while they don't read.

use std::fs::{self, File};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use forebay_testkit::mounts;
use forebay_testkit::process::Signal;

use crate::{Mount, eventually, text};

/// Names of a process's threads.
fn threads(id: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).expect("it runs");
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.map(|name| name.trim().to_owned()).collect()
}

/// A mount notices a reader that exits with unread prefetched blocks, though the reader cannot say
/// so.
#[test]
fn a_reader_that_exits_is_noticed() {
    if !mounts::possible() {
        return;
    }
    let source = tempfile::tempdir().expect("a folder");
    fs::write(source.path().join("file"), vec![7; 8 << 20]).expect("written");
    for kernel_cache in ["on", "off"] {
        let flight = source.path().join(format!("flight-{kernel_cache}"));
        // On a modelled disk, so that the number of prefetched blocks does not depend on this
        // machine.
        let how = [
            "--policy",
            "competitive-em",
            "--pace",
            "cheetah-9lp",
            "--kernel-cache",
            kernel_cache,
            "--record",
            text(&flight),
        ];
        let mount = Mount::start(&[&[text(source.path())], &how[..]].concat());
        // The file stays open; its last close would give up the prefetched blocks.
        let mut open = File::open(mount.path().join("file")).expect("there");
        let recorded = || fs::read_to_string(&flight).expect("a flight");
        let exit_of = |id: u32| format!("{{\"Exited\":{{\"handler\":{id}}}}}");
        let mut readers = Vec::new();
        eventually(&format!("the exit of one of many readers in the flight, kernel cache {kernel_cache}"), || {
            // The kernel's requests may end just where a piece does. Then nothing unread is left,
            // so the next attempt begins at another place.
            let place = readers.len() * 50 % 2000;
            let mut reader = Command::new("dd");
            reader.arg(format!("if={}", text(&mount.path().join("file"))));
            reader.args(["of=/dev/null", "bs=4k", "count=40", &format!("skip={place}")]).stderr(Stdio::null());
            let mut reader = reader.spawn().expect("dd is everywhere");
            readers.push(reader.id());
            assert!(reader.wait().expect("it ends").success());
            std::thread::sleep(Duration::from_millis(1500));
            readers.iter().any(|&id| recorded().contains(&exit_of(id)))
        });
        assert!(mount.counter("prefetched_bytes") > 0);
        let exited = readers.into_iter().map(exit_of).find(|exited| recorded().contains(exited)).expect("one of them");
        // The next look at the reader does not record its exit again.
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(recorded().matches(&exited).count(), 1);
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

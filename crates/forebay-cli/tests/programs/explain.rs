//! `forebay explain` of a real mount: files that programs read have names, and each size has its
//! reason.

use std::fs::File;
use std::os::unix::fs::FileExt;

use forebay_testkit::mounts;
use forebay_testkit::process::Signal;
use serde_json::Value;

use super::{Mount, forebay, text};

fn explain(mount: &Mount, json: bool) -> String {
    let args = [&["explain", text(mount.path())][..], if json { &["--json"] } else { &[] }].concat();
    let output = forebay(&args).output().expect("the command starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn mount(args: &[&str], name: &str) -> (tempfile::TempDir, Mount) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("sub")).expect("a folder");
    std::fs::write(folder.path().join("sub").join(name), vec![7; 4 << 20]).expect("a file");
    let source = folder.path().to_owned();
    (folder, Mount::start(&[&[text(&source), "--memory", "32MiB", "--hints", "off"], args].concat()))
}

#[test]
fn a_stream_of_a_mount_is_named_and_explained() {
    if !mounts::possible() {
        return;
    }
    let (_folder, mount) = mount(&[], "film");
    let file = File::open(mount.path().join("sub/film")).expect("there");
    let mut buffer = vec![0; 64 << 10];
    for piece in 0..16 {
        file.read_exact_at(&mut buffer, piece << 16).expect("readable");
    }
    let explained: Value = serde_json::from_str(&explain(&mount, true)).expect("JSON");
    // 4 MiB of the 32 are for the names of contexts.
    assert_eq!((&explained["policy"], &explained["memory_bytes"]), (&"auto".into(), &(28u64 << 20).into()));
    let stream = &explained["streams"][0];
    assert_eq!((&stream["name"], &stream["next"]), (&"sub/film".into(), &256.into()), "{explained}");
    assert!(stream["piece"].as_u64() > Some(0) && stream["why"]["piece"] != "nothing", "{stream}");
    let context = &explained["contexts"][0];
    assert!(context["name"].as_str().is_some_and(|name| name.ends_with("sub/film")), "{explained}");
    let shown = explain(&mount, false);
    let expected = [
        "auto, 28.0 MiB of memory",
        "; frames take ",
        "sub/film",
        "prefetch cache: ",
        "default policy",
        "the other 4.0 MiB of 32.0 MiB are for",
    ];
    let unfolded = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in expected {
        assert!(unfolded.contains(expected), "{expected:?} is not in\n{shown}");
    }
}

/// A mount that was killed is no trace.
#[test]
fn a_mount_that_is_gone_says_so() {
    if !mounts::possible() {
        return;
    }
    let (_folder, mount) = mount(&[], "film");
    mount.end(Signal::KILL);
    for command in ["explain", "stats", "top"] {
        let output = forebay(&[command, text(mount.path())]).output().expect("the command starts");
        let said = String::from_utf8_lossy(&output.stderr);
        let whole = format!("error: {}: its forebay is gone; mount it again\n", text(mount.path()));
        assert_eq!((output.status.code(), &*said), (Some(2), &*whole), "{command}");
    }
}

#[test]
fn long_names_fit_into_a_terminal() {
    if !mounts::possible() {
        return;
    }
    let (_folder, mount) = mount(&[], &"a rather long name ".repeat(13));
    let name = mount.path().join("sub").join("a rather long name ".repeat(13));
    assert_eq!(std::fs::read(name).expect("readable").len(), 4 << 20);
    let shown = explain(&mount, false);
    let wide = shown.lines().find(|line| line.chars().count() > 100);
    assert!(wide.is_none() && shown.contains('…'), "{wide:?} of\n{shown}");
}

/// `auto` doesn't divide blocks that the kernel keeps. A mount without `--contexts` leaves nothing
/// in shared memory.
#[test]
fn auto_is_the_default_with_the_kernel_cache_too() {
    if !mounts::possible() {
        return;
    }
    let (_folder, mount) = mount(&["--kernel-cache", "on"], "film");
    assert_eq!(std::fs::read(mount.path().join("sub/film")).expect("readable"), vec![7; 4 << 20]);
    let explained: Value = serde_json::from_str(&explain(&mount, true)).expect("JSON");
    assert_eq!(explained["policy"], "auto:without=devices/contexts");
    assert_eq!(explained["referenced"], "HandedOn");
    assert!(explained["contexts"].as_array().is_some_and(Vec::is_empty), "{explained}");
}

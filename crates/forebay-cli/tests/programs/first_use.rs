//! The first use of a store that was never measured: readers do not wait for a measurement. It is
//! made while none of them reads, with few bytes, and once.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use forebay_testkit::far::{Counts, Distance, FarProxy};
use forebay_testkit::mounts;
use forebay_testkit::mounts::MountPoint;
use forebay_testkit::need;
use forebay_testkit::s3::{BUCKET, S3};
use forebay_testkit::trees::content;

use crate::{Mount, eventually, forebay};

const SIZE: usize = 64 << 20;
/// The bytes of a measurement, and its requests: as documented in `docs/operating.md`.
const MOST: u64 = 16 << 20;
const REQUESTS: u64 = 124;

/// A mount of a store that is 20 ms away, for the user of a home.
fn mounted(proxy: &FarProxy, home: &Path) -> Mount {
    let (bucket, endpoint) = (format!("s3://{BUCKET}"), proxy.endpoint());
    let mut command = forebay(&["mount", &bucket, "--endpoint", &endpoint, "--region", "us-east-1"]);
    command.env("HOME", home);
    Mount::by(command, MountPoint::new().expect("a mount point"))
}

fn profiles(home: &Path) -> usize {
    fs::read_dir(home.join(".cache/forebay/profiles")).map_or(0, Iterator::count)
}

/// The rate of the mount's device, MB/s.
fn rate(mount: &Mount) -> f64 {
    let stats = forebay(&["stats", "--json", mount.path().to_str().expect("text")]).output().expect("it starts");
    let json: serde_json::Value = serde_json::from_slice(&stats.stdout).expect("JSON");
    json["devices"][0]["transfer_mb_s"].as_f64().unwrap_or_else(|| panic!("no rate in {json}"))
}

#[test]
fn the_first_byte_waits_for_no_measurement_and_that_has_few_bytes() {
    if !mounts::possible() {
        return;
    }
    let (server, home) = (S3::start(&need!("versitygw")).expect("a server"), tempfile::tempdir().expect("a folder"));
    let bytes = content(7, SIZE);
    server.put("file", &bytes).expect("stored");
    let distance = Distance { first_byte: Duration::from_millis(20), connection_rate: None };
    let proxy = FarProxy::start(server.address(), distance).expect("a proxy");

    let mount = mounted(&proxy, home.path());
    let started = proxy.counts();
    assert_eq!(started.gets, 0, "no file is read before a reader comes: {started:?}");
    let file = File::open(mount.path().join("file")).expect("opened");
    let mut first = [0; 4096];
    file.read_exact_at(&mut first, 0).expect("readable");
    let begun = proxy.counts();
    assert_eq!(rate(&mount), 90.0, "a usual one");
    assert!(first[..] == bytes[..4096]);
    // The reader's own read, as the kernel makes it, and what is fetched ahead of it.
    let before = Counts { bytes: begun.bytes - started.bytes, gets: begun.gets, ..Counts::default() };
    assert!(before.bytes <= 8 << 20 && before.gets <= 8, "before the first byte: {before:?}");
    assert_eq!(profiles(home.path()), 0);

    eventually("the profile", || profiles(home.path()) == 1);
    let measured = proxy.counts().since(&begun);
    assert!(measured.bytes <= MOST + (8 << 20), "with what was fetched ahead: {measured:?}");
    assert!((20..=REQUESTS + 8).contains(&measured.gets) && measured.lists == 0, "{measured:?}");
    assert_ne!(rate(&mount), 90.0, "the running mount hears of it");
    let rest = proxy.counts();
    assert!(fs::read(mount.path().join("file")).expect("readable") == bytes);
    let read = proxy.counts().since(&rest);
    assert!(read.bytes <= SIZE as u64 + (1 << 20), "the file alone: {read:?}");

    // The next mount of this user knows the store, and measures nothing.
    let again = mounted(&proxy, home.path());
    let before = proxy.counts();
    assert!(fs::read(again.path().join("file")).expect("readable") == bytes);
    std::thread::sleep(Duration::from_millis(2500));
    let read = proxy.counts().since(&before);
    assert!(read.bytes <= SIZE as u64 + (1 << 20), "the file alone: {read:?}");
}

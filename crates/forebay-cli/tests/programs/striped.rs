//! A set of folders behind one name: made by `forebay stripe`, mounted, read by other programs,
//! damaged.

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

use forebay_core::Policy;
use forebay_testkit::mounts::{self, MountPoint};
use forebay_testkit::need;
use forebay_testkit::process::Signal;
use forebay_testkit::s3::{BUCKET, S3};
use forebay_testkit::trees::content;

use crate::{Mount, forebay, run, text};

/// A tree with files of many sizes.
fn tree(root: &Path) {
    fs::create_dir_all(root.join("folder/empty")).expect("a folder");
    for (file, size) in [0, 1, 4095, 65_536, 65_537, 3 * 65_536, 1_000_000, 5_000_017].into_iter().enumerate() {
        fs::write(root.join(format!("folder/{file}")), content(file as u64, size)).expect("written");
    }
    symlink("folder/7", root.join("link")).expect("a link");
}

/// The command's standard error, and its exit code.
fn said(args: &[&str]) -> (String, Option<i32>) {
    let output = forebay(args).output().expect("it starts");
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(line.matches('\n').count() <= 1, "{args:?}: {line}");
    (line, output.status.code())
}

#[test]
fn a_set_is_made_mounted_and_compared() {
    if !mounts::possible() {
        return;
    }
    let diff = need!("diff");
    let (whole, parts) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    tree(whole.path());
    let members: Vec<PathBuf> = (0..3).map(|member| parts.path().join(format!("d{member}"))).collect();
    let set = format!("stripe:64KiB:{}", members.iter().map(|member| text(member)).collect::<Vec<_>>().join(","));

    let output = forebay(&["stripe", text(whole.path()), &set]).output().expect("it starts");
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(line.contains("8 files, 2 folders and 1 link over 3 members"), "{line}");
    let (line, code) = said(&["stripe", text(whole.path()), &set]);
    assert!(code == Some(2) && line.contains("not empty") && line.contains(text(&members[0])), "{line}");

    for policy in ["competitive", "competitive+lazy-clock:window=20", "eager-lru:window=20"] {
        let flight = tempfile::NamedTempFile::new().expect("a file");
        let args = [&format!("all={set}"), "--memory", "24MiB", "--policy", policy, "--record", text(flight.path())];
        let mount = Mount::start(&args);
        run(&diff, &["-r", text(whole.path()), "all"], mount.path());
        let json = forebay(&["stats", "--json", text(mount.path())]).output().expect("it starts").stdout;
        let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
        assert_eq!((&json["device_count"], json["devices"].as_array().map(Vec::len)), (&3.into(), Some(3)));
        for (member, device) in members.iter().zip(json["devices"].as_array().expect("devices")) {
            assert_eq!(device["name"], format!("all: {}", text(member)));
            assert!(device["fetched_bytes"].as_u64() > Some(1_000_000), "{json}");
            assert_eq!(device["partition"].is_object(), policy != "competitive", "{json}");
        }
        let divided = policy != "competitive";
        assert_eq!(json["referenced"], if divided { "Kept" } else { "HandedOn" });
        let table = forebay(&["stats", text(mount.path())]).output().expect("it starts").stdout;
        assert_eq!(String::from_utf8_lossy(&table).contains("partitions, by the last of"), divided);
        assert_eq!(mount.end(Signal::TERM).code(), Some(0));
        let replayed = forebay_live::flight::replay(flight.path()).expect("a flight");
        assert_eq!(replayed.differs_at, None, "{policy}: {replayed:?}");
    }
}

/// A set of two prefixes of a bucket and a folder, and a copy of it as a set of folders.
#[test]
fn stores_can_be_members() {
    if !mounts::possible() {
        return;
    }
    let server = S3::start(&need!("versitygw")).expect("a server");
    let (local, copies) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    fs::create_dir(local.path().join("folder")).expect("a folder");
    let files = [("folder/large", 1_000_003), ("folder/none", 0), ("small", 5000)];
    for (file, (name, size)) in files.into_iter().enumerate() {
        let mut parts = [const { Vec::new() }; 3];
        for (number, chunk) in content(file as u64, size).chunks(4096).enumerate() {
            parts[number % 3].extend_from_slice(chunk);
        }
        server.put(&format!("one/{name}"), &parts[0]).expect("stored");
        fs::write(local.path().join(name), &parts[1]).expect("written");
        server.put(&format!("two/{name}"), &parts[2]).expect("stored");
    }
    let set = format!("stripe:4KiB:s3://{BUCKET}/one,{},s3://{BUCKET}/two", text(local.path()));
    let (endpoint, copy) = (server.endpoint(), copies.path().join("copy"));
    let server_is = ["--endpoint", &endpoint, "--region", "us-east-1"];
    let copied = format!("stripe:64KiB:{}", text(&copy));
    let (line, code) = said(&[&["stripe", &set, &copied], &server_is[..]].concat());
    assert_eq!(code, Some(0), "{line}");
    let mount = Mount::start(
        &[&[&*set, "--memory", "28MiB", "--policy", "competitive+lazy+arc", "--ttl", "0s"], &server_is[..]].concat(),
    );
    for (file, (name, size)) in files.into_iter().enumerate() {
        assert!(fs::read(mount.path().join(name)).expect("readable") == content(file as u64, size), "{name}");
        // A set of one member is a plain copy.
        assert!(fs::read(copy.join(name)).expect("readable") == content(file as u64, size), "{name}");
    }
    // One part is another object now, and a longer one.
    server.put("two/folder/large", &vec![7; 333_065]).expect("stored");
    let error = fs::read(mount.path().join("folder/large")).expect_err("it does not fit");
    assert_eq!(error.raw_os_error(), Some(libc::EIO), "{error}");
}

#[test]
fn a_damaged_member_spoils_what_it_has_and_says_so() {
    if !mounts::possible() {
        return;
    }
    let (whole, parts) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    tree(whole.path());
    let members: Vec<PathBuf> = (0..2).map(|member| parts.path().join(format!("d{member}"))).collect();
    let set = format!("stripe:4KiB:{},{}", text(&members[0]), text(&members[1]));
    assert_eq!(said(&["stripe", text(whole.path()), &set]).1, Some(0));
    let log = tempfile::NamedTempFile::new().expect("a file");
    let mount = Mount::start(&[&set, "--policy", "lazy-lru", "--ttl", "0s", "--log-file", text(log.path())]);
    let file = fs::File::open(mount.path().join("folder/7")).expect("there");
    let mut block = vec![0; 4096];
    file.read_exact_at(&mut block, 0).expect("readable");

    // A part changes: the rest of the old version is stale, and readers get the new version.
    let part = members[1].join("folder/7");
    let mut bytes = fs::read(&part).expect("readable");
    std::thread::sleep(std::time::Duration::from_millis(25));
    bytes[..4096].copy_from_slice(&content(99, 4096));
    fs::write(&part, &bytes).expect("written");
    let error = file.read_exact_at(&mut block, 4096).expect_err("it changed");
    assert_eq!(error.raw_os_error(), Some(libc::ESTALE), "{error}");
    let new = fs::read(mount.path().join("folder/7")).expect("readable");
    assert!(new[4096..8192] == content(99, 4096) && new[..4096] == content(7, 5_000_017)[..4096]);

    // One part is gone, and another is short. Reads get errors, and the names are still listed.
    fs::remove_file(members[0].join("folder/6")).expect("removed");
    fs::write(members[1].join("folder/5"), "short").expect("written");
    for name in ["folder/5", "folder/6"] {
        let error = fs::read(mount.path().join(name)).expect_err("it does not fit");
        assert_eq!(error.raw_os_error(), Some(libc::EIO), "{name}: {error}");
    }
    assert_eq!(fs::read_dir(mount.path().join("folder")).expect("a folder").count(), 9);
    assert!(fs::read(mount.path().join("folder/4")).expect("readable") == content(4, 65_537));
    let log = fs::read_to_string(log.path()).expect("readable");
    for expected in [
        format!("is missing in {}", text(&members[0])),
        format!("has 5 bytes where 94208 fit the other members' in {}", text(&members[1])),
    ] {
        assert!(log.contains(&expected), "{expected:?} is not in {log}");
    }
}

#[test]
fn sets_that_cannot_be() {
    if !mounts::possible() {
        return;
    }
    let (folder, point) = (tempfile::tempdir().expect("a folder"), MountPoint::new().expect("a mount point"));
    let (here, point) = (text(folder.path()).to_owned(), text(point.path()).to_owned());
    let refused = |args: &[&str], expected: &[&str]| {
        let (line, code) = said(args);
        assert_eq!(code, Some(2), "{args:?}: {line}");
        for part in expected {
            assert!(line.contains(part), "{args:?}: {part:?} is not in {line}");
        }
    };
    let missing = format!("{here}/no/folder");
    refused(&["mount", &format!("stripe:64KiB:{here},{missing}"), &point], &[&missing, "not found"]);
    refused(&["mount", &format!("stripe:64:{here}"), &point], &["multiple of 4096", "stripe:64KiB:/d1,/d2"]);
    refused(&["mount", "s=stripe:lots:/d1", &point], &["not a size"]);
    refused(&["mount", &format!("stripe:64KiB:{here}"), &format!("{here}/inside")], &["inside"]);
    let on = ["mount", &here, &point, "--kernel-cache", "on", "--policy", "lazy-lru"];
    refused(&on, &["--kernel-cache on", "lazy", "off"]);

    // More members than the policy has partitions for. They are on one disk, so one measurement
    // serves all of them.
    let policy: Policy = "none+lazy+w-tinylfu".parse().expect("a policy");
    let most = policy.most_devices();
    let members: Vec<String> = (0..=most).map(|member| format!("{here}/{member}")).collect();
    members.iter().for_each(|member| fs::create_dir(member).expect("a folder"));
    let set = format!("stripe:64KiB:{}", members.join(","));
    let expected = [format!("{} devices", most + 1), format!("partitions, {most}")];
    refused(&["mount", &set, &point, "--policy", "none+lazy+w-tinylfu"], &[&expected[0], &expected[1]]);
    drop(Mount::start(&[&set, "--policy", "none+w-tinylfu"]));

    refused(&["stripe", &here, &missing], &["not a set"]);
    refused(&["stripe", &missing, &set], &[&missing, "not found"]);
    refused(&["stripe", &here, "x=stripe:64KiB:/d1"], &["x=", "when it is mounted"]);
    refused(&["stripe", &here, "stripe:64KiB:s3://bucket/x"], &["s3://bucket/x", "only folders"]);
}

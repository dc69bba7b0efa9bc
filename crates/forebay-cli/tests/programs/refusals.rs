//! Bad input: one line that names the fault, exit code 2, nothing mounted.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use forebay_testkit::delay::DelayProxy;
use forebay_testkit::mounts::{self, MountPoint, is_mounted};
use forebay_testkit::need;
use forebay_testkit::nginx::Nginx;
use forebay_testkit::s3::{BUCKET, S3};

use crate::{Mount, forebay, text};

/// The command must have refused, in a line that holds all of `expected`.
fn refused(mut command: Command, point: &MountPoint, expected: &[&str]) {
    let output = command.output().expect("it starts");
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{command:?}: {line}");
    assert!(line.starts_with("error: ") && line.matches('\n').count() == 1, "{command:?}: {line}");
    assert!(output.stdout.is_empty(), "{command:?}");
    for part in expected {
        assert!(line.contains(part), "{command:?}: {part:?} is not in {line}");
    }
    assert!(!is_mounted(point.path()), "{command:?}");
}

/// How many MiB are needed, by the refusal of too little memory.
fn needed(line: &str) -> u64 {
    let needed = line.split("at least ").nth(1).and_then(|rest| rest.split(" MiB").next());
    needed.and_then(|mib| mib.parse().ok()).unwrap_or_else(|| panic!("it does not say how much: {line}"))
}

#[test]
fn mount_points_and_memory() {
    if !mounts::possible() {
        return;
    }
    let (source, point) = (tempfile::tempdir().expect("a folder"), MountPoint::new().expect("a mount point"));
    let (folder, here) = (text(source.path()), text(point.path()));
    let inside = source.path().join("inside/deeper");
    fs::create_dir_all(&inside).expect("a folder");
    let file = source.path().join("file");
    fs::write(&file, "content").expect("written");
    let outer = text(source.path().parent().expect("a temporary folder has one"));

    let mount = |args: &[&str]| forebay(&[&["mount"], args].concat());
    refused(mount(&[folder, text(&inside)]), &point, &[text(&inside), "inside the source", "outside"]);
    refused(mount(&["a=/proc/self", &format!("b=file://{folder}"), text(&inside)]), &point, &["inside the source"]);
    refused(mount(&[outer, here]), &point, &[here, "inside the source"]);
    let elsewhere = tempfile::NamedTempFile::new().expect("a file");
    refused(mount(&[folder, text(elsewhere.path())]), &point, &[text(elsewhere.path()), "not a folder"]);
    refused(mount(&[text(&file), here]), &point, &[text(&file)]);
    refused(mount(&[folder, text(source.path())]), &point, &["not empty"]);
    let tier = source.path().join("tier");
    refused(mount(&[folder, here, "--disk", text(&tier)]), &point, &["--disk", "lies in the source", "outside it"]);
    assert!(!tier.exists(), "nothing was made");
    refused(mount(&[folder, here, "--disk-size", "1GiB"]), &point, &["--disk-size", "add --disk FOLDER"]);
    refused(mount(&[folder, here, "--memory", "1000TiB"]), &point, &["--memory 1000TiB", "the machine has"]);
    refused(mount(&[folder, here, "--memory", "5"]), &point, &["5 bytes are not enough"]);
    refused(mount(&["s3:/bucket", here]), &point, &["two slashes"]);
    let point_below = source.path().join("none/at/all");
    refused(mount(&[folder, text(&point_below)]), &point, &[text(&point_below), "no such folder"]);

    // The refusal of too little memory names an amount that is enough, and that amount is enough.
    let output = mount(&[folder, here, "--memory", "1MiB"]).output().expect("it starts");
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}");
    let needed = needed(&line);
    refused(mount(&[folder, here, "--memory", &format!("{}MiB", needed - 1)]), &point, &["too little memory"]);
    let enough = Mount::start(&[folder, "--memory", &format!("{needed}MiB")]);
    assert_eq!(fs::read(enough.path().join("file")).expect("readable"), b"content");

    // A mount over a mount is refused; the first one goes on.
    let output = mount(&[folder, text(enough.path())]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("already a mount point"));
    assert_eq!(fs::read(enough.path().join("file")).expect("readable"), b"content");
}

#[test]
fn object_stores() {
    if !mounts::possible() {
        return;
    }
    let server = S3::start(&need!("versitygw")).expect("a server");
    server.put("prefix/key", b"value").expect("stored");
    let point = MountPoint::new().expect("a mount point");
    let gone = DelayProxy::start(server.address(), std::time::Duration::ZERO).expect("a proxy");
    gone.set_down(true);
    let here = text(point.path());
    let mount = |uri: &str, endpoint: &str, variables: &[(&str, &str)]| {
        let mut command = forebay(&["mount", uri, here, "--endpoint", endpoint, "--region", "us-east-1"]);
        command.envs(variables.iter().copied());
        command
    };
    let (bucket, endpoint) = (format!("s3://{BUCKET}"), server.endpoint());
    let others = "set AWS_ACCESS_KEY_ID, or use --profile NAME";
    let wrong = [&*bucket, "the secret key does not fit", others];
    refused(mount(&bucket, &endpoint, &[("AWS_SECRET_ACCESS_KEY", "wrong")]), &point, &wrong);
    let unknown = [&*bucket, "check the keys"];
    refused(mount(&bucket, &endpoint, &[("AWS_ACCESS_KEY_ID", "nobody")]), &point, &unknown);
    refused(mount(&bucket, &gone.endpoint(), &[]), &point, &[&bucket, &gone.endpoint()]);
    refused(mount("s3://no-such-bucket", &endpoint, &[]), &point, &["s3://no-such-bucket"]);
    let prefix = format!("{bucket}/no/such/prefix");
    refused(mount(&prefix, &endpoint, &[]), &point, &[&prefix]);
    // The refusal also names an amount that is enough for a store, and it is.
    let store = ["mount", &bucket, here, "--endpoint", &endpoint, "--region", "us-east-1", "--memory"];
    let output = forebay(&[&store[..], &["5MiB"]].concat()).output().expect("it starts");
    let needed = needed(&String::from_utf8_lossy(&output.stderr));
    refused(forebay(&[&store[..], &[&format!("{}MiB", needed - 1)]].concat()), &point, &["too little memory"]);
    let memory = format!("{needed}MiB");
    let enough = [&bucket, "--endpoint", &endpoint, "--region", "us-east-1", "--memory", &memory];
    let enough = Mount::start(&enough);
    assert_eq!(fs::read(enough.path().join("prefix/key")).expect("readable"), b"value");
    refused(mount("s4://bucket", &endpoint, &[]), &point, &["s4", "s3://", "gs://", "file://"]);
}

#[test]
fn stores_that_are_none_and_objects_that_are_no_folders() {
    if !mounts::possible() {
        return;
    }
    let (server, page) = (S3::start(&need!("versitygw")).expect("a server"), tempfile::tempdir().expect("a folder"));
    server.put("small.txt", b"content").expect("stored");
    fs::create_dir(page.path().join(BUCKET)).expect("a folder");
    fs::write(page.path().join(BUCKET).join("index.html"), "<!doctype html><p>Welcome").expect("written");
    let nginx = Nginx::start(&need!("nginx"), page.path(), false).expect("a server");
    let point = MountPoint::new().expect("a mount point");
    let mount = |uri: &str, endpoint: &str| {
        forebay(&["mount", uri, text(point.path()), "--endpoint", endpoint, "--region", "us-east-1"])
    };
    let bucket = format!("s3://{BUCKET}");
    let words = "the answer is a page of HTML instead of a listing: is this the endpoint of an S3 store?";
    refused(mount(&bucket, &nginx.url()), &point, &[&bucket, &nginx.url(), words]);
    let object = format!("{bucket}/small.txt");
    let words = format!("{object}: this is an object, not a folder; mount {bucket} to see it");
    refused(mount(&object, &server.endpoint()), &point, &[&words]);
    let file = page.path().join(BUCKET).join("index.html");
    refused(mount(text(&file), &server.endpoint()), &point, &["is a file; give the folder that it is in"]);
}

#[test]
fn an_unreadable_source() {
    if !mounts::possible() {
        return;
    }
    let (open, point) = (tempfile::tempdir().expect("a folder"), MountPoint::new().expect("a mount point"));
    let (locked, program) = (open.path().join("locked"), open.path().join("forebay"));
    fs::create_dir(&locked).expect("a folder");
    // Another process copies it: a program that a test beside this starts meanwhile would inherit
    // our copy open for writing, and then the system does not execute it.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_forebay")).arg(&program).status();
    assert!(copied.expect("cp").success(), "copied");
    for (path, mode) in [(open.path(), 0o755), (&locked, 0o000)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    }
    let mut command = Command::new(program);
    command.args(["mount", text(&locked), text(point.path())]).env("FOREBAY_CONFIG", "/dev/null").stdin(Stdio::null());
    if rustix::process::geteuid().is_root() {
        // Root may read everything; the user `nobody` may not.
        command.uid(65_534).gid(65_534).env_remove("HOME").env_remove("XDG_CACHE_HOME");
    }
    refused(command, &point, &[text(&locked), "denied"]);
}

//! The disk tier of a mount: what was read twice is there after a restart, a kill and a changed
//! disk, and never with a wrong byte.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use forebay_testkit::far::{Distance, FarProxy};
use forebay_testkit::mounts::MountPoint;
use forebay_testkit::need;
use forebay_testkit::process::Signal;
use forebay_testkit::s3::{BUCKET, S3};
use forebay_testkit::trees::content;
use serde_json::Value;

use crate::{Mount, eventually, forebay, text};

const FILES: u64 = 24;
const SIZE: usize = (3 << 20) + 1234;

/// A store of files that memory does not hold, and a folder for the tier.
struct Scene {
    proxy: FarProxy,
    server: S3,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new(versitygw: &Path) -> Scene {
        let server = S3::start(versitygw).expect("a server");
        for number in 0..FILES {
            server.put(&name(number), &content(number, SIZE)).expect("stored");
        }
        let distance = Distance { first_byte: Duration::from_millis(2), connection_rate: None };
        let proxy = FarProxy::start(server.address(), distance).expect("a proxy");
        Scene { proxy, server, folder: tempfile::tempdir().expect("a folder") }
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("tier")
    }

    fn mount(&self) -> Mount {
        let (uri, endpoint, dir) = (format!("s3://{BUCKET}"), self.proxy.endpoint(), self.dir());
        let source = [&uri, "--endpoint", &endpoint, "--region", "us-east-1", "--ttl", "0s"];
        let memory = ["--memory", "64MiB", "--kernel-cache", "off", "--control", "off"];
        Mount::start(
            &[&source[..], &memory, &["--disk", text(&dir), "--disk-size", "256MiB", "--disk-free", "0"]].concat(),
        )
    }

    /// Reads everything, and compares it. Returns the bytes that the store sent for it.
    fn read(&self, mount: &Mount, changed: Option<u64>) -> u64 {
        let before = self.proxy.counts();
        for number in 0..FILES {
            let of = if changed == Some(number) { number + 1000 } else { number };
            let read = fs::read(mount.path().join(name(number))).expect("readable");
            assert!(read == content(of, SIZE), "{number} has other bytes");
        }
        self.proxy.counts().since(&before).bytes
    }

    /// Waits until the tables on disk name so many bytes.
    fn saved(&self, bytes: u64) {
        eventually("the tier has what was read", || {
            json(&cache(&["info", "--json", text(&self.dir())]))["piece_bytes"].as_u64() >= Some(bytes)
        });
    }
}

fn name(number: u64) -> String {
    format!("file-{number}")
}

fn cache(args: &[&str]) -> Output {
    forebay(&[&["cache"], args].concat()).output().expect("the command starts")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn tier(mount: &Mount, name: &str) -> u64 {
    let stats = forebay(&["stats", "--json", text(mount.path())]).output().expect("the command starts");
    json(&stats)["tiers"][0][name].as_u64().expect("a figure")
}

/// Bytes of all files, less what memory may have had throughout.
const MOST: u64 = FILES * SIZE as u64 - (40 << 20);

#[test]
fn what_was_read_twice_is_there_after_a_kill_and_a_restart() {
    let scene = Scene::new(&need!("versitygw"));
    let mount = scene.mount();
    let cold = scene.read(&mount, None);
    scene.read(&mount, None);
    scene.read(&mount, None);
    scene.saved(MOST);
    assert!(tier(&mount, "written_bytes") >= MOST && tier(&mount, "damaged") == 0);
    assert_eq!(mount.end(Signal::KILL).code(), None);
    drop(mount);
    // A mount does not wait for the tier, so what it reads at once may come from the store.
    let mount = scene.mount();
    eventually("everything from before is known", || {
        tier(&mount, "recovered_segments") == tier(&mount, "segments_before")
    });
    let warm = scene.read(&mount, None);
    assert!(warm * 2 < cold, "{warm} bytes after the restart, {cold} before");
    assert!(tier(&mount, "hit_bytes") >= MOST / 2);

    scene.server.put(&name(7), &content(1007, SIZE)).expect("stored");
    scene.read(&mount, Some(7));
    let stats = forebay(&["stats", text(mount.path())]).output().expect("the command starts");
    assert!(said(&stats).contains("disk tier") && said(&stats).contains(text(&scene.dir())), "{}", said(&stats));

    let dir = scene.dir();
    let busy = cache(&["clear", text(&dir)]);
    assert!(busy.status.code() == Some(2) && said(&busy).contains("in use"), "{}", said(&busy));
    let second = forebay(&["mount", "/etc", text(mount.path()), "--disk", text(&dir)]).output().expect("it starts");
    assert!(second.status.code() == Some(2) && said(&second).contains("in use"), "{}", said(&second));
    assert_eq!(mount.end(Signal::TERM).code(), Some(0));
    let cleared = cache(&["clear", text(&dir)]);
    assert!(cleared.status.success(), "{}", said(&cleared));
    assert!(said(&cache(&["info", text(&dir)])).contains("no disk tier"), "nothing is left");
}

/// Bits that change on the disk are found at each read, by the mount and by the command.
#[test]
fn a_disk_that_changes_its_bytes_gives_none_of_them_to_a_reader() {
    let scene = Scene::new(&need!("versitygw"));
    let mount = scene.mount();
    let _: Vec<u64> = (0..3).map(|_| scene.read(&mount, None)).collect();
    scene.saved(MOST);
    assert_eq!(mount.end(Signal::TERM).code(), Some(0));
    drop(mount);
    let right = cache(&["check", "--json", text(&scene.dir())]);
    assert!(right.status.success() && json(&right)["damaged"] == serde_json::json!([]), "{}", said(&right));
    for entry in fs::read_dir(scene.dir().join("forebay-1/segments")).expect("segments") {
        let file = File::options().write(true).open(entry.expect("an entry").path()).expect("a file");
        // A byte in every hundredth block, tables and pieces alike.
        let len = file.metadata().expect("a length").len();
        (0..len).step_by(100 * 4096).for_each(|at| file.write_all_at(&[0x5a], at + 77).expect("written"));
    }
    let damaged = cache(&["check", text(&scene.dir())]);
    assert_eq!((damaged.status.code(), said(&damaged).matches("damaged: ").count()), (Some(1), 20));
    assert!(said(&damaged).contains(" more; --json has them all"), "{}", said(&damaged));
    let mount = scene.mount();
    eventually("everything from before is known", || {
        tier(&mount, "recovered_segments") == tier(&mount, "segments_before")
    });
    scene.read(&mount, None);
    assert!(tier(&mount, "damaged") > 0, "pieces with other bytes were met");
    scene.read(&mount, None);
    assert_eq!(mount.end(Signal::TERM).code(), Some(0));
}

/// Folders that cannot be a tier are refused, with a reason and a remedy, and nothing is mounted.
#[test]
fn folders_that_cannot_be_a_tier_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, point) = (folder.path().join("source"), folder.path().join("point"));
    fs::create_dir(&source).and_then(|()| fs::create_dir(&point)).expect("folders");
    fs::write(folder.path().join("file"), "not a folder").expect("written");
    let refused = |more: &[&str], why: &str| {
        let output = forebay(&[&["mount", text(&source), text(&point)], more].concat()).output().expect("it starts");
        assert!(output.status.code() == Some(2) && said(&output).contains(why), "{more:?}: {}", said(&output));
    };
    let inside = point.join("tier");
    refused(&["--disk", text(&inside)], "lies in the mount point");
    refused(&["--record", text(&point.join("flight"))], "lies in the mount point");
    let tier = folder.path().join("tier");
    refused(&["--disk", text(&tier), "--disk-size", "1MiB"], "too small");
    refused(&["--disk", text(&tier), "--disk", text(&folder.path().join("source/../tier"))], "tier: given twice");
    refused(&["--disk", text(&tier), "--disk-size", "120%"], "a share is 0% to 100%");
    refused(&["--disk", text(&folder.path().join("file")), "--disk-size", "100MiB"], "file");
    refused(&["--disk", text(&folder.path().join("no/where")), "--disk-size", "100MiB"], "no/where");
    refused(
        &["--disk", text(&tier), "--disk-size", "100MiB", "--memory", "20MiB"],
        "the disk tier takes 18 MiB of them",
    );
    let none = cache(&["info", text(&source)]);
    assert!(none.status.code() == Some(2) && said(&none).contains("no disk tier"), "{}", said(&none));
}

/// A mount in the background leaves its folder, and its tier stays where it was named from there.
#[test]
fn a_relative_folder_holds_in_the_background() {
    let (source, at) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    // More than memory holds, so that it is fetched twice.
    for number in 0..6 {
        fs::write(source.path().join(name(number)), content(number, 10 << 20)).expect("written");
    }
    let point = MountPoint::new().expect("a mount point");
    let mut command = forebay(&["mount", "--daemon", text(source.path()), text(point.path()), "--disk", "tier"]);
    command.args(["--disk-size", "100MiB", "--disk-free", "0", "--memory", "64MiB", "--kernel-cache", "off"]);
    let status = command.current_dir(at.path()).stdout(Stdio::null()).status().expect("it starts");
    assert_eq!(status.code(), Some(0));
    let figure = |name: &str| {
        let stats = forebay(&["stats", "--json", text(point.path())]).output().expect("the command starts");
        json(&stats)["tiers"][0][name].clone()
    };
    eventually("pieces are written", || {
        for number in 0..6 {
            assert!(fs::read(point.path().join(name(number))).expect("readable") == content(number, 10 << 20));
        }
        assert_eq!(figure("no_writes"), Value::Null);
        figure("pieces").as_u64() > Some(0)
    });
    assert!(at.path().join("tier/forebay-1/segments/00000000").exists());
}

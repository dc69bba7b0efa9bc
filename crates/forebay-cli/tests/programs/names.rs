//! The cost of names: exact counts of requests to a store by unmodified programs. They run on a
//! mount of the store, on a mount of `forebay serve` above it, and on the level itself.

use std::path::Path;
use std::time::Duration;

use forebay_testkit::far::{Counts, Distance, FarProxy};
use forebay_testkit::need;
use forebay_testkit::s3::{BUCKET, S3};
use forebay_testkit::trees::content;

use crate::identity::Serve;
use crate::{Mount, run};

/// A bucket of small files in one folder, behind a proxy that counts.
struct Scene {
    proxy: FarProxy,
    server: S3,
}

const FILES: usize = 1000;
const SIZE: usize = 3000;

fn name(number: usize) -> String {
    format!("folder/file-{number:05}")
}

fn bytes(number: usize) -> Vec<u8> {
    content(number as u64, SIZE)
}

impl Scene {
    fn new(versitygw: &Path, files: usize) -> Scene {
        let server = S3::start(versitygw).expect("it starts");
        (0..files).for_each(|n| server.put(&name(n), &bytes(n)).expect("stored"));
        Scene::before(server)
    }

    /// Files that can be listed, but not read.
    fn names_only(versitygw: &Path, files: usize) -> Scene {
        let server = S3::start(versitygw).expect("it starts");
        std::fs::create_dir(server.folder().join("folder")).expect("ours");
        (0..files).for_each(|n| std::fs::write(server.folder().join(name(n)), bytes(n)).expect("ours"));
        Scene::before(server)
    }

    fn before(server: S3) -> Scene {
        let near = Distance { first_byte: Duration::ZERO, connection_rate: None };
        Scene { proxy: FarProxy::start(server.address(), near).expect("it starts"), server }
    }

    fn source(&self) -> [String; 3] {
        [format!("s3://{BUCKET}"), "--endpoint".into(), self.proxy.endpoint()]
    }

    fn mount(&self, more: &[&str]) -> Mount {
        let source = self.source();
        let args: Vec<&str> =
            source.iter().map(String::as_str).chain(["--ttl", "10m"]).chain(more.iter().copied()).collect();
        Mount::start(&args)
    }

    /// The requests that `something` costs.
    fn cost(&self, something: impl FnOnce()) -> Counts {
        let before = self.proxy.counts();
        something();
        self.proxy.counts().since(&before)
    }
}

fn all_names(root: &Path) -> usize {
    let found = run("find", &[".", "-type", "f", "-printf", "%p %s\n"], root);
    let found = String::from_utf8(found).expect("ASCII names");
    assert!(found.lines().all(|line| line.ends_with(&format!(" {SIZE}"))), "{found}");
    found.lines().count()
}

fn read_one_by_one(root: &Path, numbers: impl Iterator<Item = usize>) {
    for number in numbers {
        let read = run("cat", &[&name(number)], root);
        assert!(read == bytes(number), "{}", name(number));
    }
}

fn costs_of_a_mount(scene: &Scene, mount: &Mount) {
    let root = mount.path();
    let find = scene.cost(|| assert_eq!(all_names(root), FILES));
    assert!(find.requests() <= 5, "find: {find:?}");
    let again = scene.cost(|| {
        run("ls", &["-l", "folder"], root);
        assert_eq!(all_names(root), FILES);
    });
    assert_eq!(again.requests(), 0, "again: {again:?}");
    let one = scene.cost(|| read_one_by_one(root, 500..501));
    assert_eq!(one.requests(), 1, "one file: {one:?}");
    let missing = scene.cost(|| assert!(!root.join("folder/none").exists()));
    assert_eq!(missing.requests(), 0, "no such name: {missing:?}");
}

#[test]
fn names_of_a_store_cost_their_pages() {
    let scene = Scene::new(&need!("versitygw"), FILES);
    costs_of_a_mount(&scene, &scene.mount(&[]));
    let mount = scene.mount(&["--memory", "64MiB", "--kernel-cache", "on"]);
    let hundred = scene.cost(|| read_one_by_one(mount.path(), 0..100));
    assert!(hundred.requests() <= 103, "100 files: {hundred:?}");
}

#[test]
fn twenty_thousand_names_cost_twenty_five_requests() {
    let scene = Scene::names_only(&need!("versitygw"), 20_000);
    let mount = scene.mount(&[]);
    let find = scene.cost(|| assert_eq!(all_names(mount.path()), 20_000));
    assert!(find.requests() <= 25, "find: {find:?}");
    let again = scene.cost(|| assert_eq!(all_names(mount.path()), 20_000));
    assert_eq!(again.requests(), 0, "again: {again:?}");
}

/// The level below asks the store no more than a mount does, and the mount above asks the level no
/// more either.
#[test]
fn names_through_a_level_cost_the_same_above_and_below() {
    let scene = Scene::new(&need!("versitygw"), FILES);
    let source = scene.source();
    let args: Vec<&str> = source.iter().map(String::as_str).chain(["--ttl", "10m"]).collect();
    let level = Serve::start(&args);
    let address = level.url.trim_start_matches("http://").trim_end_matches('/').parse().expect("an address");
    let near = Distance { first_byte: Duration::ZERO, connection_rate: None };
    let between = FarProxy::start(address, near).expect("it starts");
    let mount = Mount::start(&[&between.endpoint(), "--ttl", "10m"]);
    let above = |something: &dyn Fn()| {
        let before = between.counts();
        something();
        between.counts().since(&before)
    };
    costs_of_a_mount(&scene, &mount);
    drop(mount);
    let mount = Mount::start(&[&between.endpoint(), "--ttl", "10m"]);
    let find = above(&|| assert_eq!(all_names(mount.path()), FILES));
    assert!(find.requests() <= 5, "find above: {find:?}");
    let again = above(&|| assert_eq!(all_names(mount.path()), FILES));
    assert_eq!(again.requests(), 0, "again above: {again:?}");
    let one = above(&|| read_one_by_one(mount.path(), 700..701));
    assert_eq!(one.requests(), 1, "one file above: {one:?}");
    let mount = Mount::start(&[&between.endpoint(), "--ttl", "10m"]);
    let hundred = above(&|| read_one_by_one(mount.path(), 0..100));
    assert!(hundred.requests() <= 103, "100 files above: {hundred:?}");
}

/// The most memory that a process has had resident, MiB.
pub(crate) fn peak(id: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the kernel says it");
    let kib: f64 = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number");
    kib / 1024.0
}

/// The memory for a mount's names is within the budget.
#[test]
fn a_hundred_thousand_names_stay_within_the_budget() {
    let scene = Scene::names_only(&need!("versitygw"), 100_000);
    scene.server.put("large", &vec![0; 100 << 20]).expect("stored");
    let mount = scene.mount(&["--memory", "64MiB", "--kernel-cache", "off"]);
    for _ in 0..2 {
        let found = run("find", &[".", "-type", "f", "-printf", "%s\n"], mount.path());
        assert_eq!(found.iter().filter(|&&byte| byte == b'\n').count(), 100_001);
        // All frames are in use, too.
        run("cmp", &["-n", "104857600", "large", "/dev/zero"], mount.path());
    }
    let most = peak(mount.running.id());
    println!("{most:.1} MiB of 64");
    assert!(most <= 64.0 + 16.0, "{most:.1} MiB of 64");
}

#[test]
fn modes_and_owners_are_as_said() {
    let scene = Scene::new(&need!("versitygw"), 3);
    let seen = |mount: &Mount| {
        let seen = run("stat", &["-c", "%a %u %g", "folder", "folder/file-00001"], mount.path());
        String::from_utf8(seen).expect("ASCII")
    };
    let own = format!("{} {}", rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    assert_eq!(seen(&scene.mount(&[])), format!("555 {own}\n444 {own}\n"));
    let mount = scene.mount(&["--file-mode", "640", "--dir-mode", "750", "--uid", "12", "--gid", "34"]);
    assert_eq!(seen(&mount), "750 12 34\n640 12 34\n");
}

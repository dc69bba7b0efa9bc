//! A folder of 100,000 names, on a disk and through every kind of listing but a store's pages. No
//! process takes more than its budget and the allowance beside it, while all frames are in use.

use std::path::Path;

use forebay_testkit::mounts;
use forebay_testkit::need;
use forebay_testkit::nginx::{self, Nginx};

use crate::identity::Serve;
use crate::names::peak;
use crate::{Mount, run, text};

const NAMES: usize = 100_000;

/// The resident memory that a process may have beside its budget, MiB.
const BESIDE: f64 = 16.0;

/// A folder of many small files, and a file that takes all frames.
fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().expect("a folder");
    let folder = tree.path().join("folder");
    std::fs::create_dir(&folder).expect("ours");
    (0..NAMES).for_each(|n| std::fs::write(folder.join(format!("file-{n:05}")), "x").expect("ours"));
    let large = std::fs::File::create(tree.path().join("large")).expect("ours");
    large.set_len(100 << 20).expect("room for a sparse file");
    tree
}

/// Walks over all names twice, and reads the large file between. `says` is find(1)'s format for
/// each file, whose output begins as `expected`.
fn use_all(mount: &Mount, says: &str, expected: &str) {
    for _ in 0..2 {
        let found = run("find", &["folder", "-type", "f", "-printf", says], mount.path());
        let found = String::from_utf8(found).expect("ASCII");
        assert_eq!(found.lines().filter(|line| line.starts_with(expected)).count(), NAMES);
        run("cmp", &["-n", "104857600", "large", "/dev/zero"], mount.path());
    }
}

fn within(what: &str, process: u32, budget: f64) {
    let most = peak(process);
    println!("{what}: {most:.1} MiB of {budget}");
    assert!(most <= budget + BESIDE, "{what}: {most:.1} MiB of {budget}");
}

fn mount(url: &str) -> Mount {
    Mount::start(&[url, "--memory", "64MiB", "--kernel-cache", "off", "--ttl", "10m"])
}

fn nginx(tree: &Path, features: nginx::Features) -> Option<Nginx> {
    Some(Nginx::start_with(&forebay_testkit::tools::find("nginx")?, tree, features).expect("it starts"))
}

/// The requests that a mount took from the kernel: each is one read of its process.
fn requests(mount: &Mount) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{}/io", mount.running.id())).expect("it runs");
    let line = io.lines().find_map(|line| line.strip_prefix("syscr: ")).expect("the kernel counts reads");
    line.trim().parse().expect("a number")
}

/// The attributes of a folder's names come with the names: a walk that looks at each of them asks
/// less than once for ten.
#[test]
fn of_a_local_folder() {
    if !mounts::possible() {
        return;
    }
    let tree = tree();
    let mount = mount(text(tree.path()));
    let mut asked = requests(&mount);
    for walk in 0..2 {
        let found = run("find", &["folder", "-type", "f", "-printf", "%s\n"], mount.path());
        assert_eq!(found, b"1\n".repeat(NAMES));
        let now = requests(&mount);
        println!("walk {walk}: {} requests for {NAMES} names", now - asked);
        assert!(now - asked < NAMES as u64 / 10, "walk {walk}: {} requests", now - asked);
        asked = now;
    }
    within("a mount of a folder", mount.running.id(), 64.0);
}

#[test]
fn of_a_webdav_server() {
    if !mounts::possible() {
        return;
    }
    need!(nginx::DAV_MODULE);
    let tree = tree();
    let features = nginx::Features { dav: true, ..nginx::Features::default() };
    let Some(server) = nginx(tree.path(), features) else { return forebay_testkit::tools::skip("nginx") };
    let mount = mount(&server.url());
    use_all(&mount, "%s\n", "1");
    within("a mount of a WebDAV server", mount.running.id(), 64.0);
}

/// Pages contain no lengths, and each length would be a request, so find asks for names alone.
#[test]
fn of_pages_for_browsers_and_programs() {
    if !mounts::possible() {
        return;
    }
    let tree = tree();
    for json in [false, true] {
        let features = nginx::Features { autoindex: true, json, ..nginx::Features::default() };
        let Some(server) = nginx(tree.path(), features) else { return forebay_testkit::tools::skip("nginx") };
        let mount = mount(&format!("{}/", server.url()));
        use_all(&mount, "%f\n", "file-");
        within(if json { "a mount of lists in JSON" } else { "a mount of pages" }, mount.running.id(), 64.0);
    }
}

/// A level of a local folder, a level of that level, and a mount on top.
#[test]
fn of_levels() {
    if !mounts::possible() {
        return;
    }
    let curl = need!("curl");
    let tree = tree();
    let below = Serve::start(&[text(tree.path())]);
    let above = Serve::start(&[&below.url, "--ttl", "10m"]);
    for (level, what) in [(&below, "a level of a folder"), (&above, "a level of a level")] {
        for (method, marks) in [("GET", "<tr>"), ("PROPFIND", "<D:response>")] {
            let folder = format!("{}folder/", level.url);
            let listing = run(&curl, &["-sS", "-X", method, "-H", "Depth: 1", &folder], tree.path());
            let listing = String::from_utf8(listing).expect("UTF-8");
            // And the folder itself, or the one around it.
            assert_eq!(listing.matches(marks).count(), NAMES + 1, "{what}: {method}");
        }
        let large = run(&curl, &["-sS", &format!("{}large", level.url)], tree.path());
        assert!(large.len() == 100 << 20 && large.iter().all(|&byte| byte == 0), "{what}");
        within(what, level.id(), 32.0);
    }
    let mount = mount(&above.url);
    use_all(&mount, "%s\n", "1");
    within("a mount of a level of a level", mount.running.id(), 64.0);
    within("the level of a level under it", above.id(), 32.0);
    within("the level of a folder under that", below.id(), 32.0);
}

//! What tests may leave behind: FUSE mounts, loop devices, servers that nobody stops any more.
//!
//! What was there before the tests is not ours. A server counts only if its parent is gone: the children of a test that
//! runs in another checkout at the same time have one. A mount of such a test is told from ours by waiting, which fails
//! if it stays mounted for longer than [`PATIENCE`].

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

/// Servers that tests start.
const SERVERS: [&str; 3] = ["versitygw", "nginx", "forebay"];

/// How long something may take to go away after the tests.
const PATIENCE: Duration = Duration::from_secs(10);

/// A set of them, in words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leftovers(BTreeSet<String>);

impl Leftovers {
    /// What there is now.
    pub(crate) fn now() -> Leftovers {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Leftovers(mounts.lines().filter_map(fuse_mount).chain(loop_devices()).chain(orphans()).collect())
    }
}

/// Waits until nothing is there that was not there `before`, and says what stays; whether nothing does.
pub(crate) fn report(before: &Leftovers) -> bool {
    let start = Instant::now();
    let mut left = &Leftovers::now().0 - &before.0;
    while !left.is_empty() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(200));
        // Only what was there in every look: tests elsewhere come and go.
        left = &left & &Leftovers::now().0;
    }
    for thing in &left {
        println!("left behind: {thing}");
    }
    if left.is_empty() {
        println!("no mount, loop device or server is left");
    }
    left.is_empty()
}

/// A FUSE mount in a line of mountinfo: `36 35 0:40 / /mnt rw,nosuid - fuse.forebay source rw`.
fn fuse_mount(line: &str) -> Option<String> {
    let (mount, kind) = line.split_once(" - ")?;
    let kind = kind.split(' ').next()?;
    let point = mount.split(' ').nth(4)?;
    (kind == "fuse" || kind.starts_with("fuse.")).then(|| format!("a mount of {kind} on {point}"))
}

fn loop_devices() -> Vec<String> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    devices
        .filter_map(|device| {
            let file = fs::read_to_string(device.path().join("loop/backing_file")).ok()?;
            Some(format!("/dev/{} on {}", device.file_name().to_string_lossy(), file.trim()))
        })
        .collect()
}

fn orphans() -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|process| orphan(&fs::read_to_string(process.path().join("stat")).ok()?)).collect()
}

/// A server whose parent is gone, in a line of `/proc/PID/stat`: `12 (nginx) S 1 …`.
fn orphan(stat: &str) -> Option<String> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let (state, parent) = (fields.next()?, fields.next()?);
    (SERVERS.contains(&name) && parent == "1" && state != "Z").then(|| format!("{name}, process {pid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_of_fuse_and_no_others() {
        let line = |kind| format!("36 35 0:40 / /tmp/x rw,nosuid shared:7 - {kind} source rw");
        assert_eq!(fuse_mount(&line("fuse.forebay")).unwrap(), "a mount of fuse.forebay on /tmp/x");
        assert_eq!(fuse_mount(&line("fuse")).unwrap(), "a mount of fuse on /tmp/x");
        assert_eq!(fuse_mount(&line("fusectl")), None);
        assert_eq!(fuse_mount(&line("ext4")), None);
        assert_eq!(fuse_mount("nonsense"), None);
    }

    #[test]
    fn servers_without_a_parent_and_no_others() {
        assert_eq!(orphan("12 (nginx) S 1 12 12").unwrap(), "nginx, process 12");
        assert_eq!(orphan("12 (nginx) S 11 12 12"), None, "its parent lives");
        assert_eq!(orphan("12 (nginx) Z 1 12 12"), None, "it has ended");
        assert_eq!(orphan("12 (a) (b) S 1 12 12"), None);
    }
}

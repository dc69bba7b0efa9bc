//! Things that tests may leave behind: FUSE mounts, loop devices, orphaned servers, and the folders
//! of servers.
//!
//! Things that were there before the tests are not ours. A server counts only if its parent is
//! gone, and a folder only if the process that made it is gone: the servers of a test that runs in
//! another checkout at the same time have both. A mount of such a test is told from ours by
//! waiting: the check fails if it stays for longer than [`PATIENCE`].

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Servers that tests start.
const SERVERS: [&str; 5] = ["versitygw", "nginx", "apache2", "rclone", "forebay"];

/// Servers that Python runs, by the end of one of their process's arguments.
const PYTHON_SERVERS: [&str; 3] = ["/wsgidav", "/moto_server", "http.server"];

/// How long a leftover may take to go away after the tests.
const PATIENCE: Duration = Duration::from_secs(10);

/// A set of them, in words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leftovers(BTreeSet<String>);

impl Leftovers {
    /// The leftovers of this moment.
    pub(crate) fn now() -> Leftovers {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Leftovers(
            mounts.lines().filter_map(fuse_mount).chain(loop_devices()).chain(orphans()).chain(folders()).collect(),
        )
    }
}

/// Waits until nothing new since `before` is left, and prints the rest; returns whether there is
/// none.
pub(crate) fn report(before: &Leftovers) -> bool {
    let start = Instant::now();
    let mut left = &Leftovers::now().0 - &before.0;
    while !left.is_empty() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(200));
        // Only leftovers of every look count: tests elsewhere come and go.
        left = &left & &Leftovers::now().0;
    }
    for thing in &left {
        println!("left behind: {thing}");
    }
    if left.is_empty() {
        println!("no mount, loop device, server or folder of a server is left");
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
    let read = |process: &Path, file| fs::read(process.join(file)).unwrap_or_default();
    processes
        .filter_map(|process| {
            let (stat, arguments) = (read(&process.path(), "stat"), read(&process.path(), "cmdline"));
            orphan(&String::from_utf8_lossy(&stat), &String::from_utf8_lossy(&arguments))
        })
        .collect()
}

/// A server whose parent is gone, in a line of `/proc/PID/stat` (`12 (nginx) S 1 …`) and its
/// arguments, each of which a zero ends.
fn orphan(stat: &str, arguments: &str) -> Option<String> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let (state, parent) = (fields.next()?, fields.next()?);
    let server = if name.starts_with("python") {
        let mut arguments = arguments.split('\0').take(3);
        arguments.find_map(|argument| PYTHON_SERVERS.into_iter().find(|server| argument.ends_with(server)))?
    } else {
        SERVERS.into_iter().find(|&server| server == name)?
    };
    let server = server.trim_start_matches('/');
    (parent == "1" && state != "Z").then(|| format!("{server}, process {pid}"))
}

fn folders() -> Vec<String> {
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter_map(|name| folder(&name, |pid| Path::new("/proc").join(pid).exists())).collect()
}

/// The folder of a server whose test process is gone, by its name: `forebay-nginx-12-a1b2c3`.
fn folder(name: &str, runs: impl Fn(&str) -> bool) -> Option<String> {
    let mut parts = name.strip_prefix("forebay-")?.rsplit('-');
    let (_, pid, server) = (parts.next()?, parts.next()?, parts.next()?);
    let number = !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
    (number && !server.is_empty() && !runs(pid)).then(|| format!("the folder {name} of a server"))
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
        let orphan = |stat| super::orphan(stat, "");
        assert_eq!(orphan("12 (nginx) S 1 12 12").unwrap(), "nginx, process 12");
        assert_eq!(orphan("12 (nginx) S 11 12 12"), None, "its parent lives");
        assert_eq!(orphan("12 (nginx) Z 1 12 12"), None, "it has ended");
        assert_eq!(orphan("12 (a) (b) S 1 12 12"), None);
    }

    #[test]
    fn servers_that_python_runs_and_no_other_program_of_it() {
        let orphan = |arguments| super::orphan("12 (python3) S 1 12 12", arguments);
        assert_eq!(orphan("/t/bin/python3\0/t/bin/wsgidav\0--no-config\0").unwrap(), "wsgidav, process 12");
        assert_eq!(orphan("/t/bin/python3\0/t/bin/moto_server\0-p\0").unwrap(), "moto_server, process 12");
        assert_eq!(orphan("python3\0-m\0http.server\0--bind\0").unwrap(), "http.server, process 12");
        assert_eq!(orphan("python3\0/usr/bin/daemon\0"), None);
        assert_eq!(orphan(""), None);
    }

    #[test]
    fn folders_of_a_process_that_is_gone_and_no_others() {
        let folder = |name| super::folder(name, |pid| pid == "11");
        assert_eq!(folder("forebay-nginx-12-a1b2c3").unwrap(), "the folder forebay-nginx-12-a1b2c3 of a server");
        assert_eq!(folder("forebay-nginx-11-a1b2c3"), None, "the process lives");
        assert_eq!(folder("forebay-odd-a1b2c3"), None);
        assert_eq!(folder("forebay-12-a1b2c3"), None);
        assert_eq!(folder("other-nginx-12-a1b2c3"), None);
    }
}

//! The real command on real mounts: reading, counters, ways to end, and refusals. The content of a
//! mount is tested in `forebay-fuse`; here it only has to be there.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use forebay_testkit::mounts::{self, MountPoint, is_mounted};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The command without the user's configuration and profiles.
fn forebay(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.env_remove("HOME").env_remove("XDG_CACHE_HOME");
    command.args(args).env("FOREBAY_CONFIG", "/dev/null").stdin(Stdio::null());
    command
}

/// A folder with one file, and a place to mount it.
struct Scene {
    source: TempDir,
    point: MountPoint,
}

const CONTENT: &[u8] = b"what is read through the mount";

impl Scene {
    fn new() -> Scene {
        let source = tempfile::tempdir().expect("a folder");
        std::fs::write(source.path().join("file"), CONTENT).expect("a file");
        Scene { source, point: MountPoint::new().expect("a mount point") }
    }

    fn source(&self) -> &str {
        self.source.path().to_str().expect("a plain name")
    }

    fn point(&self) -> &str {
        self.point.path().to_str().expect("a plain name")
    }

    fn holds_the_file(&self, name: &str) {
        assert_eq!(std::fs::read(self.point.path().join(name)).expect("readable"), CONTENT);
    }
}

/// A command in the foreground that is ready. Killed when dropped.
struct Ready(Child);

impl Ready {
    fn start(command: &mut Command) -> Ready {
        let mut child = Ready(command.stdout(Stdio::piped()).spawn().expect("the command starts"));
        let mut line = String::new();
        let stdout = child.0.stdout.as_mut().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("readable");
        assert!(line.starts_with("ready: "), "{line:?}");
        child
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("it runs");
    }

    fn exit_code(&mut self) -> Option<i32> {
        self.0.wait().expect("ours").code()
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for a condition, at any speed; the limit is for one that never holds.
fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn signals_unmount_cleanly() {
    if !mounts::possible() {
        return;
    }
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let scene = Scene::new();
        let mut mount = Ready::start(&mut forebay(&["mount", scene.source(), scene.point()]));
        scene.holds_the_file("file");
        mount.signal(signal);
        assert_eq!(mount.exit_code(), Some(0), "{signal:?}");
        assert!(!is_mounted(scene.point.path()), "{signal:?}");
    }
}

#[test]
fn unmounting_from_outside_ends_it() {
    if !mounts::possible() {
        return;
    }
    let scene = Scene::new();
    let mut mount = Ready::start(&mut forebay(&["mount", scene.source(), scene.point()]));
    mounts::lazy_unmount(scene.point.path());
    assert_eq!(mount.exit_code(), Some(0));
}

#[test]
fn after_kill_9_the_next_mount_works() {
    if !mounts::possible() {
        return;
    }
    let scene = Scene::new();
    let mut mount = Ready::start(&mut forebay(&["mount", scene.source(), scene.point()]));
    mount.signal(Signal::KILL);
    assert_eq!(mount.exit_code(), None);
    let again = Ready::start(&mut forebay(&["mount", scene.source(), scene.point()]));
    scene.holds_the_file("file");
    drop(again);
}

#[test]
fn several_sources_have_a_folder_each() {
    if !mounts::possible() {
        return;
    }
    let scene = Scene::new();
    let (hot, cold) = (format!("hot={}", scene.source()), format!("cold=file://{}", scene.source()));
    let mount = Ready::start(&mut forebay(&["mount", &hot, "--memory", "64MiB", &cold, scene.point()]));
    scene.holds_the_file("hot/file");
    scene.holds_the_file("cold/file");
    drop(mount);
}

#[test]
fn a_paced_source_is_the_same_and_its_flight_can_be_recorded() {
    if !mounts::possible() {
        return;
    }
    let scene = Scene::new();
    let flight = tempfile::NamedTempFile::new().expect("a file");
    let record = flight.path().to_str().expect("a plain name");
    let args =
        ["mount", scene.source(), scene.point(), "--pace", "ibm-10k", "--policy", "linux+arc", "--record", record];
    let mut mount = Ready::start(&mut forebay(&args));
    scene.holds_the_file("file");
    mount.signal(Signal::TERM);
    assert_eq!(mount.exit_code(), Some(0));
    assert!(flight.path().metadata().expect("there").len() > 0);
}

#[test]
fn counters_are_published() {
    if !mounts::possible() {
        return;
    }
    let scene = Scene::new();
    let mount = Ready::start(&mut forebay(&["mount", scene.source(), scene.point()]));
    let json = forebay(&["stats", scene.point(), "--json"]).output().expect("the command starts");
    assert_eq!(json.status.code(), Some(0), "{json:?}");
    assert!(serde_json::from_slice::<serde_json::Value>(&json.stdout).expect("JSON").is_object());
    let table = forebay(&["stats", scene.point()]).output().expect("the command starts");
    assert!(String::from_utf8_lossy(&table.stdout).contains("misses"), "{table:?}");
    drop(mount);
}

#[test]
fn a_daemon_returns_when_it_is_ready_and_ends_when_unmounted() {
    if !mounts::possible() {
        return;
    }
    let scene = Scene::new();
    let log = scene.source.path().join("log");
    let log = log.to_str().expect("a plain name");
    let mut command =
        forebay(&["mount", "--daemon", "--log", "debug", "--log-file", log, scene.source(), scene.point()]);
    // Its output ends although the background process lives, since that process has closed it.
    let output = command.output().expect("the command starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("ready: "), "{output:?}");
    scene.holds_the_file("file");
    let point = scene.point.path().to_owned();
    mounts::lazy_unmount(&point);
    eventually("the daemon's end", || processes_that_name(&point) == 0);
}

/// How many processes have this path on their command line.
fn processes_that_name(path: &Path) -> usize {
    let path = path.to_string_lossy().into_owned();
    let processes = std::fs::read_dir("/proc").expect("/proc is there").flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).split('\0').any(|arg| arg == path)).count()
}

/// The command must have refused: exit code 2, one line that holds all of `expected`, nothing
/// mounted.
fn refused(scene: &Scene, args: &[&str], expected: &[&str]) {
    let Output { status, stdout, stderr } = forebay(args).output().expect("the command starts");
    let line = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(2), "{args:?}: {line}");
    assert!(stdout.is_empty() && line.matches('\n').count() == 1, "{args:?}: {line}");
    for part in expected {
        assert!(line.contains(part), "{args:?}: {part:?} is not in {line}");
    }
    assert!(!is_mounted(scene.point.path()), "{args:?}");
}

#[test]
fn bad_input_is_refused_in_one_line_and_nothing_stays_mounted() {
    if !mounts::possible() {
        return;
    }
    let scene = Scene::new();
    let (source, point) = (scene.source(), scene.point());
    refused(&scene, &["mount", "/no/such/folder", point], &["/no/such/folder", "not found"]);
    refused(&scene, &["mount", source, "/no/such/point"], &["/no/such/point", "mkdir"]);
    refused(&scene, &["mount", source, source], &[source, "not empty"]);
    refused(&scene, &["mount", "ftp://host/x", point], &["ftp", "s3://"]);
    refused(&scene, &["mount", source, source, point], &["several sources need a name"]);
    let named = format!("a={source}");
    refused(&scene, &["mount", &named, &named, point], &["two sources are named"]);
    refused(&scene, &["mount", source, point, "--memory", "1k"], &["memory"]);
    refused(&scene, &["mount", source, point, "--pace", "drum"], &["drum", "ibm-10k"]);
    refused(&scene, &["mount", source, point, "--record", "/no/such/file"], &["/no/such/file"]);
    let dead = "http://127.0.0.1:1";
    refused(&scene, &["mount", "s3://bucket", point, "--endpoint", dead, "--region", "x"], &["s3://bucket"]);
    refused(&scene, &["mount", "--daemon", "/no/such/folder", point], &["/no/such/folder"]);
    let mount = Ready::start(&mut forebay(&["mount", source, point]));
    let again = forebay(&["mount", source, point]).output().expect("the command starts");
    assert!(again.status.code() == Some(2) && String::from_utf8_lossy(&again.stderr).contains("already a mount point"));
    scene.holds_the_file("file");
    drop(mount);
}

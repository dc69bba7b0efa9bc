//! Unmodified programs on real mounts of the real command. They read the source's bytes, whatever
//! happens to the source, to memory or to the process.

mod blast;
mod bytes;
mod changes;
mod contexts;
mod credentials;
mod ends;
mod explain;
mod first_use;
mod hostile;
mod identity;
mod life;
mod many_names;
mod media;
mod memory;
mod names;
mod odd_keys;
mod page;
mod patience;
mod play;
mod readers;
mod record;
mod reference;
mod refusals;
mod servers;
mod several;
mod soak;
mod start;
mod striped;
mod tier;
mod told;
mod tools;
mod top;
mod watched;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use forebay_testkit::mounts::MountPoint;
use forebay_testkit::process::{Running, Signal};
use forebay_testkit::s3::S3;

/// The command, without the user's configuration and profiles, and with the test server's
/// credentials.
fn forebay(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.env_remove("HOME").env_remove("XDG_CACHE_HOME").env("FOREBAY_CONFIG", "/dev/null");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_")) {
        command.env_remove(name);
    }
    command.envs(S3::settings().into_iter().map(|(name, value)| (name.to_uppercase(), value)));
    command.args(args).stdin(Stdio::null());
    command
}

/// A path as an argument.
fn text(path: &Path) -> &str {
    path.to_str().expect("tests name their own files")
}

/// `forebay mount` in the foreground, ready. Killed and unmounted when dropped.
struct Mount {
    running: Running,
    point: MountPoint,
}

impl Mount {
    /// Mounts with these arguments, to which the mount point is added.
    fn start(args: &[&str]) -> Mount {
        Mount::at(MountPoint::new().expect("a mount point"), args)
    }

    fn at(point: MountPoint, args: &[&str]) -> Mount {
        Mount::by(forebay(&[&["mount"], args].concat()), point)
    }

    /// Mounts by a command to which the mount point is added.
    fn by(mut command: Command, point: MountPoint) -> Mount {
        let args = format!("{command:?}");
        let (said, output) = std::io::pipe().expect("a pipe");
        command.arg(point.path()).stdout(output);
        let running = Running::start(command).expect("the command starts");
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).expect("readable");
        assert!(line.starts_with("ready: "), "{args}: it said why on its standard error");
        Mount { running, point }
    }

    fn path(&self) -> &Path {
        self.point.path()
    }

    /// Sends a signal and waits for the end.
    fn end(&self, signal: Signal) -> ExitStatus {
        self.running.signal(signal).expect("it runs");
        self.running.wait().expect("it ends")
    }

    /// A counter of `forebay stats`.
    fn counter(&self, name: &str) -> u64 {
        let stats = forebay(&["stats", "--json", text(self.path())]).output().expect("the command starts");
        let json: serde_json::Value = serde_json::from_slice(&stats.stdout).expect("JSON");
        json[name].as_u64().unwrap_or_else(|| panic!("no {name} in {json}"))
    }
}

/// Runs a program to its end, and returns its standard output. It must succeed.
fn run(program: impl AsRef<OsStr>, args: &[&str], at: &Path) -> Vec<u8> {
    let output = Command::new(&program).args(args).current_dir(at).stdin(Stdio::null()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?} {args:?}: {said}", program.as_ref());
    output.stdout
}

/// Tells threads to stop, also when a panic ends the test.
struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Waits for a condition, at any speed; the limit is for one that never holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

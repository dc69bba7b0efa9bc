//! The command as an administrator runs it: by mount(8) and fstab, with a descriptor of the parent
//! process, under a supervisor, with completions, behind a proxy.

mod completions;
mod doctor;
mod fstab;
mod handed;
mod scale_out;
mod supervisor;

use std::io::{BufRead, BufReader, PipeReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use forebay_testkit::s3::S3;

/// The command, without the user's configuration and profiles, and with the test server's
/// credentials.
fn forebay(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    bare(&mut command);
    command.args(args).stdin(Stdio::null());
    command
}

/// Takes what this user has set from a command's environment.
fn bare(command: &mut Command) {
    for name in ["HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "NOTIFY_SOCKET", "JOURNAL_STREAM"] {
        command.env_remove(name);
    }
    command.env("FOREBAY_CONFIG", "/dev/null");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_")) {
        command.env_remove(name);
    }
    command.envs(S3::settings().into_iter().map(|(name, value)| (name.to_uppercase(), value)));
}

/// A path as an argument.
fn text(path: &Path) -> &str {
    path.to_str().expect("tests name their own files")
}

/// The first line of a program's output.
fn line(output: PipeReader) -> String {
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).expect("readable");
    line
}

/// Waits for a condition, at any speed; the limit is for one that never holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

//! `--daemon`: the command starts itself once more, waits until the new process says that it is
//! ready, and leaves it running.
//!
//! A new process rather than a fork, so that no thread or lock is ever inherited half-way. Until it
//! is ready it shares our standard error, so that its errors are seen.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::failure::Failure;
use crate::journal;

/// Starts a command in the background, with this to read, and waits until it is ready or has
/// failed. Returns its line.
pub(crate) fn start(input: Stdio, args: &[OsString]) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::run(format!("cannot start the background process: {error}"));
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    // Whatever the program file is called, this is a plain command.
    command.arg0("forebay").args(args).env("FOREBAY_DETACHED", "true");
    let mut child = command.stdin(input).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).map_err(failed)?;
    }
    if line.is_empty() {
        // It ended without being ready, and has printed the reason.
        let code = child.wait().map_err(failed)?.code();
        return Err(Failure::Said(code.and_then(|code| u8::try_from(code).ok()).filter(|&code| code > 0).unwrap_or(1)));
    }
    Ok(line)
}

/// Starts this very command in the background, and prints its line once it is ready.
pub(crate) fn start_again(input: Stdio) -> Result<(), Failure> {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    crate::output::print(&start(input, &args)?)
}

/// In the background process, before anything else: away from the terminal and its signals.
pub(crate) fn leave_session() {
    // Fails only if this process leads a session already, which is as good.
    let _ = rustix::process::setsid();
}

/// In the background process: it ends with the command that waits for it, until [`outlive`].
pub(crate) fn follow() {
    // If the system refuses, `ready` still notices that the waiting command is gone.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}

/// In the background process, before it mounts: it must not end between mounting and unmounting.
pub(crate) fn outlive() {
    let _ = set_parent_process_death_signal(None);
}

/// In the background process: tells the waiting command. An error if that command is gone.
pub(crate) fn ready(line: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush())
}

/// In the background process, once it is ready: closes the inherited standard streams, except an
/// error stream that leads to the journal, and leaves the inherited folder.
pub(crate) fn let_go() -> std::io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    if !journal::receives(&std::io::stderr()) {
        rustix::stdio::dup2_stderr(&null)?;
    }
    std::env::set_current_dir("/")
}

//! Running a program and saying so.

use std::process::{Command, Stdio};

use crate::root;

/// `cargo` in the workspace, without standard input.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root()).stdin(Stdio::null());
    command
}

/// A heading for the next step.
pub(crate) fn heading(what: &str) {
    println!("\n── {what}");
}

/// Runs it with its output shown as it comes; returns whether it succeeded. One that cannot be
/// started has not.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            println!("cannot run {}: {error}", command.get_program().to_string_lossy());
            false
        }
    }
}

/// Whether a program answers at all: it is run silently and must succeed.
pub(crate) fn answers(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

//! Everything that must hold before a change lands, in one run: checks first, since they are quick,
//! then all tests.
//!
//! All of it uses the dev profile, so that only clippy's check compiles code a second time.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::leftovers::{self, Leftovers};
use crate::run::{answers, cargo, heading, succeeds};
use crate::tally::Tally;
use crate::{licences, lint, module, tools};

/// Tools, checks, tests; ends with the plain total on a line. With `args`, only those tests.
/// Returns whether all is well.
pub(crate) fn test(args: &[String]) -> Result<bool> {
    let before = Leftovers::now();
    tools::fetch();
    let mut failed: Vec<String> = Vec::new();
    if args.is_empty() {
        failed.extend(failing_checks().iter().map(|check| format!("the check of {check}")));
    }
    let mut tally = Tally::default();
    heading("tests");
    let passed = tests(args, &mut tally).context("cannot run cargo test")?;
    if !passed && tally.failed == 0 {
        failed.push("cargo test: it did not compile, or a test binary died".to_owned());
    }
    if args.is_empty()
        && let Err(error) = module::test(&[], &mut tally)
    {
        failed.push(format!("the Python module: {error:#}"));
    }
    heading("what is left behind");
    if !leftovers::report(&before) {
        failed.push("something is left behind".to_owned());
    }
    // A check that fails counts as a failed test, so that the total cannot look good without being
    // so.
    tally.failed += failed.len() as u64;
    println!();
    for name in failed.iter().chain(&tally.failures) {
        println!("FAILED: {name}");
    }
    println!("{tally}");
    Ok(tally.failed == 0)
}

/// Only the Python module and its tests. Returns whether all is well.
pub(crate) fn python(args: &[String]) -> Result<bool> {
    let mut tally = Tally::default();
    module::test(args, &mut tally)?;
    println!("{tally}");
    Ok(tally.failed == 0)
}

/// Everything but the tests; returns whether all is well.
pub(crate) fn check() -> bool {
    let failed = failing_checks();
    if failed.is_empty() {
        println!("\nall checks hold");
    } else {
        println!("\nFAILED: {}", failed.join(", "));
    }
    failed.is_empty()
}

/// A check: its name and whether it holds.
type Check = (&'static str, fn() -> bool);

/// Runs every check and names those that fail; the first failure does not hide the others.
fn failing_checks() -> Vec<&'static str> {
    let checks: [Check; 5] = [
        ("format", formatted),
        ("the repository's rules", lint::report),
        ("licences", licences_hold),
        ("clippy", clippy),
        ("documentation", documentation),
    ];
    let mut failed = Vec::new();
    for (name, holds) in checks {
        heading(name);
        if !holds() {
            failed.push(name);
        }
    }
    failed
}

/// The workspace, and the program beside it that benches build.
fn formatted() -> bool {
    let holds = |which: &[&str]| succeeds(&mut cargo(&[&["fmt", "--check"], which, &["--", "--color=never"]].concat()));
    holds(&["--all"]) & holds(&["--manifest-path", "bench/foyer/Cargo.toml"])
}

fn clippy() -> bool {
    succeeds(&mut cargo(&["clippy", "--workspace", "--all-targets", "--keep-going", "--quiet", "--", "-D", "warnings"]))
}

fn documentation() -> bool {
    let mut rustdoc = cargo(&["doc", "--workspace", "--no-deps", "--keep-going", "--quiet"]);
    succeeds(rustdoc.env("RUSTDOCFLAGS", "-D warnings"))
}

/// By cargo-deny where it is installed; building it would take longer than all tests, so else by
/// our own reading of the same `deny.toml`.
fn licences_hold() -> bool {
    if answers(&mut cargo(&["deny", "--version"])) {
        return succeeds(&mut cargo(&["deny", "--offline", "check", "licenses", "bans", "sources"]));
    }
    licences::report()
}

/// Runs `cargo test` and shows its output as it comes; returns whether it succeeded.
fn tests(args: &[String], tally: &mut Tally) -> Result<bool> {
    // Arguments after `--` are for the test binaries, where our own flag goes too.
    let (ours, theirs) = match args.iter().position(|arg| arg == "--") {
        Some(at) => (&args[..at], &args[at + 1..]),
        None => (args, &[][..]),
    };
    let mut command: Command = cargo(&["test", "--no-fail-fast"]);
    if ours.is_empty() {
        command.arg("--workspace");
    }
    command.args(ours).args(["--", "--show-output"]).args(theirs);
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().context("cargo test has no output")?;
    for line in BufReader::new(output).split(b'\n') {
        // Tests of odd names may print bytes that are no text.
        let line = String::from_utf8_lossy(&line?).into_owned();
        if tally.line(&line) {
            println!("{line}");
        }
    }
    Ok(child.wait()?.success())
}

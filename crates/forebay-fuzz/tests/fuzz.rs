//! Every target on its examples, and for a moment on inputs of a fresh seed.
//!
//! The time is spent by all targets together. `cargo xtask fuzz` is for longer runs.

use std::process::Command;

/// How long all targets together may take beyond their examples, in seconds.
const SECONDS: &str = "12";

#[test]
fn no_decoder_fails() {
    let findings = tempfile::tempdir().unwrap();
    let mut fuzz = Command::new(env!("CARGO_BIN_EXE_forebay-fuzz"));
    fuzz.args(["--seconds", SECONDS]).arg("--findings").arg(findings.path());
    let output = fuzz.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    assert!(output.status.success(), "{said}\n{complaints}");
    let targets = said.lines().filter(|line| line.contains(" inputs ")).count();
    assert_eq!(targets, forebay_fuzz::targets::all().len(), "{said}");
}

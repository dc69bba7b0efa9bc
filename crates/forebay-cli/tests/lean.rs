//! The command for those who mount, which is built without the papers' claims
//! (`--no-default-features`; `cargo xtask size` runs this).

#![cfg(not(feature = "repro"))]

use std::process::{Command, Stdio};

#[test]
fn repro_says_in_a_sentence_how_to_get_it() {
    for args in [&[][..], &["cp-depth"], &["--list", "--json"], &["--all", "--quick"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
        let output = command.arg("repro").args(args).env_clear().stdin(Stdio::null()).output().expect("it starts");
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {line}");
        assert!(line.starts_with("error: ") && line.matches('\n').count() == 1, "{line}");
        assert!(line.contains("cargo install --locked --path crates/forebay-cli"), "{line}");
    }
}

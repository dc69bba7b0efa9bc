//! Programs that tests run. `cargo xtask test` fetches them; a test that lacks one fails in CI and elsewhere says
//! loudly that it was skipped.

use std::path::{Path, PathBuf};

/// The folder into which `cargo xtask tools` puts what it builds: `target/tools` of the workspace.
pub fn folder() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/forebay-testkit");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from).join("tools")
}

/// Where a program is: in [`folder`], on the PATH, or in `/usr/sbin`.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::iter::once(folder())
        .chain(std::env::split_paths(&path))
        .chain([PathBuf::from("/usr/sbin")])
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
}

/// Says that a test was skipped because `what` is missing; in CI (`CI` is set) that is a failure.
pub fn skip(what: &str) {
    assert!(std::env::var_os("CI").is_none(), "CI lacks {what}, which this test needs: run `cargo xtask tools`");
    eprintln!("\n=== SKIPPED: {what} is missing; `cargo xtask tools` fetches it ===\n");
}

/// The path of a program, or a skipped test: `let nginx = need!("nginx");`
#[macro_export]
macro_rules! need {
    ($name:expr) => {
        match $crate::tools::find($name) {
            Some(path) => path,
            None => return $crate::tools::skip($name),
        }
    };
}

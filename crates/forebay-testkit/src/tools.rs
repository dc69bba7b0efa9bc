//! Programs that tests run. `cargo xtask test` fetches them; a test that lacks one fails in CI and
//! elsewhere says loudly that it was skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder for the tools that `cargo xtask tools` builds: `target/tools` of the workspace.
pub fn folder() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/forebay-testkit");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from).join("tools")
}

/// The folders in which Debian's packages put programs and modules that no PATH needs to name.
const PLACES: [&str; 3] = ["/usr/sbin", "/usr/lib/nginx/modules", "/usr/lib/apache2/modules"];

/// The path of a program or a server's module: in [`folder`], in its Python environment, on the
/// PATH, or where Debian's packages put it.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    [folder(), python().join("bin")]
        .into_iter()
        .chain(std::env::split_paths(&path))
        .chain(PLACES.map(PathBuf::from))
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
}

/// The virtual environment into which `cargo xtask tools` installs Python packages.
fn python() -> PathBuf {
    folder().join("python")
}

/// The interpreter of that environment, or else the system's, if it has the module `name`.
pub fn python_with(name: &str) -> Option<PathBuf> {
    let python = find("python3")?;
    let tried = Command::new(&python).args(["-c", &format!("import {name}")]).output().ok()?;
    tried.status.success().then_some(python)
}

/// The command that runs a Python program which [`find`] found. The interpreter of the environment
/// runs a program of the environment: the program's own first line names a path that is wrong once
/// the environment was moved.
pub fn python_program(program: &Path) -> Command {
    let interpreter = python().join("bin/python3");
    if !program.starts_with(python()) || !interpreter.is_file() {
        return Command::new(program);
    }
    let mut command = Command::new(interpreter);
    command.arg(program);
    command
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

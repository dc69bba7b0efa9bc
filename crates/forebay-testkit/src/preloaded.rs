//! The preload library, built for tests that preload it: nothing is linked with it, so building
//! tests does not build it.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Builds `libforebay_preload.so` in the profile of the running program, and returns its path.
///
/// # Panics
/// If it cannot be built.
pub fn library() -> PathBuf {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(build).clone()
}

fn build() -> PathBuf {
    let program = std::env::current_exe().expect("a running program has a path");
    let folder = program.ancestors().skip(1).find(|folder| !folder.ends_with("deps")).expect("it lies in a folder");
    let profile = folder.file_name().and_then(|name| name.to_str()).expect("the folder is named by its profile");
    let profile = if profile == "debug" { "dev" } else { profile };
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--package", "forebay-preload", "--profile", profile, "--target-dir"]);
    cargo.arg(folder.parent().expect("the profile's folder lies in the target folder"));
    let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo runs");
    assert!(built.status.success(), "the preload library: {}", String::from_utf8_lossy(&built.stderr));
    folder.join("libforebay_preload.so")
}

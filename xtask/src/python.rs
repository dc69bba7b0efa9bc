//! The Python environment of the tests, `target/tools/python`: wsgidav, moto and their packages,
//! and DuckDB, which a benchmark runs.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::run::{answers, succeeds};
use crate::target;

/// Every package with its version, as pip takes it. Pinned, so that a test fails for our reasons
/// only.
const PACKAGES: &str = include_str!("../python-packages.txt");

/// The programs of the environment that tests run.
pub(crate) const PROGRAMS: [&str; 2] = ["wsgidav", "moto_server"];

/// The folder of the environment.
pub(crate) fn folder() -> PathBuf {
    target().join("tools/python")
}

/// Whether Python can make environments; Debian has that part in a package of its own.
pub(crate) fn makes_environments() -> bool {
    answers(Command::new("python3").args(["-c", "import venv, ensurepip"]))
}

/// Makes the environment, unless it is there with just these packages.
pub(crate) fn install() -> Result<(), String> {
    let (folder, python) = (folder(), folder().join("bin/python3"));
    // The list is copied last, so an environment with the list is whole.
    let installed = folder.join("packages.txt");
    if fs::read_to_string(&installed).is_ok_and(|list| list == PACKAGES)
        && answers(Command::new(&python).arg("--version"))
    {
        return Ok(());
    }
    if !makes_environments() {
        return Err("no Python that makes virtual environments".into());
    }
    println!("installing {} into {}", PROGRAMS.join(" and "), folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
    }
    if !succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder).stdin(Stdio::null())) {
        return Err("`python3 -m venv` failed".into());
    }
    let list = folder.join("wanted.txt");
    fs::write(&list, PACKAGES).map_err(|error| format!("cannot write {}: {error}", list.display()))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"]);
    if !succeeds(pip.arg(&list).stdin(Stdio::null())) {
        return Err("`pip install` failed".into());
    }
    fs::rename(&list, &installed).map_err(|error| format!("cannot write {}: {error}", installed.display()))
}

//! The Python environments of the tests, each with a list of packages: `target/tools/python` has
//! wsgidav, moto, Envoy, and DuckDB, which a benchmark runs; `target/tools/python-module` is where
//! the Python module is built and tested.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::run::{answers, succeeds};
use crate::target;

/// An environment.
pub(crate) struct Environment {
    /// The folder's name.
    name: &'static str,
    /// Every package with its version, as pip takes it. Pinned, so that a test fails for our
    /// reasons only.
    packages: &'static str,
}

/// That of the programs.
pub(crate) const PROGRAMS_OF: Environment =
    Environment { name: "python", packages: include_str!("../python-packages.txt") };

/// That of the module.
pub(crate) const MODULE: Environment =
    Environment { name: "python-module", packages: include_str!("../../python/tests/requirements.txt") };

/// The programs of the environment that tests run.
pub(crate) const PROGRAMS: [&str; 3] = ["wsgidav", "moto_server", "envoy"];

/// The folder of the programs' environment.
pub(crate) fn folder() -> PathBuf {
    PROGRAMS_OF.folder()
}

/// Whether Python can make environments; Debian has that part in a package of its own.
pub(crate) fn makes_environments() -> bool {
    answers(Command::new("python3").args(["-c", "import venv, ensurepip"]))
}

impl Environment {
    /// Its folder.
    pub(crate) fn folder(&self) -> PathBuf {
        target().join("tools").join(self.name)
    }

    /// Its Python.
    pub(crate) fn python(&self) -> PathBuf {
        self.folder().join("bin/python3")
    }

    /// Makes it, unless it is there with just these packages.
    pub(crate) fn install(&self) -> Result<(), String> {
        let folder = self.folder();
        // The list is copied last, so an environment with the list is whole.
        let installed = folder.join("packages.txt");
        if fs::read_to_string(&installed).is_ok_and(|list| list == self.packages)
            && answers(Command::new(self.python()).arg("--version"))
        {
            return Ok(());
        }
        if !makes_environments() {
            return Err("no Python that makes virtual environments".into());
        }
        println!("installing {} packages into {}", self.packages.lines().count(), folder.display());
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
        }
        if !succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder).stdin(Stdio::null())) {
            return Err("`python3 -m venv` failed".into());
        }
        let list = folder.join("wanted.txt");
        fs::write(&list, self.packages).map_err(|error| format!("cannot write {}: {error}", list.display()))?;
        if !succeeds(self.pip(&["install", "--no-deps", "--requirement"]).arg(&list)) {
            return Err("`pip install` failed".into());
        }
        fs::rename(&list, &installed).map_err(|error| format!("cannot write {}: {error}", installed.display()))
    }

    /// `pip` in it, quiet and without standard input.
    pub(crate) fn pip(&self, args: &[&str]) -> Command {
        let mut pip = Command::new(self.python());
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(args).stdin(Stdio::null());
        pip
    }

    /// Puts its programs first on the path of a command.
    pub(crate) fn entered(&self, command: &mut Command) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let bin: &Path = &self.folder().join("bin");
        let places = std::iter::once(bin.to_path_buf()).chain(std::env::split_paths(&path));
        // A path that cannot be joined has no programs that we need.
        if let Ok(path) = std::env::join_paths(places) {
            command.env("PATH", path);
        }
    }
}

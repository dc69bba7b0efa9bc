//! Whether the packages are as they should be: by lintian and rpm, and by an installation into a
//! copy of this system, which is used and purged there.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use crate::run::{answers, heading, succeeds};

/// A copy of this system, which goes away with the script.
const COPY: &str = include_str!("copy.sh");
/// The package is installed, used and purged there.
const USED: &str = include_str!("used.sh");
/// The other package is installed, used and erased there by rpm.
const ERASED: &str = include_str!("erased.sh");
/// Its units run there, under a systemd.
const UNITS: &str = include_str!("units.sh");

/// Checks both packages; returns whether they hold.
pub(super) fn hold(deb: &Path, rpm: &Path) -> Result<bool> {
    for program in ["lintian", "rpm", "unshare"] {
        ensure!(answers(Command::new(program).arg("--version")), "{program} is missing: apt-get install lintian rpm");
    }
    heading("lintian");
    let mut lintian = Command::new("lintian");
    // That tag is for packages of Debian's own archive.
    lintian.args(["--fail-on", "error,warning", "--allow-root", "--suppress-tags", "initial-upload-closes-no-bugs"]);
    let lintian = succeeds(lintian.arg(deb));
    heading("rpm");
    let listed = succeeds(Command::new("rpm").args(["-qp", "--list", "--requires"]).arg(rpm).stdout(Stdio::inherit()));
    let copy = tempfile::tempdir()?;
    heading("installed by rpm, used and erased in a copy of this system");
    let rpm = succeeds(in_a_copy(ERASED).arg(rpm).arg(copy.path())) && listed;
    heading("installed, used and purged in a copy of this system");
    let used = succeeds(in_a_copy(USED).arg(deb).arg(copy.path()));
    heading("its units under a systemd in a copy of this system");
    Ok(units(deb, copy.path())? && used && lintian && rpm)
}

/// A script in a copy of this system, in namespaces of its own. Its arguments are the package and a
/// folder for the copy.
fn in_a_copy(script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--cgroup", "--fork", "--kill-child", "--mount-proc", "/bin/sh", "-c"]);
    command.arg(format!("{COPY}{script}")).arg("sh");
    command
}

/// Whether the units do what they should. The systemd ends by switching the power off, which ends
/// its namespace.
fn units(deb: &Path, copy: &Path) -> Result<bool> {
    let out = tempfile::tempdir()?;
    in_a_copy(UNITS).args([deb, copy, out.path()]).status()?;
    let good = out.path().join("good").is_file();
    if !good {
        println!("{}", fs::read_to_string(out.path().join("log")).unwrap_or_default());
    }
    Ok(good)
}

//! The Python module: its wheel is built as people build it, only with the dev profile, and tested
//! in an environment of its own (`python/tests`).

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::python::MODULE;
use crate::run::{answers, heading, succeeds};
use crate::tally::Tally;
use crate::{root, target};

/// Builds the wheel, installs it, and runs its tests; `args` go to pytest.
pub(crate) fn test(args: &[String], tally: &mut Tally) -> Result<()> {
    heading("the Python module");
    ensure!(
        answers(Command::new(MODULE.python()).arg("--version")),
        "its environment is missing: run `cargo xtask tools`"
    );
    install(&wheel()?)?;
    let mut pytest = Command::new(MODULE.python());
    pytest.args(["-m", "pytest", "-q", "-rs", "--color=no", "-p", "no:cacheprovider"]).args(args);
    pytest.env("FOREBAY_TEST_TOOLS", target().join("tools")).env("PYTHONDONTWRITEBYTECODE", "1");
    MODULE.entered(&mut pytest);
    let mut child = pytest.current_dir(root()).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().context("pytest has no output")?;
    let mut counted = false;
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        counted |= tally.pytest_line(&line);
        println!("{line}");
    }
    let ended = child.wait()?;
    ensure!(counted, "pytest ended without a count ({ended})");
    Ok(())
}

/// Builds the wheel by the package's own backend.
fn wheel() -> Result<PathBuf> {
    let place = target().join("wheel/dist");
    if place.exists() {
        fs::remove_dir_all(&place).with_context(|| format!("cannot remove {}", place.display()))?;
    }
    let mut pip = MODULE.pip(&["wheel", "--no-build-isolation", "--no-deps", "--wheel-dir"]);
    MODULE.entered(&mut pip);
    pip.arg(&place).arg(root()).env("FOREBAY_WHEEL_PROFILE", "dev");
    ensure!(succeeds(&mut pip), "the wheel cannot be built");
    let mut wheels = fs::read_dir(&place).with_context(|| format!("cannot read {}", place.display()))?.flatten();
    match wheels.next() {
        Some(wheel) => Ok(wheel.path()),
        None => bail!("{} has no wheel", place.display()),
    }
}

fn install(wheel: &PathBuf) -> Result<()> {
    let mut pip = MODULE.pip(&["install", "--no-deps", "--force-reinstall"]);
    ensure!(succeeds(pip.arg(wheel)), "{} cannot be installed", wheel.display());
    Ok(())
}

//! The image of `contrib/container` and the pod of `contrib/kubernetes` in a real container
//! runtime. Registries are not asked: the base images are made of Debian's packages.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::run::{answers, heading, succeeds};
use crate::{package, python, target};

/// Builds the image and runs it, in namespaces of their own.
const IMAGE: &str = include_str!("image/image.sh");

/// The programs that the script needs.
const NEEDED: [&str; 4] = ["podman", "debootstrap", "unshare", "curl"];

/// Builds the command, as the recipe would, and the image around it; `dev` takes the command of the
/// dev profile. Returns whether all is well.
pub(crate) fn check(dev: bool) -> Result<bool> {
    for program in NEEDED {
        let there = answers(Command::new(program).arg("--version"));
        ensure!(there, "{program} is missing: apt-get install podman debootstrap util-linux curl");
    }
    let (gateway, python) = (target().join("tools/versitygw"), python::folder().join("bin/python3"));
    ensure!(gateway.is_file() && python.is_file(), "tools are missing: run `cargo xtask tools`");
    heading("the command");
    let stage = tempfile::tempdir()?;
    let program = package::command(dev, stage.path())?;
    heading("the image and the pod, in podman");
    let scratch = tempfile::Builder::new().prefix("forebay-image-").tempdir()?;
    let mut script = Command::new("unshare");
    script.args([
        "--mount",
        "--pid",
        "--cgroup",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "/bin/sh",
        "-c",
        IMAGE,
        "sh",
    ]);
    Ok(succeeds(script.arg(program).arg(scratch.path()).arg(crate::root()).arg(gateway).arg(python)))
}

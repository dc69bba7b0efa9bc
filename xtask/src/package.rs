//! Packages for administrators: a .deb and an .rpm of the command for those who mount, with its
//! manual, completions, units, and the licences of all that it contains.
//!
//! `contrib/package` and the metadata in `crates/forebay-cli/Cargo.toml` say what goes where; here
//! the parts are made and laid out under `target/package`.

mod check;
mod dependencies;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::run::{cargo, heading, succeeds};
use crate::{root, target};

/// The programs that make packages, as `cargo install` takes them. Pinned, so that packages change
/// for our reasons only.
const MAKERS: [&str; 2] = ["cargo-deb@3.8.0", "cargo-generate-rpm@0.21.1"];

/// The preload library's file.
const LIBRARY: &str = "libforebay_preload.so";

/// Builds the packages; with `check`, also tries them. `dev` takes the command of the dev profile,
/// to try the packages without the long build. Returns whether all is well.
pub(crate) fn build(dev: bool, check: bool) -> Result<bool> {
    let stage = root().join("target/package");
    ensure!(target() == root().join("target"), "the packages are laid out under target: unset CARGO_TARGET_DIR");
    if stage.exists() {
        fs::remove_dir_all(&stage).with_context(|| format!("cannot remove {}", stage.display()))?;
    }
    fs::create_dir_all(&stage)?;
    makers()?;
    heading("the command");
    let program = command(dev, &stage)?;
    heading("the parts of the packages");
    parts(&program, &stage)?;
    heading("packages");
    let deb = made(&stage, "deb", maker("cargo-deb").args(["deb", "--no-build", "--no-strip", "-p", "forebay-cli"]))?;
    let rpm = made(&stage, "rpm", maker("cargo-generate-rpm").args(["generate-rpm", "-p", "crates/forebay-cli"]))?;
    Ok(!check || check::hold(&deb, &rpm)?)
}

/// Makes the programs that make packages, unless they are there.
fn makers() -> Result<()> {
    for maker in MAKERS {
        let name = maker.split('@').next().unwrap_or(maker);
        if !folder_of_makers().join("bin").join(name).is_file() {
            println!("building {maker}, some minutes");
            let mut install = cargo(&["install", "--quiet", "--locked", maker, "--root"]);
            ensure!(succeeds(install.arg(folder_of_makers())), "{maker} cannot be built");
        }
    }
    Ok(())
}

fn folder_of_makers() -> PathBuf {
    target().join("tools/cargo")
}

fn maker(name: &str) -> Command {
    let mut command = Command::new(folder_of_makers().join("bin").join(name));
    command.current_dir(root());
    command
}

/// The command for those who mount, and beside it the library that `forebay run` and `forebay
/// record` preload. Returns the command's path.
pub(crate) fn command(dev: bool, stage: &Path) -> Result<PathBuf> {
    let (profile, folder) = if dev { ("dev", "debug") } else { ("dist", "dist") };
    let built = target().join(folder);
    let lean = ["build", "--profile", profile, "-p", "forebay-cli"];
    // The one of the dev profile is there already, with all features.
    let features: &[&str] = if dev { &[] } else { &["--no-default-features"] };
    ensure!(succeeds(cargo(&lean).args(features)), "the command cannot be built");
    let library = ["build", "--profile", profile, "-p", "forebay-preload"];
    ensure!(succeeds(&mut cargo(&library)), "the preload library cannot be built");
    stripped(&built.join(LIBRARY), &stage.join("lib").join(LIBRARY))?;
    let program = stage.join("bin/forebay");
    stripped(&built.join("forebay"), &program)?;
    Ok(program)
}

fn stripped(built: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("no folder")?)?;
    let mut strip = Command::new("strip");
    strip.args(["--strip-unneeded", "-o"]).arg(to).arg(built);
    ensure!(succeeds(&mut strip), "strip failed; it is in Debian's package binutils");
    Ok(())
}

/// Everything beside the command.
fn parts(program: &Path, stage: &Path) -> Result<()> {
    ensure!(succeeds(Command::new(program).arg("manual").arg(stage.join("man"))), "no manual");
    fs::write(stage.join("man/mount.fuse.forebay.8"), ".so man8/mount.forebay.8\n")?;
    for (shell, name) in [("bash", "forebay"), ("zsh", "_forebay"), ("fish", "forebay.fish")] {
        let script = Command::new(program).args(["completions", shell]).output()?;
        ensure!(script.status.success(), "no completions for {shell}");
        let folder = stage.join("completions").join(shell);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(name), script.stdout)?;
    }
    fs::create_dir_all(stage.join("sbin"))?;
    for name in ["mount.forebay", "mount.fuse.forebay"] {
        symlink("../bin/forebay", stage.join("sbin").join(name))?;
    }
    fs::write(stage.join("copyright"), copyright()?)?;
    fs::write(stage.join("LICENSES.txt"), dependencies::licences()?)?;
    fs::write(stage.join("changelog"), changelog()?)?;
    Ok(())
}

/// Debian's copyright file: our own licences, and where those of the dependencies are.
fn copyright() -> Result<String> {
    let own = fs::read_to_string(root().join("LICENSE-MIT"))?;
    let holders: Vec<&str> = own.lines().filter(|line| line.starts_with("Copyright")).collect();
    let text: Vec<String> = own
        .lines()
        .skip_while(|line| !line.starts_with("Permission"))
        .map(|line| if line.is_empty() { " .".to_owned() } else { format!(" {line}") })
        .collect();
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: forebay
Comment: the program contains libraries of others; LICENSES.txt in this
 folder has each with its licence.

Files: *
Copyright: {}
License: Expat or Apache-2.0

License: Expat
{}

License: Apache-2.0
 On Debian systems, the full text of this licence is in
 /usr/share/common-licenses/Apache-2.0.
",
        holders.join("\n ").replace("Copyright (c) ", ""),
        text.join("\n")
    ))
}

/// Debian's changelog, which names this version alone.
fn changelog() -> Result<String> {
    let date = Command::new("git").args(["log", "-1", "--format=%aD"]).current_dir(root()).output()?;
    let date = String::from_utf8_lossy(&date.stdout).trim().to_owned();
    Ok(format!(
        "forebay ({}-1) unstable; urgency=medium

  * changelog.gz in this folder says what is new.

 -- The Forebay contributors <contributors@forebay.invalid>  {date}
",
        env!("CARGO_PKG_VERSION")
    ))
}

/// The package that a maker makes.
fn made(stage: &Path, ending: &str, maker: &mut Command) -> Result<PathBuf> {
    let package = stage.join(format!("forebay.{ending}"));
    ensure!(succeeds(maker.arg("--output").arg(&package)), "no .{ending}");
    let bytes = package.metadata()?.len();
    println!("{}: {:.1} MB", package.display(), bytes as f64 / 1e6);
    Ok(package)
}

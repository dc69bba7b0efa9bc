//! The chores of the repository: `cargo xtask test` fetches the tools, checks everything and runs
//! all tests.
//!
//! Everything here is plain `std::process`: a chore is a program that is run, and its output is
//! shown as it comes.

mod fuzz;
mod house;
mod image;
mod leftovers;
mod licences;
mod lint;
mod module;
mod names;
mod package;
mod prose;
mod python;
mod reference;
mod run;
mod size;
mod suite;
mod tally;
mod tools;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Chores of the Forebay repository.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Xtask {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Fetches the programs that tests need, with Go, Python and Debian's packages
    Tools,
    /// Checks format, lints, documentation, licences and the repository's own rules; runs no test
    Check,
    /// Fetches the tools, checks, and runs all tests; ARGS go to `cargo test` and narrow it down to
    /// those tests
    Test {
        /// For `cargo test`, such as `-p forebay-core lru`; then nothing else is checked
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Builds the Python module's wheel and runs its tests; ARGS go to pytest
    Python {
        /// For pytest, such as `-k fsspec`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Runs the decoders of bytes from outside on inputs that a seed makes up; ARGS are those of
    /// `forebay-fuzz`
    Fuzz {
        /// Such as `--targets trace-csv,index --seconds 600 --seed 1`, or `--list`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Says which mounts, loop devices, servers and folders tests have left behind
    CheckClean,
    /// Writes docs/cli.md, docs/metrics.md and docs/traces.md from the definitions they are of
    Docs,
    /// Builds a .deb and an .rpm under target/package
    ///
    /// The build of the command takes a quarter of an hour on two cores; CI does without it.
    Package {
        /// Take the command of the dev profile, to try the packages themselves
        #[arg(long)]
        dev: bool,
        /// Check them by lintian and rpm, and install, use and purge the .deb in a copy of this
        /// system
        #[arg(long)]
        check: bool,
    },
    /// Builds the image of contrib/container, and runs it and the pod of contrib/kubernetes
    ///
    /// In podman, as root, with debootstrap. It fetches Debian's packages, and no images. CI does
    /// without it.
    Image {
        /// Take the command of the dev profile, to try the image itself
        #[arg(long)]
        dev: bool,
    },
    /// Builds the command for those who mount, and says whether it is small enough
    ///
    /// The build takes a quarter of an hour on two cores; CI does without it.
    Size,
}

/// The folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}

/// The target folder of the workspace, as `forebay-testkit` finds it too.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

fn main() -> ExitCode {
    let outcome = match Xtask::parse().chore {
        Chore::Tools => Ok(tools::fetch()),
        Chore::Check => Ok(suite::check()),
        Chore::Test { args } => suite::test(&args),
        Chore::Python { args } => suite::python(&args),
        Chore::Fuzz { args } => Ok(fuzz::run(&args)),
        Chore::CheckClean => Ok(leftovers::report(&leftovers::Leftovers::default())),
        Chore::Docs => reference::write().map(|()| true),
        Chore::Package { dev, check } => package::build(dev, check),
        Chore::Image { dev } => image::check(dev),
        Chore::Size => size::report(),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

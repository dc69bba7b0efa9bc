//! The `forebay` command: mounts slow storage so that it reads fast, and reports its counters.
//!
//! The program is [`main`]. A program that has Forebay in its own process, such as the Python
//! module, calls [`embedded`]: it takes the command's own options, and fails in the command's
//! words.

mod address;
mod bars;
mod command;
mod config;
mod daemon;
pub mod embedded;
mod environment;
mod failure;
mod fstab;
#[doc(hidden)]
pub mod fuzzing;
mod heap;
mod journal;
mod listen;
mod machine;
mod near;
mod options;
mod output;
mod period;
mod preload;
mod progress;
mod published;
mod reading;
mod reference;
mod report;
mod size;
mod socket;
mod storage;
mod supervisor;
mod table;
mod tier;
mod traces;

use std::ffi::OsString;
use std::process::ExitCode;

use failure::Failure;

/// Runs the program: parses its arguments, does what they ask for, reports a failure in a line.
pub fn main() -> ExitCode {
    heap::give_back();
    let args: Vec<OsString> = std::env::args_os().collect();
    if fstab::is_called(&args) {
        return fstab::main(&args);
    }
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(args: Vec<OsString>) -> Result<(), Failure> {
    let options = options::parse(args)?;
    journal::start(&options)?;
    command::run(options.command)
}

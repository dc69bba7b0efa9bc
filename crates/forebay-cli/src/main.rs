//! `forebay`: mounts slow storage so that it reads fast, and reports its counters.
//!
//! Exit codes: 0, it did what was asked; 1, it ran and failed; 2, the request makes no sense, and
//! nothing was done.

mod bars;
mod command;
mod config;
mod daemon;
mod failure;
mod heap;
mod journal;
mod options;
mod output;
mod period;
mod preload;
mod progress;
mod reading;
mod reference;
mod report;
mod size;
mod storage;
mod table;
mod traces;

use std::process::ExitCode;

use failure::Failure;

fn main() -> ExitCode {
    heap::give_back();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run() -> Result<(), Failure> {
    let options = options::parse(std::env::args_os())?;
    journal::start(&options)?;
    command::run(options.command)
}

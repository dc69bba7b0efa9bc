//! `forebay`: mounts slow storage so that it reads fast, and reports its counters.
//!
//! Exit codes: 0, it did what was asked; 1, it ran and failed; 2, the request makes no sense, and
//! nothing was done.

use std::process::ExitCode;

fn main() -> ExitCode {
    forebay_cli::main()
}

//! `forebay trace`: what is in traces, converted and made.

use crate::failure::Failure;
use crate::options::Trace;

/// Does what was asked.
pub(crate) fn run(trace: &Trace) -> Result<(), Failure> {
    let _ = trace;
    Err(Failure::run("not there yet"))
}

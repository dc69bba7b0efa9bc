//! `forebay repro`: the papers' claims.

use crate::failure::Failure;
use crate::options::Repro;

/// Does what was asked.
pub(crate) fn run(repro: &Repro) -> Result<(), Failure> {
    let _ = repro;
    Err(Failure::run("not there yet"))
}

//! `forebay sim`: replays.

use crate::failure::Failure;
use crate::options::Sim;

/// Does what was asked.
pub(crate) fn run(sim: &Sim) -> Result<(), Failure> {
    let _ = sim;
    Err(Failure::run("not there yet"))
}

//! `forebay repro` of a command that was built without the claims.

use crate::failure::Failure;
use crate::options::Repro;

/// The way to have it.
const WAY: &str = "this command is built without the papers' claims; `cargo install --locked --path crates/forebay-cli` \
                   in the repository installs one that has them";

/// Says how to get it, whatever is asked.
pub(crate) fn run(_: &Repro) -> Result<(), Failure> {
    Err(Failure::input(WAY))
}

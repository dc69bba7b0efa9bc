//! Fuzzing: `forebay-fuzz`, built to be fast and with every check.

use crate::run::{cargo, succeeds};

/// Builds and runs it; returns whether nothing was found.
pub(crate) fn run(args: &[String]) -> bool {
    let mut fuzz = cargo(&["run", "--quiet", "--profile", "fuzz", "--package", "forebay-fuzz", "--"]);
    succeeds(fuzz.args(args))
}

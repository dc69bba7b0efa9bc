//! How large the command is that people mount with: built as it is given to them, without the
//! papers' claims, and compared with a bound.

use anyhow::{Context, Result, ensure};

use crate::run::{cargo, heading, succeeds};
use crate::target;

/// The most bytes that it may have, stripped.
const MOST: u64 = 30_000_000;

/// Builds it and says how large it is; whether that is within the bound.
pub(crate) fn report() -> Result<bool> {
    heading("the command for those who mount");
    let lean = ["-p", "forebay-cli", "--no-default-features"];
    ensure!(succeeds(cargo(&["build", "--profile", "dist"]).args(lean)), "the command cannot be built");
    let path = target().join("dist/forebay");
    let bytes = path.metadata().with_context(|| format!("cannot look at {}", path.display()))?.len();
    println!("{}", verdict(bytes));
    // It says how to get what it lacks.
    Ok(succeeds(cargo(&["test", "--test", "lean"]).args(lean)) && bytes <= MOST)
}

fn verdict(bytes: u64) -> String {
    let mb = |bytes: u64| bytes as f64 / 1e6;
    let ruling = if bytes <= MOST { "within" } else { "beyond" };
    format!("{:.1} MB, {ruling} the bound of {:.0} MB", mb(bytes), mb(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_a_bound() {
        assert_eq!(verdict(MOST), "30.0 MB, within the bound of 30 MB");
        assert_eq!(verdict(48_000_000), "48.0 MB, beyond the bound of 30 MB");
    }
}

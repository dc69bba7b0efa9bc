//! `docs/cli.md`, which the command itself writes from the definitions of its options; a test of
//! `forebay-cli` says when it is out of date.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use crate::root;
use crate::run::cargo;

/// Asks the command for its page and writes it.
pub(crate) fn write() -> Result<()> {
    let output = cargo(&["run", "--quiet", "--package", "forebay-cli", "--", "reference"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    ensure!(output.status.success(), "`forebay reference` failed");
    let page = root().join("docs/cli.md");
    std::fs::write(&page, output.stdout).with_context(|| format!("cannot write {}", page.display()))?;
    println!("wrote {}", page.display());
    Ok(())
}

//! `docs/cli.md`, `docs/metrics.md` and `docs/traces.md`, which the command itself writes from the
//! definitions of its options, metrics and formats; a test of `forebay-cli` says when they are out
//! of date.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use crate::root;
use crate::run::cargo;

/// Asks the command for its pages and writes them.
pub(crate) fn write() -> Result<()> {
    ["cli", "metrics", "traces"].into_iter().try_for_each(one)
}

fn one(name: &str) -> Result<()> {
    let output = cargo(&["run", "--quiet", "--package", "forebay-cli", "--", "reference", name])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    ensure!(output.status.success(), "`forebay reference` failed");
    let page = root().join(format!("docs/{name}.md"));
    std::fs::write(&page, output.stdout).with_context(|| format!("cannot write {}", page.display()))?;
    println!("wrote {}", page.display());
    Ok(())
}

//! `forebay repro`

use std::path::PathBuf;

use clap::Args;

use super::Report;

/// `forebay repro`
#[derive(Debug, Args)]
pub(crate) struct Repro {
    /// The claims to check, by their names or by a TOML file
    ///
    /// `--list` lists the names. A TOML file describes a claim as those in `experiments/` do, with
    /// parameters of its own. Example: `forebay repro cp-depth`
    #[arg(value_name = "CLAIM", conflicts_with = "all")]
    #[cfg_attr(feature = "repro", arg(required_unless_present_any = ["list", "all"]))]
    pub(crate) claims: Vec<String>,

    /// List the claims that can be checked, without checking them
    #[arg(long)]
    pub(crate) list: bool,

    /// Check all claims
    #[arg(long)]
    pub(crate) all: bool,

    /// Do a small part of the runs, to see that everything works
    ///
    /// The results of such runs say little.
    #[arg(long)]
    pub(crate) quick: bool,

    /// The seed of everything random
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,

    /// Write a page with each claim's text, measurements and curves
    ///
    /// Example: `--html claims.html`
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// How to show the results
    #[command(flatten)]
    pub(crate) report: Report,
}

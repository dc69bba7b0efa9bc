//! `forebay repro`

use clap::Args;

use super::Report;

/// `forebay repro`
#[derive(Debug, Args)]
pub(crate) struct Repro {
    /// How to show the results
    #[command(flatten)]
    pub(crate) report: Report,
}

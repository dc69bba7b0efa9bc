//! `forebay sim`

use clap::Args;

use super::Report;

/// `forebay sim`
#[derive(Debug, Args)]
pub(crate) struct Sim {
    /// How to show the results
    #[command(flatten)]
    pub(crate) report: Report,
}

//! How results are shown: the options that every command with results shares.

use std::path::{Path, PathBuf};

use clap::Args;
use forebay_sim::chart;

/// Where results go.
#[derive(Clone, Debug, Args)]
pub(crate) struct Report {
    /// Print JSON: an array of records
    #[arg(long)]
    pub(crate) json: bool,

    /// Print comma-separated values, a line a record
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,

    /// Draw the results into this file; its ending says how: .svg, .png or .html
    #[arg(long, value_name = "FILE", value_parser = picture)]
    pub(crate) plot: Option<PathBuf>,
}

/// The name of a file that can be drawn, checked before anything is measured.
fn picture(text: &str) -> Result<PathBuf, chart::Error> {
    chart::Kind::of(Path::new(text)).map(|_| PathBuf::from(text))
}

//! `forebay doctor`

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::{Mount, Reading, Sources};

/// `forebay doctor`
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// The sources that a mount is to read
    ///
    /// Without them they are those of [mount] in the configuration file. Other options that are set
    /// there count as well. Example: `s3://bucket/prefix`
    #[arg(num_args = 0.., value_name = "SOURCE")]
    pub(crate) places: Vec<OsString>,

    #[command(flatten)]
    pub(crate) sources: Sources,

    /// How they are to be read.
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Whether other users are to read too
    #[arg(long)]
    pub(crate) allow_other: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// The mount that they describe, with the rest from the file and the environment. `None` if
    /// these are at fault.
    #[arg(skip)]
    pub(crate) mount: Option<Box<Mount>>,

    /// The configuration file, and its fault.
    #[arg(skip)]
    pub(crate) configuration: Configuration,
}

/// The configuration file that the command line names.
#[derive(Clone, Default, Debug)]
pub(crate) struct Configuration {
    pub(crate) file: Option<PathBuf>,
    pub(crate) fault: Option<String>,
}

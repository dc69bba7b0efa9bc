//! `forebay run` and `forebay record`: programs under the preload library.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// A program, and where it tells mounts its contexts.
#[derive(Clone, Debug, Args)]
pub(crate) struct Program {
    #[command(flatten)]
    pub(crate) told: super::Told,

    /// The program and its arguments
    #[arg(required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}

/// `forebay run`
#[derive(Debug, Args)]
#[command(override_usage = "forebay run [OPTIONS] -- <PROGRAM> [ARGS]...")]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) program: Program,
}

/// The stand-in for the pages of mapped files that a program touches, which nothing records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Mapped {
    /// Nothing
    None,
    /// One pass from the first to the last page, at the time of the mapping
    Whole,
}

/// `forebay record`
#[derive(Debug, Args)]
#[command(override_usage = "forebay record [OPTIONS] --output <FILE> -- <PROGRAM> [ARGS]...")]
pub(crate) struct Record {
    /// The file for the trace; its ending tells the format
    ///
    /// .parquet keeps everything. Example: `--output day.parquet`
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Keep only requests to files in this folder; may be given several times
    ///
    /// Names of files then begin with the folder's last part. Example: `--only src`
    #[arg(long, value_name = "FOLDER", value_delimiter = ',')]
    pub(crate) only: Vec<PathBuf>,

    /// Keep only reads
    #[arg(long)]
    pub(crate) reads: bool,

    /// The stand-in for touched pages of mapped files, which nothing records
    #[arg(long, value_enum, default_value = "none")]
    pub(crate) mapped: Mapped,

    /// Print the summary as JSON on standard output
    ///
    /// The summary comes after the program's own output. Without this option it is on standard
    /// error.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) program: Program,
}

//! Options of `forebay cache`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `forebay cache`
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cache {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

/// A command about a folder.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Show what a folder has, also while it is in use
    ///
    /// Example: `forebay cache info /nvme/forebay`
    Info(CacheFolder),
    /// Read everything in a folder and compare it with its checksums
    ///
    /// The command fails if anything is damaged. Damaged blocks are never given to readers; mounts
    /// fetch them again. Example: `forebay cache check /nvme/forebay`
    Check(CacheFolder),
    /// Remove all that is kept in a folder
    ///
    /// Only files of Forebay's are removed. The folder must not be in use. Example: `forebay cache
    /// clear /nvme/forebay`
    Clear(CacheFolder),
}

/// The folder of a command.
#[derive(Debug, Args)]
pub(crate) struct CacheFolder {
    /// The folder that --disk names
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

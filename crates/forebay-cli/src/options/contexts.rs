//! `forebay contexts`, and the files for hints and contexts.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use forebay_callers::table_path;
use forebay_live::contexts::hints::Hints;

/// Where hints about program contexts are kept.
#[derive(Clone, Debug, Args)]
pub(crate) struct Kept {
    /// Keep hints about program contexts in this file, or off for no file
    ///
    /// The file carries hints from one mount to the next, under a policy that tells contexts apart.
    /// The default is contexts.redb in the user's cache folder. Example: `--hints off`
    #[arg(long, value_name = "FILE")]
    pub(crate) hints: Option<Place>,
}

/// Where programs tell mounts their contexts.
#[derive(Clone, Debug, Args)]
pub(crate) struct Told {
    /// The file in which programs tell mounts their context, or off for no file
    ///
    /// Programs that `forebay run` has started write it. Mounts make it and read it, under a policy
    /// that tells contexts apart. The default is /dev/shm/forebay-contexts-UID, once programs have
    /// made that file. Example: `--contexts off`
    #[arg(long, value_name = "FILE")]
    pub(crate) contexts: Option<Place>,
}

impl Told {
    /// Whether the user has named a file; otherwise it is at its usual place.
    pub(crate) fn is_said(&self) -> bool {
        self.contexts.is_some()
    }

    /// The table of our own user's programs; `None` if it is off.
    pub(crate) fn table(&self) -> Option<PathBuf> {
        match &self.contexts {
            Some(Place::Off) => None,
            Some(Place::File(path)) => Some(path.clone()).filter(|path| !path.as_os_str().is_empty()),
            None => table_path(rustix::process::geteuid().as_raw()),
        }
    }
}

/// A file, or none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Nothing is kept.
    Off,
    /// This file.
    File(PathBuf),
}

impl FromStr for Place {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Place, Infallible> {
        Ok(if text == "off" { Place::Off } else { Place::File(text.into()) })
    }
}

impl Kept {
    /// Whether the user has named a file; otherwise it is at its usual place.
    pub(crate) fn is_said(&self) -> bool {
        self.hints.is_some()
    }

    /// The database; `None` if hints are off, or no folder is known for it.
    pub(crate) fn database(&self) -> Option<Hints> {
        match &self.hints {
            None => Hints::user(),
            Some(Place::Off) => None,
            Some(Place::File(path)) => Some(Hints::at(path.clone())),
        }
    }
}

/// `forebay contexts`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Contexts {
    #[command(flatten)]
    pub(crate) show: ContextsShow,

    /// The command; by default show
    #[command(subcommand)]
    pub(crate) command: Option<ContextsCommand>,
}

/// `forebay contexts …`
#[derive(Debug, Subcommand)]
pub(crate) enum ContextsCommand {
    /// Show the hints of mounts: programs, call stacks, patterns, loops
    ///
    /// Each line also has the time at which a mount saw the context last.
    Show(ContextsShow),
    /// Export the hints for other programs, as JSON or CSV
    Export(ContextsExport),
    /// Forget the hints, all or those of one program
    Clear(ContextsClear),
}

/// `forebay contexts show`
#[derive(Debug, Args)]
pub(crate) struct ContextsShow {
    #[command(flatten)]
    pub(crate) kept: Kept,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `forebay contexts export`
#[derive(Debug, Args)]
pub(crate) struct ContextsExport {
    #[command(flatten)]
    pub(crate) kept: Kept,

    /// The file to write; by default standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// The format; by default that of FILE's ending, else JSON
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<Exported>,
}

/// The format of exported contexts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Exported {
    /// An array of records
    Json,
    /// A line a context
    Csv,
}

/// `forebay contexts clear`
#[derive(Debug, Args)]
pub(crate) struct ContextsClear {
    #[command(flatten)]
    pub(crate) kept: Kept,

    /// Forget only the hints of this program: its path, or the last part of it
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) executable: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

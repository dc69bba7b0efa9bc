//! Options of `forebay warm`.

use std::path::PathBuf;

use clap::{Args, value_parser};

/// `forebay warm`
#[derive(Debug, Args)]
pub(crate) struct Warm {
    /// Files, and folders with all that is below them
    #[arg(value_name = "PATH", required_unless_present = "from")]
    pub(crate) paths: Vec<PathBuf>,

    /// Take more files from this list, `-` for standard input
    ///
    /// A line is a path, or a path, the first byte and the byte behind the last, with tabs between
    /// them. Example: `--from epoch.txt`
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,

    /// Lines of the list end with a zero byte, as `find -print0` writes them
    #[arg(long, short = '0', requires = "from")]
    pub(crate) null: bool,

    /// Tell the mount the files in this order, and return at once
    ///
    /// The mount fetches each file shortly before it is read. Without this option the files are
    /// read through now, many at a time.
    #[arg(long)]
    pub(crate) order: bool,

    /// The name of the list that --order tells; it replaces the list of that name
    #[arg(long, value_name = "NAME", default_value = "warm", requires = "order", env = "FOREBAY_WARM_LIST")]
    pub(crate) list: String,

    /// Only see whether all of the files are there
    #[arg(long, conflicts_with = "order")]
    pub(crate) check: bool,

    /// Return once the files are seen to be there, and read them in the background
    ///
    /// If any of them is missing nothing is read.
    #[arg(long, conflicts_with_all = ["order", "check", "json"])]
    pub(crate) background: bool,

    /// Files that are read at a time
    #[arg(long, value_name = "COUNT", default_value = "32", value_parser = value_parser!(u16).range(1..=1024))]
    #[arg(env = "FOREBAY_WARM_AT_ONCE")]
    pub(crate) at_once: u16,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Set for the process that goes on in the background
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
}

//! Options of `forebay top`.

use std::path::PathBuf;

use clap::{Args, value_parser};

use super::Access;
use crate::period::Period;

/// `forebay top`
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// Mount points, control sockets, addresses; by default this user's mounts
    ///
    /// An address is that of a mount's --control or of `forebay serve`. Example: `/mnt/data`,
    /// `unix:/run/data.sock`, `host:7680` or `https://host:7680`
    #[arg(value_name = "MOUNT")]
    pub(crate) mounts: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) access: Access,

    /// How long a figure is shown before the next
    #[arg(long, value_name = "TIME", default_value = "1s", env = "FOREBAY_TOP_INTERVAL")]
    pub(crate) interval: Period,

    /// End after so many figures of each mount
    ///
    /// Without it the display goes on until q is pressed. Where the output is no terminal there is
    /// one figure. Each figure follows one interval after the last, so that it has rates. A mount
    /// that goes is told once. Example: `--json --count 60`
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u32).range(1..), env = "FOREBAY_TOP_COUNT")]
    pub(crate) count: Option<u32>,

    /// Print JSON, a line for each figure
    #[arg(long)]
    pub(crate) json: bool,
}

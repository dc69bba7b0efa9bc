//! Forebay in another program's process: simulations, and a cache without a mount.
//!
//! Options are those of the command, given as on its command line, so that they mean the same and
//! are refused in the same words. The environment's variables count too. A configuration file does
//! not, unless it is named by `--config`.

mod cache;
mod files;
mod simulate;

use std::ffi::OsString;

use clap::Arg;

use crate::failure::Failure;
use crate::options::{self, Forebay};

pub use crate::traces::MemoryTrace;
pub use cache::{Cache, Entry, Source};
pub use files::Opened;
pub use simulate::{OwnRefusal, Policy, simulate, simulate_guest};

/// Why nothing came of a call.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The caller's input makes no sense.
    #[error("{0}")]
    Input(String),
    /// It failed on the way.
    #[error("{0}")]
    Failed(String),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] forebay_trace::Error),
    /// A source does not answer, or refuses.
    #[error(transparent)]
    Source(#[from] forebay_source::Error),
    /// The caller stopped it.
    #[error("interrupted")]
    Stopped,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        match failure {
            Failure::Usage(_) | Failure::Config(_) | Failure::Input(_) => Refusal::Input(failure.to_string()),
            Failure::Source(error) => Refusal::Source(error),
            Failure::Run(_) | Failure::Mount(_) | Failure::Said(_) | Failure::Start(..) => {
                Refusal::Failed(failure.to_string())
            }
        }
    }
}

/// The options of a command, as on its command line without the dashes. A command below another
/// stands behind a space: `trace info`.
pub fn options_of(command: &str) -> Vec<String> {
    if command == CACHE {
        return names(&cache::definitions());
    }
    let mut found = options::definitions();
    for name in command.split(' ') {
        let Some(below) = found.find_subcommand(name).cloned() else { return Vec::new() };
        found = below;
    }
    names(&found)
}

/// The name that stands for the options of a [`Cache`].
pub const CACHE: &str = "cache";

fn names(command: &clap::Command) -> Vec<String> {
    let shown = |arg: &&Arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version");
    command.get_arguments().filter(shown).filter_map(Arg::get_long).map(str::to_owned).collect()
}

/// The command and its options, without a configuration file unless `args` name one.
fn parse(args: &[OsString]) -> Result<Forebay, Failure> {
    let start = ["forebay", "--config", "/dev/null"].map(OsString::from);
    options::parse(start.into_iter().chain(args.iter().cloned()))
}

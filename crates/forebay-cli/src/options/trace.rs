//! `forebay trace`

use clap::{Args, Subcommand};

/// `forebay trace`
#[derive(Debug, Args)]
pub(crate) struct Trace {
    /// What to do with traces
    #[command(subcommand)]
    pub(crate) command: TraceCommand,
}

/// `forebay trace …`
#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Say what is in a trace
    Info,
}

//! Sources by an option, so that a configuration file and a line of fstab can name them.

use std::ffi::OsString;

use clap::Args;

/// Sources by an option.
#[derive(Clone, Debug, Args)]
pub(crate) struct Sources {
    /// A source, instead of those that stand by themselves
    ///
    /// The option can be given several times, and is a list in the configuration file. Example:
    /// `--source hot=/ssd --source cold=s3://bucket`
    #[arg(id = "source", long = "source", value_name = "SOURCE", conflicts_with = "places")]
    pub(crate) named: Vec<OsString>,
}

impl Sources {
    /// The sources of a command: those that stand by themselves, `given`, come before a list of the
    /// configuration file.
    pub(crate) fn or<'a>(&'a self, given: &'a [OsString]) -> &'a [OsString] {
        if given.is_empty() { &self.named } else { given }
    }
}

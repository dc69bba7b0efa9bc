//! What can be wrong with the files that programs write.

use std::path::{Path, PathBuf};

/// Why a table, a dictionary or a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused.
    #[error("cannot {what} {}: {source}", path.display())]
    System {
        /// What was tried: open, read, map …
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file belongs to another user than whose contexts it would tell.
    #[error("{} belongs to user {owner}, not to user {wanted}: remove it", path.display())]
    Owner {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// Who should own it.
        wanted: u32,
    },
    /// It is not what it should be.
    #[error("{} is not {wanted}: remove it, or name another", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What it should be.
        wanted: &'static str,
    },
}

impl Error {
    pub(crate) fn system(what: &'static str, path: &Path, source: impl Into<std::io::Error>) -> Error {
        Error::System { what, path: path.into(), source: source.into() }
    }
}

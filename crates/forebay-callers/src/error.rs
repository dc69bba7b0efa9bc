//! Faults of the files that programs write.

use std::path::{Path, PathBuf};

/// Why a table, a dictionary or a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("cannot {what} {}: {source}", path.display())]
    System {
        /// The action: open, read, map …
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file belongs to another user than the one whose contexts are wanted.
    #[error("{} belongs to user {owner}, not to user {wanted}: remove it", path.display())]
    Owner {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The user who should own it.
        wanted: u32,
    },
    /// The file has another form.
    #[error("{} is not {wanted}: remove it, or name another", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The expected form.
        wanted: &'static str,
    },
}

impl Error {
    pub(crate) fn system(what: &'static str, path: &Path, source: impl Into<std::io::Error>) -> Error {
        Error::System { what, path: path.into(), source: source.into() }
    }
}

//! DiskSim's parameter files: `X.diskspecs` with the `.model` and `.seek` files that it names beside it, as a [`Description`].

use std::path::{Path, PathBuf};

use crate::Description;

/// Why a parameter file gave no description.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It says something that is no disk.
    #[error("{}:{line}: {reason}", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u32,
        /// What is wrong.
        reason: String,
    },
}

/// The disk of `X.diskspecs`, with everything that the files say of it.
pub fn import(path: &Path) -> Result<Description, ImportError> {
    Err(ImportError::Invalid { path: path.to_owned(), line: 1, reason: "not there yet".into() })
}

/// The same disk, by its seek curve, speed, heads and zones alone.
pub fn import_simple(path: &Path) -> Result<Description, ImportError> {
    import(path)
}

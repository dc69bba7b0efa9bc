//! What can be wrong with a trace.

use std::path::PathBuf;

/// Why a trace cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system says no.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A record is damaged.
    #[error("{}: record {record}: {reason}", .path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Which record, counted from one; of texts, the line.
        record: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// Nobody knows what this is.
    #[error("{}: {reason}", .path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What was tried, and what to do.
        reason: String,
    },
}

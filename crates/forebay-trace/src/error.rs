//! The faults of a trace.

use std::path::PathBuf;

/// Why a trace cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system reports an error.
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
        /// The fault in it.
        reason: String,
    },
    /// The format cannot be recognized.
    #[error("{}: {reason}", .path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The formats that were tried, and the remedy.
        reason: String,
    },
}

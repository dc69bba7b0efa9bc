//! Why a folder cannot be used.

use std::io;
use std::path::{Path, PathBuf};

use crate::options::Options;

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process has it.
    #[error(
        "{}: in use by another mount{}; give each its own folder, or end that one",
        .dir.display(),
        .pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
    )]
    InUse {
        /// The folder.
        dir: PathBuf,
        /// The owner's process, if it is known.
        pid: Option<u32>,
    },
    /// This process has it open with another limit.
    #[error("{}: open in this process with another {limit}; give the same one, or another folder", .dir.display())]
    Differs {
        /// The folder.
        dir: PathBuf,
        /// The limit.
        limit: &'static str,
    },
    /// It is named twice.
    #[error("{}: given twice; name each folder of the disk tier once", .0.display())]
    Twice(PathBuf),
    /// It may not take enough bytes for one file.
    #[error("{}: a disk tier of {} is too small; give at least {} MiB", .dir.display(), amount(*.size), Options::LEAST.div_ceil(1 << 20))]
    TooSmall {
        /// The folder.
        dir: PathBuf,
        /// Its bytes.
        size: u64,
    },
    /// There is a file at the place of one of the tier's, and it is none.
    #[error("{}: not a file of a disk tier; move it away, or choose another folder", .0.display())]
    Foreign(PathBuf),
    /// There is no tier.
    #[error("{}: there is no disk tier in this folder", .0.display())]
    NoTier(PathBuf),
    /// The file system refuses.
    #[error("{}: cannot {doing}: {reason}", .path.display())]
    Refused {
        /// The file or folder.
        path: PathBuf,
        /// The operation that was tried.
        doing: &'static str,
        /// The reason.
        reason: io::Error,
    },
    /// The system has no thread or reader left.
    #[error("cannot start the disk tier: {0}")]
    Start(io::Error),
}

impl Error {
    /// The file system refused something at a path.
    pub(crate) fn refused(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_path_buf();
        move |reason| Error::Refused { path, doing, reason }
    }
}

/// An amount for a message: a few bytes mostly are a number whose unit was forgotten.
fn amount(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{bytes} bytes") } else { format!("{} MiB", bytes >> 20) }
}

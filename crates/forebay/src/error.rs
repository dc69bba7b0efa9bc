//! Errors, between this cache's and an object store's.

use std::sync::Arc;
use std::time::Duration;

use forebay_live::engine;
use forebay_live::tree::BranchError;
use forebay_source::Error;
use forebay_source::object::range::Unread;
use object_store::Error as StoreError;
use object_store::path::Path;

/// Why a cache did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The engine did not start.
    #[error(transparent)]
    Engine(#[from] engine::StartError),
    /// The store cannot be shown as a tree of names.
    #[error(transparent)]
    Tree(#[from] BranchError),
    /// There are no threads for requests.
    #[error("cannot start the threads for requests: {0}")]
    Threads(std::io::Error),
}

/// The store's refusal of a range, as a source tells it. The store has tried again by itself, as
/// far as its own options go.
pub(crate) fn of_range(location: &Path, unread: Unread) -> Error {
    match unread {
        Unread::Changed => Error::Stale(location.to_string()),
        Unread::Slow(slow) => Error::Storage { name: location.to_string(), reason: slow.to_string() },
        Unread::Broken(reason) => Error::Storage { name: location.to_string(), reason: reason.into() },
        // The version that was opened is gone.
        Unread::Refused(StoreError::Precondition { .. } | StoreError::NotFound { .. }) => {
            Error::Stale(location.to_string())
        }
        Unread::Refused(error) => of_name(location, &error),
    }
}

/// The store's refusal of a question about a name.
pub(crate) fn of_name(location: &Path, error: &StoreError) -> Error {
    let name = location.to_string();
    match error {
        StoreError::NotFound { .. } => Error::NotFound(name),
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => Error::Denied(name),
        error => Error::GivenUp { name, reason: error.to_string(), after: Duration::ZERO },
    }
}

/// An error of reading, as a store tells it; `reason` is the store's own.
pub(crate) fn of_reading(location: &Path, error: Error, reason: Option<Arc<str>>) -> StoreError {
    let path = location.to_string();
    match error {
        Error::NotFound(_) => StoreError::NotFound { path, source: error.into() },
        Error::Denied(_) | Error::Barred { .. } => StoreError::PermissionDenied { path, source: error.into() },
        Error::Stale(_) => StoreError::Precondition { path, source: error.into() },
        error => {
            let reason = reason.map_or_else(|| error.to_string(), |reason| reason.to_string());
            let source = format!("{location}: {reason}").into();
            StoreError::Generic { store: "forebay", source }
        }
    }
}

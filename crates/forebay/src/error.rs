//! Errors, between this cache's and an object store's.

use std::sync::Arc;

use forebay_live::engine;
use forebay_source::Error;
use object_store::Error as StoreError;
use object_store::path::Path;

/// Why a cache did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The engine did not start.
    #[error(transparent)]
    Engine(#[from] engine::StartError),
    /// There are no threads for requests.
    #[error("cannot start the threads for requests: {0}")]
    Threads(std::io::Error),
}

/// The store's refusal of a range, as a source tells it. The store has tried again by itself, as
/// far as its own options go.
pub(crate) fn of_range(location: &Path, error: &StoreError) -> Error {
    let name = location.to_string();
    match error {
        // The version that was opened is gone.
        StoreError::Precondition { .. } | StoreError::NotFound { .. } | StoreError::NotModified { .. } => {
            Error::Stale(name)
        }
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => Error::Denied(name),
        error => Error::GivenUp { name, reason: error.to_string(), after: std::time::Duration::ZERO },
    }
}

/// The store's refusal of a question about a name.
pub(crate) fn of_name(location: &Path, error: &StoreError) -> Error {
    match error {
        StoreError::NotFound { .. } => Error::NotFound(location.to_string()),
        error => of_range(location, error),
    }
}

/// An error of reading, as a store tells it; `reason` is the store's own.
pub(crate) fn of_reading(location: &Path, error: Error, reason: Option<Arc<str>>) -> StoreError {
    let path = location.to_string();
    match error {
        Error::NotFound(_) => StoreError::NotFound { path, source: error.into() },
        Error::Denied(_) => StoreError::PermissionDenied { path, source: error.into() },
        Error::Stale(_) => StoreError::Precondition { path, source: error.into() },
        error => {
            let reason = reason.map_or_else(|| error.to_string(), |reason| reason.to_string());
            let source = format!("{location}: {reason}").into();
            StoreError::Generic { store: "forebay", source }
        }
    }
}

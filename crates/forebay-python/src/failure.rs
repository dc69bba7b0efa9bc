//! From Forebay's errors to Python's exceptions, in the same words.

use forebay_cli::embedded::Refusal;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// The exception of an errno: Python makes `OSError(2, …)` a `FileNotFoundError`.
pub(crate) fn of_errno(errno: i32, words: String) -> PyErr {
    PyOSError::new_err((errno, words))
}

/// The exception of a source that did not answer as wanted.
pub(crate) fn of_source(error: forebay_source::Error) -> PyErr {
    of_errno(error.errno(), error.to_string())
}

/// The exception of a call that was refused.
pub(crate) fn of_refusal(refusal: Refusal) -> PyErr {
    match refusal {
        Refusal::Input(words) => PyValueError::new_err(words),
        Refusal::Failed(words) => PyRuntimeError::new_err(words),
        Refusal::Trace(error) => match &error {
            forebay_trace::Error::Io { source, .. } => {
                of_errno(source.raw_os_error().unwrap_or(libc::EIO), error.to_string())
            }
            _ => PyValueError::new_err(error.to_string()),
        },
        Refusal::Source(error) => of_source(error),
        Refusal::Stopped => PyKeyboardInterrupt::new_err("interrupted"),
    }
}

//! Values that belong to the process that made them.
//!
//! A forked child has a copy of the memory, and none of the engine's threads: a read there would
//! wait for ever, and even letting go might wait for a lock that a thread held when it forked.

use std::mem::ManuallyDrop;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// A value that a forked child can neither use nor drop.
pub(crate) struct Own<T> {
    value: ManuallyDrop<T>,
    process: u32,
}

impl<T> Own<T> {
    pub(crate) fn new(value: T) -> Own<T> {
        Own { value: ManuallyDrop::new(value), process: std::process::id() }
    }

    /// The value, in its own process.
    pub(crate) fn get(&self) -> PyResult<&T> {
        if self.process == std::process::id() {
            return Ok(&self.value);
        }
        Err(PyRuntimeError::new_err(
            "the cache belongs to the process that this one was forked from: use forebay.mount() in the parent, and \
             read the folder here",
        ))
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // SAFETY: the value is dropped here only, and once.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

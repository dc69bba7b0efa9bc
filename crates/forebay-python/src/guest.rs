//! A replacement policy that is a Python object.

use forebay_sim::untimed::Guest;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;

/// A policy's object. Its exceptions are the replay's errors.
pub(crate) struct OwnPolicy<'py>(pub(crate) Bound<'py, PyAny>);

impl Guest for OwnPolicy<'_> {
    type Error = PyErr;

    fn hit(&mut self, block: u32) -> PyResult<()> {
        self.0.call_method1(intern!(self.0.py(), "hit"), (block,)).map(drop)
    }

    fn miss(&mut self, block: u32) -> PyResult<()> {
        self.0.call_method1(intern!(self.0.py(), "miss"), (block,)).map(drop)
    }

    fn evict(&mut self) -> PyResult<u64> {
        let chosen = self.0.call_method0(intern!(self.0.py(), "evict"))?;
        chosen.extract().map_err(|_| {
            let name = self.0.get_type().name().map_or_else(|_| "the policy".into(), |name| name.to_string());
            let given = chosen.repr().map_or_else(|_| "something else".into(), |repr| repr.to_string());
            PyTypeError::new_err(format!(
                "{name}.evict() must return the key of a block that is in the cache, not {given}"
            ))
        })
    }

    fn remove(&mut self, block: u32) -> PyResult<()> {
        self.0.call_method1(intern!(self.0.py(), "remove"), (block,)).map(drop)
    }

    fn insert(&mut self, block: u32) -> PyResult<()> {
        self.0.call_method1(intern!(self.0.py(), "insert"), (block,)).map(drop)
    }
}

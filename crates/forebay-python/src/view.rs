//! Bytes of the cache itself, for readers that take Python's buffers.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use forebay_live::engine::Lease;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::own::Own;

/// A lease as a buffer. Its frames stay until the last view of it goes.
#[pyclass(frozen, module = "forebay._forebay")]
pub(crate) struct View {
    lease: Own<Lent>,
}

/// A lease that is counted.
struct Lent {
    lease: Lease,
    all: Arc<AtomicU64>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.all.fetch_sub(self.lease.len() as u64, Ordering::Relaxed);
    }
}

impl View {
    /// The longest one, in bytes: a read of the engine.
    pub(crate) const MOST: usize = 1 << 20;

    /// A view of a lease in one piece; `all` counts the bytes of all views.
    pub(crate) fn new(lease: Lease, all: &Arc<AtomicU64>) -> View {
        all.fetch_add(lease.len() as u64, Ordering::Relaxed);
        View { lease: Own::new(Lent { lease, all: Arc::clone(all) }) }
    }
}

#[pymethods]
impl View {
    /// # Safety
    ///
    /// Called by Python with a buffer to fill in.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no buffer to fill in"));
        }
        let bytes = slf.get().lease.get()?.lease.slices().next().unwrap_or_default();
        let (start, len) = (bytes.as_ptr().cast_mut().cast(), bytes.len() as isize);
        // SAFETY: the bytes stay as long as `slf`, to which the buffer refers, and it is read-only.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, 1, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }

    /// # Safety
    ///
    /// Called by Python with a buffer that it got from here.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {}
}

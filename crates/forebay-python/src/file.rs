//! An open file, which is read by position.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;

use forebay_cli::embedded::Opened;
use forebay_live::engine::Lease;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

use crate::cache::{Shared, closed};
use crate::failure::of_source;
use crate::gather::{Destination, Part, gather, of_file};
use crate::own::Own;
use crate::view::View;
use crate::wait::wait;

/// See `python/forebay/_file.py`, which people call.
#[pyclass(frozen, module = "forebay._forebay")]
pub(crate) struct File {
    held: Own<Held>,
    size: u64,
}

struct Held {
    shared: std::sync::Weak<Shared>,
    opened: Arc<Opened>,
}

#[pymethods]
impl File {
    #[getter]
    fn size(&self) -> u64 {
        self.size
    }

    /// `length` bytes from `offset`, fewer at the end of the file.
    #[pyo3(signature = (offset, length = None))]
    fn read_at<'py>(&self, py: Python<'py>, offset: u64, length: Option<u64>) -> PyResult<Bound<'py, PyBytes>> {
        let shared = self.shared()?;
        let file = Arc::clone(&self.held.get()?.opened);
        let mut read = read_parts(py, vec![Reading { file, offset, length }], shared.cache.memory())?;
        read.pop().ok_or_else(|| PyValueError::new_err("nothing was read"))
    }

    /// Reads from `offset` into a buffer; returns how many bytes.
    fn read_into(&self, py: Python<'_>, offset: u64, buffer: &Bound<'_, PyAny>) -> PyResult<usize> {
        let shared = self.shared()?;
        let buffer = PyBuffer::<u8>::get(buffer)?;
        if buffer.readonly() || !buffer.is_c_contiguous() {
            return Err(PyValueError::new_err("the buffer must be writable and in one piece"));
        }
        let file = Arc::clone(&self.held.get()?.opened);
        let len = clipped(self.size, offset, Some(buffer.len_bytes() as u64))?;
        // SAFETY: the buffer stays, and is as long, until it is released after the read. A program
        // that writes into it meanwhile gets either bytes, as with any `readinto`.
        let to = unsafe { Destination::new(buffer.buf_ptr().cast()) };
        gather(py, vec![Part { file, offset, len, to }], shared.cache.memory())?;
        Ok(len)
    }

    /// The bytes from `offset` as a view of the cache itself, where that is possible, else as
    /// bytes.
    fn view_at<'py>(&self, py: Python<'py>, offset: u64, length: u64) -> PyResult<Bound<'py, PyAny>> {
        let shared = self.shared()?;
        let opened = &self.held.get()?.opened;
        let len = clipped(self.size, offset, Some(length))?;
        // Frames that are lent out cannot be used for anything else.
        let lent = shared.lent.load(Ordering::Relaxed).saturating_add(len as u64);
        if len == 0 || len > View::MOST || lent > shared.cache.memory() / 4 {
            return self.read_at(py, offset, Some(length)).map(Bound::into_any);
        }
        let (send, mut receive) = sync_channel(1);
        // SAFETY: asks the kernel for this thread's number.
        let reader = unsafe { libc::gettid() } as u32;
        py.detach(|| opened.read_then(reader, offset, len, move |lease| drop(send.send(lease))));
        let lease = wait(py, &mut receive, || false)?.ok_or_else(closed)?;
        let lease = lease.map_err(|error| of_source(of_file(opened, error)))?;
        if lease.len() < len || lease.slices().count() != 1 {
            drop::<Lease>(lease);
            return self.read_at(py, offset, Some(length)).map(Bound::into_any);
        }
        let view = Bound::new(py, View::new(lease, &shared.lent))?;
        PyMemoryView::from(view.as_any()).map(Bound::into_any)
    }
}

impl File {
    pub(crate) fn new(shared: &Arc<Shared>, opened: Arc<Opened>) -> File {
        let size = opened.size();
        File { held: Own::new(Held { shared: Arc::downgrade(shared), opened }), size }
    }

    /// The cache, unless it is closed.
    fn shared(&self) -> PyResult<Arc<Shared>> {
        self.held.get()?.shared.upgrade().ok_or_else(closed)
    }
}

/// A range of a file to be read; without a length up to the end.
pub(crate) struct Reading {
    pub(crate) file: Arc<Opened>,
    pub(crate) offset: u64,
    pub(crate) length: Option<u64>,
}

/// How many bytes there are.
fn clipped(size: u64, offset: u64, length: Option<u64>) -> PyResult<usize> {
    let len = size.saturating_sub(offset).min(length.unwrap_or(u64::MAX));
    match usize::try_from(len) {
        Ok(len) if isize::try_from(len).is_ok() => Ok(len),
        _ => Err(PyOverflowError::new_err(format!("{len} bytes are more than an object can have"))),
    }
}

/// Reads ranges into new objects.
pub(crate) fn read_parts<'py>(
    py: Python<'py>,
    readings: Vec<Reading>,
    memory: u64,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let mut parts = Vec::with_capacity(readings.len());
    let mut read = Vec::with_capacity(readings.len());
    for Reading { file, offset, length } in readings {
        let len = clipped(file.size(), offset, length)?;
        // SAFETY: without bytes to copy from, the object's own are not set yet; `gather` sets all
        // of them or fails, and then the object goes unseen.
        let bytes = unsafe {
            let new = pyo3::ffi::PyBytes_FromStringAndSize(std::ptr::null(), len as isize);
            Bound::from_owned_ptr_or_err(py, new)?.cast_into_unchecked::<PyBytes>()
        };
        // SAFETY: nothing else knows the object until it is returned.
        let to = unsafe { Destination::new(pyo3::ffi::PyBytes_AsString(bytes.as_ptr()).cast()) };
        parts.push(Part { file, offset, len, to });
        read.push(bytes);
    }
    gather(py, parts, memory)?;
    Ok(read)
}

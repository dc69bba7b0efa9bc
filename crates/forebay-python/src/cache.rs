//! A cache in the process of Python.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{SystemTime, UNIX_EPOCH};

use forebay_cli::embedded::{self, Entry, Opened, Source};
use forebay_live::told::{self, BadLine, Mode, Named, TellError, UnknownMode};
use forebay_source::{Attributes, Result};
use parking_lot::RwLock;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::failure::{of_refusal, of_source};
use crate::file::{File, Reading, read_parts};
use crate::journal;
use crate::own::Own;
use crate::target::Target;

/// How often a file is opened anew that changes while it is read by path.
const LOOKS: usize = 3;

/// The parts of a cache that its files and views share.
pub(crate) struct Shared {
    pub(crate) cache: embedded::Cache,
    /// Bytes that views hold.
    pub(crate) lent: Arc<AtomicU64>,
}

/// See `python/forebay/_cache.py`, which people call.
#[pyclass(frozen, module = "forebay._forebay")]
pub(crate) struct Cache {
    shared: Own<RwLock<Option<Arc<Shared>>>>,
}

#[pymethods]
impl Cache {
    #[new]
    fn new(py: Python<'_>, args: Vec<OsString>, settings: Vec<(String, String)>) -> PyResult<Cache> {
        Cache::over(py, args, Source::Places(settings))
    }

    /// A cache over a file system of Python: see `_Target` of `python/forebay/fsspec.py`.
    #[staticmethod]
    fn of_filesystem(py: Python<'_>, args: Vec<OsString>, target: &Bound<'_, PyAny>) -> PyResult<Cache> {
        Cache::over(py, args, Source::Own(Arc::new(Target::new(target)?)))
    }

    fn describe(&self) -> PyResult<String> {
        Ok(self.shared()?.cache.describe())
    }

    /// The whole of it, or a part: `length` bytes from `offset`, fewer at the end of the file.
    #[pyo3(signature = (path, offset = 0, length = None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        offset: u64,
        length: Option<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut read = self.read_ranges(py, vec![(path, offset, length)])?;
        read.pop().ok_or_else(|| PyValueError::new_err("nothing was read"))
    }

    /// Many ranges at once, each as (path, offset, length).
    fn read_ranges<'py>(
        &self,
        py: Python<'py>,
        ranges: Vec<(PathBuf, u64, Option<u64>)>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let shared = self.shared()?;
        for look in 1.. {
            let held = &shared;
            let opened = &ranges;
            let files = py.detach(move || open_all(held, opened)).map_err(of_source)?;
            let readings =
                files.into_iter().zip(&ranges).map(|(file, &(_, offset, length))| Reading { file, offset, length });
            match read_parts(py, readings.collect(), shared.cache.memory()) {
                Err(error) if look < LOOKS && is_stale(py, &error) => {
                    ranges.iter().for_each(|(path, ..)| shared.cache.renew(path));
                }
                outcome => return outcome,
            }
        }
        Ok(Vec::new())
    }

    fn open(&self, py: Python<'_>, path: PathBuf) -> PyResult<File> {
        let shared = self.shared()?;
        let (held, wanted) = (&shared, &path);
        let opened = py.detach(move || held.cache.file(wanted)).map_err(of_source)?;
        Ok(File::new(&shared, opened))
    }

    fn info<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
        let shared = self.shared()?;
        let (held, wanted) = (&shared, &path);
        let attributes = py.detach(move || held.cache.attributes(wanted)).map_err(of_source)?;
        describe(py, path.as_os_str(), attributes.as_ref())
    }

    fn list<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let shared = self.shared()?;
        let (held, wanted) = (&shared, &path);
        let entries = py.detach(move || held.cache.list(wanted)).map_err(of_source)?;
        let one = |Entry { name, attributes }: &Entry| describe(py, name, attributes.as_ref());
        entries.iter().map(one).collect()
    }

    fn refresh(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let shared = self.shared()?;
        py.detach(move || shared.cache.forget(&path)).map_err(of_source)
    }

    /// `wants` are (path, start, end). `before` are the names that the same call has told already.
    fn hint(
        &self,
        py: Python<'_>,
        list: &str,
        mode: &str,
        wants: Vec<(PathBuf, u64, Option<u64>)>,
        before: u64,
    ) -> PyResult<()> {
        let mode: Mode = mode.parse().map_err(|error: UnknownMode| PyValueError::new_err(error.to_string()))?;
        let names: PyResult<Vec<Named>> =
            wants.into_iter().map(|(path, start, end)| named(&path, start, end)).collect();
        let (shared, names) = (self.shared()?, names?);
        let told = py.detach(move || shared.cache.hint(list, mode, names));
        told.map(drop).map_err(|error| match error {
            TellError::Name => PyValueError::new_err(error.to_string()),
            TellError::Full { taken, bytes, most } => {
                PyOSError::new_err(TellError::Full { taken: before + taken, bytes, most }.to_string())
            }
            error => PyOSError::new_err(error.to_string()),
        })
    }

    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        let shared = self.shared()?;
        Ok(py.detach(move || shared.cache.stats()))
    }

    fn hints(&self, py: Python<'_>) -> PyResult<String> {
        let shared = self.shared()?;
        Ok(py.detach(move || shared.cache.hints()))
    }

    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        let shared = self.shared()?;
        Ok(py.detach(move || shared.cache.explain()))
    }

    #[getter]
    fn closed(&self) -> PyResult<bool> {
        Ok(self.shared.get()?.read().is_none())
    }

    /// Closes it: files of it cannot be read any more. Memory is given back with the last view.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let shared = self.shared.get()?.write().take();
        py.detach(move || drop(shared));
        Ok(())
    }
}

impl Cache {
    pub(crate) fn over(py: Python<'_>, args: Vec<OsString>, source: Source) -> PyResult<Cache> {
        journal::start();
        let cache = py.detach(move || embedded::Cache::open(&args, source)).map_err(of_refusal)?;
        let shared = Arc::new(Shared { cache, lent: Arc::default() });
        Ok(Cache { shared: Own::new(RwLock::new(Some(shared))) })
    }

    fn shared(&self) -> PyResult<Arc<Shared>> {
        self.shared.get()?.read().clone().ok_or_else(closed)
    }
}

/// A cache that nobody closed ends without Python's lock, since threads that it waits for may need
/// that.
impl Drop for Cache {
    fn drop(&mut self) {
        let Some(shared) = self.shared.get().ok().and_then(|shared| shared.write().take()) else { return };
        let mut left = Some(shared);
        Python::try_attach(|py| {
            let shared = left.take();
            py.detach(move || drop(shared));
        });
        // Python is ending, and so is this process.
        std::mem::forget(left);
    }
}

/// The range of a hint.
fn named(path: &Path, start: u64, end: Option<u64>) -> PyResult<Named> {
    told::named(path, Some(start).filter(|&start| start > 0), end)
        .map_err(|error: BadLine| PyValueError::new_err(format!("a hint {error}")))
}

/// The exception of a closed cache.
pub(crate) fn closed() -> PyErr {
    PyValueError::new_err("the cache is closed: open another one")
}

fn open_all(shared: &Shared, ranges: &[(PathBuf, u64, Option<u64>)]) -> Result<Vec<Arc<Opened>>> {
    ranges.iter().map(|(path, ..)| shared.cache.file(path)).collect()
}

fn is_stale(py: Python<'_>, error: &PyErr) -> bool {
    let errno = error.value(py).getattr("errno").and_then(|errno| errno.extract::<i32>());
    errno.is_ok_and(|errno| errno == libc::ESTALE)
}

/// A name as fsspec describes it.
fn describe<'py>(py: Python<'py>, name: &OsStr, attributes: Option<&Attributes>) -> PyResult<Bound<'py, PyDict>> {
    let info = PyDict::new(py);
    info.set_item("name", name)?;
    info.set_item("type", if attributes.is_some() { "file" } else { "directory" })?;
    info.set_item("size", attributes.map_or(0, |attributes| attributes.size))?;
    if let Some(attributes) = attributes {
        info.set_item("mtime", seconds(attributes.modified))?;
        info.set_item("version", attributes.version().to_string())?;
    }
    Ok(info)
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

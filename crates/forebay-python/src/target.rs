//! A file system of Python as a source: names by `info` and `ls`, bytes by `cat_file`.
//!
//! Python is only called on threads of the source's own, so nothing else waits for its lock. The
//! version of a file is what `info` tells: size, time, tag. It is asked again after each fetch,
//! since `cat_file` does not say of which version its bytes are.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forebay_core::DeviceCost;
use forebay_source::identity::inode_number;
use forebay_source::{
    Attributes, Entry, Error, Fetch, Identity, Kind, Listed, Listing, Name, Object, Result, Source, Then, Version,
    waited,
};
use parking_lot::Mutex;
use pyo3::exceptions::{PyFileNotFoundError, PyIsADirectoryError, PyNotADirectoryError, PyOSError, PyPermissionError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::ending;

/// Threads that call Python: as many requests can be under way.
const THREADS: usize = 16;

/// Work that calls the file system; without it if Python is ending.
type Job = Box<dyn FnOnce(Option<&Bound<'_, PyAny>>) + Send>;

/// The source.
pub(crate) struct Target(Arc<Asked>);

/// The threads, and what tells files of this source from others.
struct Asked {
    jobs: Sender<Job>,
    address: Arc<str>,
}

impl Target {
    /// A source of `target`, an object as `_Target` of `python/forebay/fsspec.py`.
    pub(crate) fn new(target: &Bound<'_, PyAny>) -> PyResult<Target> {
        let address: Arc<str> = target.getattr("name")?.extract::<String>()?.into();
        let (jobs, taken) = channel();
        let taken = Arc::new(Mutex::new(taken));
        for _ in 0..THREADS {
            let (taken, target) = (Arc::clone(&taken), target.clone().unbind());
            std::thread::Builder::new().name("forebay-target".into()).spawn(move || work(&taken, &target))?;
        }
        Ok(Target(Arc::new(Asked { jobs, address })))
    }
}

/// Does jobs until the source is gone.
fn work(taken: &Mutex<Receiver<Job>>, target: &Py<PyAny>) {
    loop {
        // The lock is let go before the job is done.
        let job = taken.lock().recv();
        let Ok(job) = job else { return };
        let mut job = Some(job);
        ending::call(|py| job.take().map(|job| job(Some(target.bind(py)))));
        if let Some(job) = job {
            job(None);
        }
    }
}

/// The error of work that came too late.
fn ending(name: &Path) -> Error {
    Error::Refused { name: name.display().to_string(), errno: libc::ESHUTDOWN }
}

impl Asked {
    /// Asks Python on a thread of ours; `then` is called there without Python's lock.
    fn ask<T: Send + 'static>(
        &self,
        name: &Path,
        question: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T> + Send + 'static,
        then: Then<T>,
    ) {
        let name = name.to_owned();
        let job: Job = Box::new(move |target| {
            let Some(target) = target else { return then(Err(ending(&name))) };
            let py = target.py();
            let answer = question(target).map_err(|error| failure(py, &error, name.display().to_string()));
            py.detach(move || then(answer));
        });
        // The threads live as long as the sender, so it is taken.
        let _ = self.jobs.send(job);
    }

    fn identity(&self, path: &Path, facts: &Facts) -> Identity {
        let modified = (facts.modified * 1e9) as i128;
        let tag = (!facts.tag.is_empty()).then(|| facts.tag.as_str().into());
        let version = Version { size: facts.size, modified, changed: 0, tag };
        Identity { name: Name::path(&self.address, path), version }
    }

    fn attributes(&self, path: &Path, facts: &Facts) -> Attributes {
        let time = UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(facts.modified).unwrap_or_default());
        let time = time.unwrap_or(SystemTime::UNIX_EPOCH);
        let kind = if facts.folder { Kind::Folder } else { Kind::File };
        Attributes::plain(kind, time, self.identity(path, facts))
    }
}

/// The facts that `info` tells of a name.
struct Facts {
    folder: bool,
    size: u64,
    /// Seconds since the epoch.
    modified: f64,
    tag: String,
}

fn facts(target: &Bound<'_, PyAny>, path: &Path) -> PyResult<Facts> {
    let (folder, size, modified, tag) = target.call_method1("info", (path.as_os_str(),))?.extract()?;
    Ok(Facts { folder, size, modified, tag })
}

/// An exception as an error of a source.
fn failure(py: Python<'_>, error: &PyErr, name: String) -> Error {
    let refused = |errno| Error::Refused { name: name.clone(), errno };
    if error.is_instance_of::<PyFileNotFoundError>(py) {
        Error::NotFound(name)
    } else if error.is_instance_of::<PyPermissionError>(py) {
        Error::Denied(name)
    } else if error.is_instance_of::<PyIsADirectoryError>(py) {
        refused(libc::EISDIR)
    } else if error.is_instance_of::<PyNotADirectoryError>(py) {
        refused(libc::ENOTDIR)
    } else {
        Error::Storage { name, reason: error.to_string() }
    }
}

impl Source for Target {
    fn describe(&self) -> String {
        self.0.address.to_string()
    }

    fn address(&self) -> &Arc<str> {
        &self.0.address
    }

    fn stat_then(&self, path: &Path, then: Then<Attributes>) {
        let (asked, wanted) = (Arc::clone(&self.0), path.to_owned());
        let name = path.to_owned();
        let answer = move |found: Result<Facts>| then(found.map(|facts| asked.attributes(&name, &facts)));
        self.0.ask(path, move |target| facts(target, &wanted), Box::new(answer));
    }

    fn list_then(&self, path: &Path, then: Then<Listing>) {
        let (asked, folder) = (Arc::clone(&self.0), path.to_owned());
        let wanted = path.to_owned();
        let question = move |target: &Bound<'_, PyAny>| -> PyResult<Vec<(OsString, bool)>> {
            target.call_method1("list", (wanted.as_os_str(),))?.extract()
        };
        let entry = move |(name, is_folder): (OsString, bool)| {
            let inode = inode_number(&asked.address, &folder.join(&name));
            Entry { kind: if is_folder { Kind::Folder } else { Kind::File }, name, inode, facts: None }
        };
        let answer = move |names: Result<Vec<_>>| then(names.map(|names| names.into_iter().map(entry).collect()));
        self.0.ask(path, question, Box::new(answer));
    }

    fn open_then(&self, path: &Path, then: Then<Arc<dyn Object>>) {
        let asked = Arc::clone(&self.0);
        let opened = move |found: Result<Attributes>| {
            then(found.and_then(|found| {
                if found.kind == Kind::Folder {
                    let name = found.identity.name.to_string();
                    return Err(Error::Refused { name, errno: libc::EISDIR });
                }
                Ok(Arc::new(Pinned { asked, identity: found.identity }) as Arc<dyn Object>)
            }));
        };
        self.stat_then(path, Box::new(opened));
    }

    fn listed(&self, _folder: &Path, _listed: &Listed<'_>) -> Result<Option<Attributes>> {
        Ok(None)
    }

    fn forget_names(&self, path: &Path) {
        let wanted = path.to_owned();
        let question = move |target: &Bound<'_, PyAny>| target.call_method1("forget", (wanted.as_os_str(),)).map(drop);
        // A file system that cannot forget is asked as it is.
        let _ = waited(|then| self.0.ask(path, question, then));
    }

    /// Far away: 20 ms to the first byte, 50 MB/s on each thread.
    fn cost(&self) -> Option<DeviceCost> {
        Some(DeviceCost::flat(20_000_000, 50_000_000, THREADS as u32))
    }
}

/// One version of a file.
struct Pinned {
    asked: Arc<Asked>,
    identity: Identity,
}

impl Object for Pinned {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn fetch(&self, mut fetch: Fetch) {
        let Name::Path { path, .. } = &self.identity.name else {
            return fetch.finish(Err(Error::Stale(self.identity.name.to_string())));
        };
        let (asked, identity, path) = (Arc::clone(&self.asked), self.identity.clone(), Arc::clone(path));
        let job: Job = Box::new(move |target| {
            let Some(target) = target else { return fetch.finish(Err(ending(&path))) };
            let py = target.py();
            let outcome = fill(target, &path, &mut fetch)
                .and_then(|()| facts(target, &path))
                .map_err(|error| failure(py, &error, path.display().to_string()));
            let outcome = match outcome {
                Ok(facts) if asked.identity(&path, &facts) == identity => Ok(()),
                Ok(_) => Err(Error::Stale(path.display().to_string())),
                Err(error) => Err(error),
            };
            py.detach(move || fetch.finish(outcome));
        });
        let _ = self.asked.jobs.send(job);
    }
}

/// Reads what a fetch wants.
fn fill(target: &Bound<'_, PyAny>, path: &Path, fetch: &mut Fetch) -> PyResult<()> {
    let (start, end) = (fetch.offset, fetch.offset + fetch.len as u64);
    let read = target.call_method1("read", (path.as_os_str(), start, end))?;
    let bytes = read.cast::<PyBytes>()?.as_bytes();
    if bytes.len() != fetch.len {
        let words = format!("cat_file() gave {} bytes of {} from {start} to {end}", bytes.len(), path.display());
        return Err(PyOSError::new_err(words));
    }
    fetch.buffer.write(0, bytes);
    Ok(())
}

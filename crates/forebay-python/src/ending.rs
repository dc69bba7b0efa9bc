//! Threads of ours that call Python, and the end of Python.
//!
//! Once Python ends, it kills every thread that asks for its lock, in the middle of our frames,
//! which ends the process by an abort. So all calls go through [`call`], and before Python ends
//! ([`end`], by `atexit`) those under way are waited for, and none is begun.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How long the end waits for calls, at most.
const PATIENCE: Duration = Duration::from_secs(10);

static CALLS: AtomicUsize = AtomicUsize::new(0);
static ENDING: AtomicBool = AtomicBool::new(false);
/// The process whose calls are counted: a forked child has a copy of the count, and no call.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// A call under way.
struct Call;

impl Drop for Call {
    fn drop(&mut self) {
        CALLS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Calls Python from a thread of ours; `None` if Python is ending.
pub(crate) fn call<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    if PROCESS.swap(std::process::id(), Ordering::SeqCst) != std::process::id() {
        CALLS.store(0, Ordering::SeqCst);
    }
    CALLS.fetch_add(1, Ordering::SeqCst);
    let _call = Call;
    // After the call is counted: either it sees that Python is ending, or the end sees it.
    if ENDING.load(Ordering::SeqCst) { None } else { Python::try_attach(work) }
}

/// Python ends soon: waits for calls, and lets none begin.
#[pyfunction]
pub(crate) fn end(py: Python<'_>) {
    if PROCESS.load(Ordering::SeqCst) != std::process::id() {
        return;
    }
    ENDING.store(true, Ordering::SeqCst);
    py.detach(|| {
        let began = Instant::now();
        while CALLS.load(Ordering::SeqCst) > 0 && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}

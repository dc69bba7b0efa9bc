//! Simulations: the records of `forebay sim` as JSON, which `json.loads` makes rows of.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

use forebay_cli::embedded::{self, MemoryTrace, OwnRefusal, Policy, Refusal};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::{Map, Value};

use crate::failure::of_refusal;
use crate::guest::OwnPolicy;
use crate::traces::Trace;
use crate::wait::wait;

/// Runs `forebay sim` with these arguments; returns its records as JSON.
#[pyfunction]
#[pyo3(signature = (args, trace = None))]
pub(crate) fn simulate(py: Python<'_>, args: Vec<OsString>, trace: Option<&Trace>) -> PyResult<String> {
    let given = trace.map(Trace::given);
    stoppable(py, move |stop| embedded::simulate(&args, given, stop))?.map_err(of_refusal).and_then(json)
}

/// The same for a policy of one's own: `make(blocks)` makes it.
#[pyfunction]
#[pyo3(signature = (args, trace, name, make))]
pub(crate) fn simulate_own(
    args: Vec<OsString>,
    trace: Option<&Trace>,
    name: &str,
    make: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let given: Option<MemoryTrace> = trace.map(Trace::given);
    let mut make = |blocks: u64| make.call1((blocks,)).map(OwnPolicy);
    let mut policy = Policy { name, make: &mut make };
    // The policy holds Python's lock nearly all the time, and Python itself takes Ctrl-C there.
    match embedded::simulate_guest(&args, given, &mut policy, &Arc::default()) {
        Ok(records) => json(records),
        Err(OwnRefusal::Policy(error)) => Err(error),
        Err(OwnRefusal::Refusal(refusal)) => Err(of_refusal(refusal)),
    }
}

fn json(records: Vec<Map<String, Value>>) -> PyResult<String> {
    serde_json::to_string(&records).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Runs `work` on a thread of its own without Python's lock, and ends it on Ctrl-C.
fn stoppable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Arc<AtomicBool>) -> Result<T, Refusal> + Send + 'static,
) -> PyResult<Result<T, Refusal>> {
    let stop = Arc::new(AtomicBool::new(false));
    let (send, mut receive) = sync_channel(1);
    let told = Arc::clone(&stop);
    let thread = std::thread::Builder::new().name("forebay-sim".into()).spawn(move || {
        let _ = send.send(work(&told));
    })?;
    let outcome = wait(py, &mut receive, || {
        stop.store(true, Ordering::Relaxed);
        true
    });
    // It has sent its result, or panicked.
    let ended = py.detach(|| thread.join());
    match (outcome?, ended) {
        (Some(outcome), Ok(())) => Ok(outcome),
        _ => Err(PyRuntimeError::new_err(
            "the simulation ended in a defect of Forebay; its message is on standard error",
        )),
    }
}

//! Waiting without Python's lock, so that other threads go on and Ctrl-C is heard.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use pyo3::prelude::*;

/// How often a wait looks whether a signal came.
const LOOK: Duration = Duration::from_millis(50);

/// Waits for an answer; `None` if it will never come. If a signal's handler raises (Ctrl-C),
/// `raised` decides: `true` waits on for the answer, `false` gives up with the exception.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    answer: &mut Receiver<T>,
    mut raised: impl FnMut() -> bool,
) -> PyResult<Option<T>> {
    let mut signal = None;
    loop {
        let waits = &mut *answer;
        let told = py.detach(move || waits.recv_timeout(LOOK));
        match (told, signal) {
            (Err(RecvTimeoutError::Timeout), None) => {
                signal = match py.check_signals() {
                    Err(error) if !raised() => return Err(error),
                    checked => checked.err(),
                };
            }
            (Err(RecvTimeoutError::Timeout), waiting) => signal = waiting,
            (_, Some(signal)) => return Err(signal),
            (Ok(told), None) => return Ok(Some(told)),
            (Err(RecvTimeoutError::Disconnected), None) => return Ok(None),
        }
    }
}

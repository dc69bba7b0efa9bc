//! Standard output.

use std::io::{ErrorKind, Write};

use forebay_source::printable;
use serde::Serialize;

use crate::failure::Failure;

/// Prints a text. A closed pipe is no failure: a reader such as `head` has read enough.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::run(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Says on standard error why the command takes long.
pub(crate) fn tell(line: &str) {
    // If standard error is closed, there is no reader left to tell.
    let _ = writeln!(std::io::stderr(), "forebay: {}", printable(line));
}

/// Prints a value as JSON, on one line.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::run(format!("cannot write JSON: {error}")))?;
    print(&format!("{text}\n"))
}

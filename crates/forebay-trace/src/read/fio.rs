//! The logs of `fio` with `write_iolog`, versions 2 and 3. A first line names the version; then a
//! line is an action on a file, in version 3 with a time in microseconds before it:
//!
//! ```text
//!   [µs] name add|open|close
//!   [µs] name read|write|trim|sync|datasync offset length
//!        name wait µs 0                                        version 2 only; relative to the wait before
//! ```

use crate::read::clock::Clock;
use crate::read::left_out::LeftOut;
use crate::read::names::Names;
use crate::read::text::{Fields, Line, number, quoted};
use crate::{FileInfo, Operation, Reading, Request, Shape};

pub(crate) struct Fio {
    /// Not known before the first line.
    version: Option<u8>,
    clock: Clock,
    /// Of version 2: microseconds waited so far.
    waited: u64,
    files: Names,
    left_out: LeftOut,
}

impl Default for Fio {
    fn default() -> Fio {
        Fio { version: None, clock: Clock::new(1000), waited: 0, files: Names::default(), left_out: LeftOut::default() }
    }
}

/// The version that a first line names.
pub(crate) fn version(line: &[u8]) -> Option<u64> {
    number(line.strip_prefix(b"fio version ")?.strip_suffix(b" iolog")?)
}

impl Fio {
    fn begin(&mut self, line: &[u8]) -> Result<(), String> {
        self.version = match version(line) {
            Some(version @ 2..=3) => Some(version as u8),
            Some(version) => return Err(format!("version {version} of fio's log is not known, only 2 and 3")),
            None => return Err(format!("{} is not `fio version 3 iolog`", quoted(line))),
        };
        // Times of version 2 count from the beginning, not from the first request.
        self.clock.at(0);
        Ok(())
    }

    fn action(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        let mut fields = Fields::of(line);
        let wrong = |what: &str, text: &[u8]| format!("{} is no {what}", quoted(text));
        let mut time = self.waited;
        if self.version == Some(3) {
            let text = fields.next().unwrap_or_default();
            time = number(text).ok_or_else(|| wrong("time", text))?;
        }
        let (name, action) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let (start, bytes, more) = (fields.next(), fields.next(), fields.next());
        let operation = match (action, start.is_some()) {
            (b"add" | b"open" | b"close", false) => return Ok(None),
            (b"trim" | b"sync" | b"datasync", true) => {
                self.left_out.add("action", action);
                return Ok(None);
            }
            (b"read", true) => Some(Operation::Read),
            (b"write", true) => Some(Operation::Write),
            (b"wait", true) if self.version == Some(2) => None,
            _ => return Err(format!("{} is no action of fio", quoted(line))),
        };
        let (start, bytes) = (start.unwrap_or_default(), bytes.unwrap_or_default());
        let offset = number(start).ok_or_else(|| wrong("offset", start))?;
        let len = number(bytes).and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| wrong("length", bytes))?;
        if let Some(more) = more {
            return Err(wrong("part of a line of fio", more));
        }
        let Some(operation) = operation else {
            self.waited = self.waited.saturating_add(offset);
            return Ok(None);
        };
        let (file, at) = (self.files.number(name), self.clock.at(time));
        Ok(self.left_out.unless_empty(Request { at, file, offset, len, operation, ..Request::default() }))
    }
}

impl Line for Fio {
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        let line = line.trim_ascii();
        match self.version {
            _ if line.is_empty() => Ok(None),
            None => self.begin(line).map(|()| None),
            Some(_) => self.action(line),
        }
    }

    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: 4096 }
    }

    fn reading(&self) -> Reading {
        Reading { left_out: self.left_out.all(), ..Reading::default() }
    }

    fn files(&self) -> Vec<FileInfo> {
        self.files.files(0)
    }
}

//! The output of `blkparse` without `-f`: device, processor, number, seconds, process, action,
//! kind, sector `+` sectors, name.
//!
//! ```text
//!   8,0    3       11     0.009507758   697  Q   W 223490 + 8 [kjournald]
//! ```
//!
//! One action is the request ([`Options::action`](crate::Options::action)). A kind with `R` reads,
//! one with `W` writes. Discards, flushes and notes move no data. They are left out, as are other
//! actions; the summary at the end is skipped. The process is the handler.

use crate::read::clock::Clock;
use crate::read::left_out::LeftOut;
use crate::read::names::Names;
use crate::read::text::{Fields, Line, number, quoted, seconds};
use crate::{FileInfo, Operation, Reading, Request, Shape};

const SECTOR: u32 = 512;

pub(crate) struct Blkparse {
    action: u8,
    clock: Clock,
    devices: Names,
    summary: bool,
    left_out: LeftOut,
}

impl Blkparse {
    /// A decoder that counts this action.
    pub(crate) fn new(action: u8) -> Blkparse {
        Blkparse {
            action,
            clock: Clock::new(1),
            devices: Names::default(),
            summary: false,
            left_out: LeftOut::default(),
        }
    }

    fn request(&mut self, line: &[u8]) -> Option<Result<Request, String>> {
        let mut fields = Fields::of(line);
        let mut field = || fields.next().unwrap_or_default();
        let (device, _processor, _number, time, process) = (field(), field(), field(), field(), field());
        let (action, kind) = (field(), field());
        if kind.is_empty() || !is_device(device) {
            return Some(Err(format!("{} is no line of blkparse", quoted(line))));
        }
        if action != [self.action] {
            self.left_out.add("action", action);
            return None;
        }
        let operation = match () {
            () if kind.contains(&b'D') => None,
            () if kind.contains(&b'R') => Some(Operation::Read),
            () if kind.contains(&b'W') => Some(Operation::Write),
            () => None,
        };
        let Some(operation) = operation else {
            self.left_out.add("kind", kind);
            return None;
        };
        let wrong = |what: &str, text: &[u8]| Some(Err(format!("{} is no {what}", quoted(text))));
        let Some(nanos) = seconds(time) else { return wrong("time", time) };
        let Some(handler) = number(process).and_then(|process| process.try_into().ok()) else {
            return wrong("process", process);
        };
        let (sector, plus, sectors) = (field(), field(), field());
        // An empty flush has a kind that writes, and neither sector nor length.
        if plus != b"+" && kind.contains(&b'F') {
            self.left_out.add("kind", kind);
            return None;
        }
        let offset = number(sector).and_then(|sector| sector.checked_mul(SECTOR.into()));
        let Some(offset) = offset.filter(|_| plus == b"+") else { return wrong("sector", sector) };
        let Some(len) = number(sectors).and_then(|sectors| u32::try_from(sectors).ok()?.checked_mul(SECTOR)) else {
            return wrong("number of sectors", sectors);
        };
        let (file, at) = (self.devices.number(device), self.clock.at(nanos));
        self.left_out.unless_empty(Request { at, file, offset, len, handler, operation, context: 0 }).map(Ok)
    }
}

/// Whether this is a device's number, as in `8,0`.
pub(crate) fn is_device(text: &[u8]) -> bool {
    let mut parts = text.split(|&byte| byte == b',').map(number);
    matches!((parts.next(), parts.next(), parts.next()), (Some(Some(_)), Some(Some(_)), None))
}

/// Whether the summary begins here: `CPU0 (8,0):`, or `Total (8,0):` of a single processor.
fn is_summary(line: &[u8]) -> bool {
    (line.starts_with(b"CPU") || line.starts_with(b"Total (")) && line.ends_with(b"):")
}

impl Line for Blkparse {
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        let line = line.trim_ascii();
        self.summary |= is_summary(line);
        if self.summary || line.is_empty() || line.starts_with(b"Input file ") {
            return Ok(None);
        }
        self.request(line).transpose()
    }

    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: 4096 }
    }

    fn files(&self) -> Vec<FileInfo> {
        self.devices.files(0)
    }

    fn reading(&self) -> Reading {
        Reading { left_out: self.left_out.all(), ..Reading::default() }
    }
}

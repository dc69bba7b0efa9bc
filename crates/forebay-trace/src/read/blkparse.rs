//! The output of `blkparse` without `-f`: device, processor, number, seconds, process, action,
//! kind, sector `+` sectors, name.
//!
//! ```text
//!   8,0    3       11     0.009507758   697  Q   W 223490 + 8 [kjournald]
//! ```
//!
//! One action is the request ([`Options::action`](crate::Options::action)). A kind with `R` reads,
//! one with `W` writes. Discards and flushes move no data and are skipped, as are notes and the
//! summary at the end. The process is the handler.

use crate::read::clock::Clock;
use crate::read::names::Names;
use crate::read::text::{Fields, Line, number, quoted, seconds};
use crate::{FileInfo, Operation, Request, Shape};

const SECTOR: u32 = 512;

pub(crate) struct Blkparse {
    action: u8,
    clock: Clock,
    devices: Names,
    summary: bool,
}

impl Blkparse {
    /// A decoder that counts this action.
    pub(crate) fn new(action: u8) -> Blkparse {
        Blkparse { action, clock: Clock::new(1), devices: Names::default(), summary: false }
    }

    fn request(&mut self, line: &[u8]) -> Option<Result<Request, String>> {
        let mut fields = Fields::of(line);
        let mut field = || fields.next().unwrap_or_default();
        let (device, _processor, _number, time, process) = (field(), field(), field(), field(), field());
        let (action, kind) = (field(), field());
        if kind.is_empty() || !is_device(device) {
            return Some(Err(format!("{} is no line of blkparse", quoted(line))));
        }
        let discards = kind.contains(&b'D');
        let operation = match () {
            () if action != [self.action] || discards => return None,
            () if kind.contains(&b'R') => Operation::Read,
            () if kind.contains(&b'W') => Operation::Write,
            () => return None,
        };
        let wrong = |what: &str, text: &[u8]| Some(Err(format!("{} is no {what}", quoted(text))));
        let Some(nanos) = seconds(time) else { return wrong("time", time) };
        let Some(handler) = number(process).and_then(|process| process.try_into().ok()) else {
            return wrong("process", process);
        };
        let (sector, plus, sectors) = (field(), field(), field());
        // An empty flush has a kind that writes, and neither sector nor length.
        if plus != b"+" && kind.contains(&b'F') {
            return None;
        }
        let offset = number(sector).and_then(|sector| sector.checked_mul(SECTOR.into()));
        let Some(offset) = offset.filter(|_| plus == b"+") else { return wrong("sector", sector) };
        let Some(len) = number(sectors).and_then(|sectors| u32::try_from(sectors).ok()?.checked_mul(SECTOR)) else {
            return wrong("number of sectors", sectors);
        };
        if len == 0 {
            return None;
        }
        let (file, at) = (self.devices.number(device), self.clock.at(nanos));
        Some(Ok(Request { at, file, offset, len, handler, operation, context: 0 }))
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
}

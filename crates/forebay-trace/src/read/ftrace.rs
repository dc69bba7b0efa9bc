//! The kernel's event `block_rq_issue`, as `trace_pipe`, `trace-cmd report` or `perf script` print
//! it: the requests that devices get, after merging.
//!
//! ```text
//!   dd-1234    [001] d..1.  1234.567890: block_rq_issue: 8,0 R 4096 () 2048 + 8 [dd]
//!   dd  1234 [001]  1234.567890: block:block_rq_issue: 8,0 R 4096 () 2048 + 8 none,0,0 [dd]
//! ```
//!
//! Other events are left out. The process is the handler.

use crate::read::blkparse::is_device;
use crate::read::clock::Clock;
use crate::read::left_out::LeftOut;
use crate::read::names::Names;
use crate::read::text::{Fields, Line, number, quoted, seconds};
use crate::{FileInfo, Operation, Reading, Request, Shape};

const SECTOR: u32 = 512;
const EVENT: &[u8] = b"block_rq_issue:";

pub(crate) struct Ftrace {
    clock: Clock,
    devices: Names,
    left_out: LeftOut,
}

impl Default for Ftrace {
    fn default() -> Ftrace {
        Ftrace { clock: Clock::new(1), devices: Names::default(), left_out: LeftOut::default() }
    }
}

/// The part of a line before the event.
struct Head {
    nanos: u64,
    process: u32,
}

impl Head {
    fn of(text: &[u8]) -> Option<Head> {
        // `comm-pid [cpu] flags time: ` or `comm pid [cpu] time: `.
        let cpu = memchr::memmem::rfind(text, b" [")?;
        let process = text[..cpu].trim_ascii_end();
        let from = process.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
        let time = Fields::of(&text[cpu..]).filter_map(|field| field.strip_suffix(b":")).last()?;
        Some(Head { nanos: seconds(time)?, process: number(&process[from..])?.try_into().ok()? })
    }
}

impl Ftrace {
    fn request(&mut self, head: &[u8], event: &[u8]) -> Result<Option<Request>, String> {
        let wrong = |what: &str, text: &[u8]| format!("{} is no {what}", quoted(text));
        let Head { nanos, process } = Head::of(head).ok_or_else(|| wrong("process with a time", head))?;
        let mut fields = Fields::of(event);
        let (device, kind) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        if !is_device(device) {
            return Err(wrong("device, as in 8,0", device));
        }
        // Between the kind and the sector: bytes and, in brackets, the command of a packet.
        let mut before: &[u8] = b"";
        let sector = loop {
            match fields.next() {
                Some(b"+") => break before,
                Some(field) => before = field,
                None => return Err(format!("{} has no sector + sectors", quoted(event))),
            }
        };
        let count = fields.next().unwrap_or_default();
        let offset = number(sector).and_then(|sector| sector.checked_mul(SECTOR.into()));
        let len = number(count).and_then(|sectors| u32::try_from(sectors).ok()?.checked_mul(SECTOR));
        let operation = match kind {
            _ if kind.contains(&b'D') => None,
            _ if kind.contains(&b'R') => Some(Operation::Read),
            _ if kind.contains(&b'W') => Some(Operation::Write),
            _ => None,
        };
        let len = len.ok_or_else(|| wrong("number of sectors", count))?;
        let Some(operation) = operation else {
            self.left_out.add("kind", kind);
            return Ok(None);
        };
        let offset = offset.ok_or_else(|| wrong("sector", sector))?;
        let (file, at) = (self.devices.number(device), self.clock.at(nanos));
        Ok(self.left_out.unless_empty(Request { at, file, offset, len, handler: process, operation, context: 0 }))
    }
}

impl Line for Ftrace {
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        let line = line.trim_ascii();
        // Notes of ftrace, and of trace-cmd: `cpus=8`, `version = 7`.
        if line.is_empty() || line.starts_with(b"#") || line.starts_with(b"cpus=") || line.starts_with(b"version") {
            return Ok(None);
        }
        if let Some(at) = memchr::memmem::find(line, EVENT) {
            let head = line[..at].strip_suffix(b"block:").unwrap_or(&line[..at]);
            return self.request(head.trim_ascii_end(), &line[at + EVENT.len()..]);
        }
        // Of a processor that did nothing, or more than was kept.
        let notes: [&[u8]; 3] = [b" is empty", b"EVENTS DROPPED]", b" EVENTS]"];
        if line.starts_with(b"CPU") && notes.iter().any(|note| line.ends_with(note)) {
            return Ok(None);
        }
        let event = Fields::of(line)
            .filter_map(|field| field.strip_suffix(b":"))
            .find(|field| field.first().is_some_and(u8::is_ascii_alphabetic));
        let event = event.ok_or_else(|| format!("{} is no event of the kernel", quoted(line)))?;
        self.left_out.add("event", event);
        Ok(None)
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

//! The output of BCC's `biosnoop`: seconds, command, process, disk, kind, sector, bytes, and times.
//!
//! ```text
//!   TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)
//!   0.000004    supervise      1950    xvda1     W 13092560   4096      0.74
//! ```
//!
//! A command may have blanks in its name, so fields are counted from the end of the line; the
//! header says how many there are. Without a header there is one time. The process is the handler.

use crate::read::clock::Clock;
use crate::read::left_out::LeftOut;
use crate::read::names::Names;
use crate::read::text::{Fields, Line, number, quoted, seconds};
use crate::{FileInfo, Operation, Reading, Request, Shape};

const SECTOR: u64 = 512;

pub(crate) struct Biosnoop {
    clock: Clock,
    disks: Names,
    /// Fields behind the number of bytes.
    times: usize,
    left_out: LeftOut,
}

impl Default for Biosnoop {
    fn default() -> Biosnoop {
        Biosnoop { clock: Clock::new(1), disks: Names::default(), times: 1, left_out: LeftOut::default() }
    }
}

impl Biosnoop {
    fn request(&mut self, fields: &[&[u8]]) -> Result<Option<Request>, String> {
        let behind = self.times + 6;
        let Some(first) = fields.len().checked_sub(behind).filter(|&first| first >= 1) else {
            return Err(format!("it has {} fields, not {} or more", fields.len(), behind + 1));
        };
        let [process, disk, kind, sector, bytes, ..] = fields[first + 1..] else {
            return Err("it has too few fields".to_owned());
        };
        let wrong = |what: &str, text: &[u8]| format!("{} is no {what}", quoted(text));
        let nanos = seconds(fields[0]).ok_or_else(|| wrong("time", fields[0]))?;
        let handler = number(process).and_then(|process| process.try_into().ok());
        let handler = handler.ok_or_else(|| wrong("process", process))?;
        let operation = match kind {
            _ if kind.contains(&b'D') => None,
            _ if kind.contains(&b'R') => Some(Operation::Read),
            _ if kind.contains(&b'W') => Some(Operation::Write),
            _ => None,
        };
        let len: u32 =
            number(bytes).and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| wrong("number of bytes", bytes))?;
        let Some(operation) = operation else {
            self.left_out.add("kind", kind);
            return Ok(None);
        };
        let offset = number(sector).and_then(|sector| sector.checked_mul(SECTOR));
        let offset = offset.ok_or_else(|| wrong("sector", sector))?;
        let (file, at) = (self.disks.number(disk), self.clock.at(nanos));
        Ok(self.left_out.unless_empty(Request { at, file, offset, len, handler, operation, context: 0 }))
    }
}

impl Line for Biosnoop {
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        let fields: Vec<&[u8]> = Fields::of(line).collect();
        // Older ones say first that they are tracing, and how to end them.
        if fields.is_empty() || fields[0].starts_with(b"Tracing") {
            return Ok(None);
        }
        if fields[0].starts_with(b"TIME") {
            let bytes = fields.iter().position(|field| *field == b"BYTES");
            let bytes = bytes.ok_or("its header has no BYTES: sectors and lengths are not in it")?;
            self.times = fields.len() - bytes - 1;
            return Ok(None);
        }
        self.request(&fields)
    }

    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: 4096 }
    }

    fn files(&self) -> Vec<FileInfo> {
        self.disks.files(0)
    }

    fn reading(&self) -> Reading {
        Reading { left_out: self.left_out.all(), ..Reading::default() }
    }
}

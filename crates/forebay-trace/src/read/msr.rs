//! The traces of MSR Cambridge (Narayanan, Donnelly and Rowstron, FAST 2008): Windows file time
//! (100 ns), host, disk, type, offset, size, response time; offset and size in bytes.
//! `128166372003061629,hm,1,Read,383496192,32768,413`. A file is a disk of a host.

use crate::read::clock::Clock;
use crate::read::left_out::LeftOut;
use crate::read::names::Names;
use crate::read::text::{Line, number, quoted};
use crate::{FileInfo, Operation, Reading, Request, Shape};

pub(crate) struct Msr {
    clock: Clock,
    left_out: LeftOut,
    disks: Names,
    name: Vec<u8>,
}

impl Default for Msr {
    fn default() -> Msr {
        Msr { clock: Clock::new(100), left_out: LeftOut::default(), disks: Names::default(), name: Vec::new() }
    }
}

impl Line for Msr {
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        // Some copies begin with the names of the columns.
        if line.trim_ascii().is_empty() || line.starts_with(b"Timestamp,") {
            return Ok(None);
        }
        let mut fields = line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        let mut field = |what: &str| fields.next().ok_or_else(|| format!("it has no {what}"));
        let (time, host, disk) = (field("time")?, field("host")?, field("disk")?);
        let (operation, start, bytes) = (field("type")?, field("offset")?, field("size")?);
        let wrong = |what: &str, text: &[u8]| format!("{} is no {what}", quoted(text));
        let at = number(time).ok_or_else(|| wrong("file time", time))?;
        let offset = number(start).ok_or_else(|| wrong("offset", start))?;
        let len = number(bytes).and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| wrong("size", bytes))?;
        let operation = match operation {
            _ if operation.eq_ignore_ascii_case(b"read") => Operation::Read,
            _ if operation.eq_ignore_ascii_case(b"write") => Operation::Write,
            other => return Err(wrong("type, which is Read or Write", other)),
        };
        self.name.clear();
        self.name.extend_from_slice(host);
        self.name.push(b'.');
        self.name.extend_from_slice(disk);
        let (file, at) = (self.disks.number(&self.name), self.clock.at(at));
        Ok(self.left_out.unless_empty(Request { at, file, offset, len, operation, ..Request::default() }))
    }

    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: 4096 }
    }

    fn reading(&self) -> Reading {
        Reading { left_out: self.left_out.all(), ..Reading::default() }
    }

    fn files(&self) -> Vec<FileInfo> {
        self.disks.files(0)
    }
}

//! The Storage Performance Council's trace format: unit, block of 512 bytes, bytes, operation (r or
//! w), seconds; fields after these are ignored. `0,20941264,8192,W,0.551706`

use crate::read::clock::Clock;
use crate::read::left_out::LeftOut;
use crate::read::text::{Line, number, quoted, seconds};
use crate::{Operation, Reading, Request, Shape};

const SECTOR: u64 = 512;

pub(crate) struct Spc {
    clock: Clock,
    left_out: LeftOut,
}

impl Default for Spc {
    fn default() -> Spc {
        Spc { clock: Clock::new(1), left_out: LeftOut::default() }
    }
}

impl Line for Spc {
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let mut fields = line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        let mut field = |what: &str| fields.next().ok_or_else(|| format!("it has no {what}"));
        let (unit, block, bytes) = (field("unit")?, field("block")?, field("size")?);
        let (operation, time) = (field("operation")?, field("time")?);
        let wrong = |what: &str, text: &[u8]| format!("{} is no {what}", quoted(text));
        let file = number(unit).ok_or_else(|| wrong("unit", unit))?;
        let offset = number(block).and_then(|block| block.checked_mul(SECTOR)).ok_or_else(|| wrong("block", block))?;
        let len = number(bytes).and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| wrong("size", bytes))?;
        let operation = match operation {
            b"r" | b"R" => Operation::Read,
            b"w" | b"W" => Operation::Write,
            other => return Err(wrong("operation, which is R or W", other)),
        };
        let at = self.clock.at(seconds(time).ok_or_else(|| wrong("time", time))?);
        Ok(self.left_out.unless_empty(Request { at, file, offset, len, operation, ..Request::default() }))
    }

    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: 4096 }
    }

    fn reading(&self) -> Reading {
        Reading { left_out: self.left_out.all(), ..Reading::default() }
    }
}

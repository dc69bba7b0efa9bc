//! The text of the ARC traces (Megiddo and Modha, FAST 2003): start block, number of blocks of 512
//! bytes, an ignored number, the request's number.

use crate::read::left_out::LeftOut;
use crate::read::text::{Fields, Line, number, quoted};
use crate::{Reading, Request, Shape};

const SECTOR: u32 = 512;

#[derive(Default)]
pub(crate) struct Lis {
    left_out: LeftOut,
}

impl Line for Lis {
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        let mut fields = Fields::of(line);
        let Some(start) = fields.next() else { return Ok(None) };
        let (Some(blocks), Some(ignored), Some(request), None) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(format!("{} is not `start blocks ignored request`", quoted(line)));
        };
        let wrong = |what: &str, text: &[u8]| format!("{} is no {what}", quoted(text));
        let offset = number(start).and_then(|block| block.checked_mul(SECTOR.into()));
        let offset = offset.ok_or_else(|| wrong("start block", start))?;
        let len = number(blocks).and_then(|blocks| u32::try_from(blocks).ok()?.checked_mul(SECTOR));
        let len = len.ok_or_else(|| wrong("number of blocks", blocks))?;
        number(ignored).and(number(request)).ok_or_else(|| wrong("request's number", request))?;
        Ok(self.left_out.unless_empty(Request { offset, len, ..Request::default() }))
    }

    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: SECTOR }
    }

    fn reading(&self) -> Reading {
        Reading { left_out: self.left_out.all(), ..Reading::default() }
    }
}

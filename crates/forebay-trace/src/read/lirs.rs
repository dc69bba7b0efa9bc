//! The text of the LIRS traces (Jiang and Zhang, SIGMETRICS 2002): a block number a line; a line
//! with `*` marks an event and is skipped.

use crate::read::text::{Line, number, quoted};
use crate::{Request, Shape};

/// The traces were taken on systems with pages of 4 KiB.
pub(crate) const BLOCK_BYTES: u32 = 4096;

pub(crate) struct Lirs;

impl Line for Lirs {
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        let line = line.trim_ascii();
        match number(line).and_then(block) {
            Some(request) => Ok(Some(request)),
            None if line.is_empty() || line.contains(&b'*') => Ok(None),
            None => Err(format!("{} is no block number", quoted(line))),
        }
    }

    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }
}

/// One block, if there can be that many.
pub(crate) fn block(number: u64) -> Option<Request> {
    let offset =
        number.checked_mul(BLOCK_BYTES.into()).filter(|offset| offset.checked_add(BLOCK_BYTES.into()).is_some())?;
    Some(Request { offset, len: BLOCK_BYTES, ..Request::default() })
}

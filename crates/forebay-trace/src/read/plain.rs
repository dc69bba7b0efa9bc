//! Plain text: a key a line. A number is a block of 4 KiB, as in the LIRS traces; any other text is
//! the name of a file of one block, as is a number that no block can have or that begins with zero.

use crate::read::lirs::{BLOCK_BYTES, block};
use crate::read::names::Names;
use crate::read::text::{Line, own_number, quoted};
use crate::{FileInfo, Request, Shape};

#[derive(Default)]
pub(crate) struct Plain {
    names: Names,
}

impl Line for Plain {
    fn line(&mut self, line: &[u8]) -> Result<Option<Request>, String> {
        let line = line.trim_ascii();
        if let Some(request) = own_number(line).and_then(block) {
            return Ok(Some(request));
        }
        if line.is_empty() {
            return Ok(None);
        }
        if line.iter().any(u8::is_ascii_control) {
            return Err(format!("{} is no text", quoted(line)));
        }
        // File zero has the blocks that are numbers.
        Ok(Some(Request { file: self.names.number(line) + 1, len: BLOCK_BYTES, ..Request::default() }))
    }

    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        self.names.files(1)
    }
}

//! Plain text: the number of a block or an object a line.

use std::io::Write;

use super::{Blocks, Encode, Output, Refused};
use crate::{Request, Shape, Source};

pub(super) struct Plain {
    output: Output,
    blocks: Blocks,
}

impl Plain {
    pub(super) fn new(output: Output, shape: Shape) -> Plain {
        Plain { output, blocks: Blocks { shape } }
    }
}

impl Encode for Plain {
    fn encode(&mut self, requests: &[Request]) -> Result<(), Refused> {
        for request in requests {
            self.blocks.each(request, |number, _| Ok(writeln!(self.output, "{number}")?))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _about: &dyn Source) -> Result<Output, Refused> {
        Ok(self.output)
    }
}

//! Comma-separated values with a header that our reader and table programs understand. Ranges have
//! a column of offsets.

use std::io::{self, Write};

use super::{Encode, Output, Refused};
use crate::{Operation, Request, Shape, Source};

pub(super) struct Csv {
    output: Output,
    shape: Shape,
}

impl Csv {
    pub(super) fn new(mut output: Output, shape: Shape) -> io::Result<Csv> {
        match shape {
            Shape::Ranges { .. } => writeln!(output, "time_ns,file,offset,length,operation,handler,context")?,
            Shape::Objects => writeln!(output, "time_ns,object,size,operation,handler,context")?,
        }
        Ok(Csv { output, shape })
    }
}

impl Encode for Csv {
    fn encode(&mut self, requests: &[Request]) -> Result<(), Refused> {
        for request in requests {
            let &Request { at, file, offset, len, handler, context, operation } = request;
            let (at, operation) = (at.0, if operation == Operation::Read { "read" } else { "write" });
            match self.shape {
                Shape::Ranges { .. } => {
                    writeln!(self.output, "{at},{file},{offset},{len},{operation},{handler},{context}")?;
                }
                Shape::Objects => writeln!(self.output, "{at},{file},{len},{operation},{handler},{context}")?,
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _about: &dyn Source) -> Result<Output, Refused> {
        Ok(self.output)
    }
}

//! Bare numbers of blocks or objects, of 32 or 64 bits.

use std::io::Write;

use super::{Blocks, Encode, Output, Refused};
use crate::{Request, Shape, Source};

pub(super) struct Ids<F> {
    output: Output,
    blocks: Blocks,
    bytes: F,
}

impl<const N: usize, F: Fn(u64) -> Option<[u8; N]> + Send> Ids<F> {
    pub(super) fn new(output: Output, shape: Shape, bytes: F) -> Ids<F> {
        Ids { output, blocks: Blocks { shape }, bytes }
    }
}

impl<const N: usize, F: Fn(u64) -> Option<[u8; N]> + Send> Encode for Ids<F> {
    fn encode(&mut self, requests: &[Request]) -> Result<(), Refused> {
        for request in requests {
            self.blocks.each(request, |number, _| {
                let bytes = (self.bytes)(number);
                let bytes =
                    bytes.ok_or_else(|| Refused::Unfit(format!("{number} has more than 32 bits; u64 takes it")))?;
                Ok(self.output.write_all(&bytes)?)
            })?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _about: &dyn Source) -> Result<Output, Refused> {
        Ok(self.output)
    }
}

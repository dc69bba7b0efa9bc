//! The blocks that requests touch, each by a name of 64 bits.

use std::collections::HashMap;

use crate::{Operation, Request, Shape};

/// More blocks than there are keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the trace has more than 2^32 - 2 distinct blocks: take larger blocks, or a sample")]
pub struct TooManyKeys;

/// Splits requests into blocks and names these.
///
/// An object is named by its number. A block of a file is named by its region, which is numbered in
/// order of appearance, and its place therein:
///
/// ```text
///   63 ........ 32 | 31 ........ 0        region: 2^32 blocks of one file
///       region     |  block
/// ```
#[derive(Clone, Debug)]
pub struct Blocks {
    /// Zero for whole objects.
    block_bytes: u64,
    reads_only: bool,
    regions: HashMap<(u64, u64), u32>,
    /// The last region and its number: requests come in runs.
    last: Option<((u64, u64), u32)>,
}

impl Blocks {
    /// Splits requests of this shape. Blocks have at least one byte.
    pub fn new(shape: Shape) -> Blocks {
        let block_bytes = match shape {
            Shape::Ranges { block_bytes } => u64::from(block_bytes).max(1),
            Shape::Objects => 0,
        };
        Blocks { block_bytes, reads_only: false, regions: HashMap::new(), last: None }
    }

    /// Leaves out writes, if `reads_only`.
    #[must_use]
    pub fn reads_only(self, reads_only: bool) -> Blocks {
        Blocks { reads_only, ..self }
    }

    /// Appends the names of the blocks of `requests`, in order, to `names`, and returns how many
    /// requests it took: at least one, and none after a request of many blocks.
    pub fn append(&mut self, requests: &[Request], names: &mut Vec<u64>) -> Result<usize, TooManyKeys> {
        if self.block_bytes == 0 {
            let counted = requests.iter().filter(|request| self.counts(request));
            names.extend(counted.map(|request| request.file));
            return Ok(requests.len());
        }
        /// A megabyte of 4 KiB blocks; most requests have a few.
        const MANY: u64 = 256;
        for (at, request) in requests.iter().enumerate() {
            if !self.counts(request) {
                continue;
            }
            let first = request.offset / self.block_bytes;
            let end = request.offset.saturating_add(u64::from(request.len.saturating_sub(1)));
            let last = end / self.block_bytes;
            self.range(request.file, first, last, names)?;
            if last - first > MANY {
                return Ok(at + 1);
            }
        }
        Ok(requests.len())
    }

    fn counts(&self, request: &Request) -> bool {
        !self.reads_only || request.operation == Operation::Read
    }

    fn range(&mut self, file: u64, first: u64, last: u64, names: &mut Vec<u64>) -> Result<(), TooManyKeys> {
        let mut block = first;
        loop {
            let region = u64::from(self.region(file, block >> 32)?) << 32;
            let end = last.min(block | 0xffff_ffff);
            names.extend((block..=end).map(|block| region | (block & 0xffff_ffff)));
            if end == last {
                return Ok(());
            }
            block = end + 1;
        }
    }

    fn region(&mut self, file: u64, high: u64) -> Result<u32, TooManyKeys> {
        if let Some((region, number)) = self.last
            && region == (file, high)
        {
            return Ok(number);
        }
        let next = u32::try_from(self.regions.len()).map_err(|_| TooManyKeys)?;
        let number = *self.regions.entry((file, high)).or_insert(next);
        self.last = Some(((file, high), number));
        Ok(number)
    }
}

/// Spreads names over 64 bits: the last step of splitmix64 (Steele, Lea and Flood, OOPSLA 2014),
/// which maps no two names to one number.
#[inline]
pub(super) fn spread(name: u64) -> u64 {
    let x = (name ^ (name >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The hash that decides whether a block is sampled. Every threshold takes its share of the blocks,
/// and each larger one the same and more. It is independent of the name's place in a table.
#[inline]
pub fn sample_hash(name: u64) -> u64 {
    spread(name ^ 0x9e37_79b9_7f4a_7c15)
}

//! From requests to keys: ranges are split into blocks, blocks and objects numbered from zero in order of appearance.

mod blocks;
mod names;
mod table;

pub use blocks::{Blocks, TooManyKeys, sample_hash};

use crate::{Request, Shape};
use table::Table;

/// How many keys [`Keys::append`] adds before it leaves the rest of the requests for the next call. A request of many
/// blocks may bring more.
pub const CHUNK: usize = 1 << 14;

/// Numbers the blocks (or objects) of requests.
///
/// ```
/// use forebay_trace::{Keys, Request, Shape};
///
/// let mut keys = Keys::new(Shape::Ranges { block_bytes: 4096 });
/// let request = |offset, len| Request { offset, len, ..Request::default() };
/// let mut numbers = Vec::new();
/// keys.append(&[request(8000, 5000), request(0, 1), request(4096, 1)], &mut numbers)?;
/// assert_eq!(numbers, [0, 1, 2, 3, 1]);
/// assert_eq!(keys.distinct(), 4);
/// # Ok::<(), forebay_trace::TooManyKeys>(())
/// ```
#[derive(Debug)]
pub struct Keys {
    blocks: Blocks,
    table: Table,
    names: Vec<u64>,
    /// Sample hashes above it are left out.
    threshold: u64,
    references: u64,
}

impl Keys {
    /// Nothing is numbered yet. `shape` says whether and how requests are split.
    pub fn new(shape: Shape) -> Keys {
        Keys::of(Blocks::new(shape))
    }

    /// The same of `blocks`, which may leave writes out.
    pub fn of(blocks: Blocks) -> Keys {
        Keys { blocks, table: Table::default(), names: Vec::new(), threshold: u64::MAX, references: 0 }
    }

    /// Numbers only the blocks whose [`sample_hash`] is at most `threshold`: of the others the references are counted and
    /// no more.
    #[must_use]
    pub fn sampled(self, threshold: u64) -> Keys {
        Keys { threshold, ..self }
    }

    /// Appends the keys of `requests` to `keys`, each a number below [`distinct`](Self::distinct), and returns how many
    /// requests that were: it stops where about [`CHUNK`] keys have come, since one request may have millions of blocks.
    pub fn append(&mut self, requests: &[Request], keys: &mut Vec<u32>) -> Result<usize, TooManyKeys> {
        self.names.clear();
        let mut taken = 0;
        while taken < requests.len() && self.names.len() < CHUNK {
            // A part that cannot exceed the chunk by much unless its requests are large.
            let part = &requests[taken..requests.len().min(taken + 256)];
            let before = self.names.len();
            taken += self.blocks.append(part, &mut self.names)?;
            self.references += (self.names.len() - before) as u64;
            if self.threshold < u64::MAX {
                self.thin_out(before);
            }
        }
        self.table.number(&self.names, keys)?;
        Ok(taken)
    }

    /// How many keys there are.
    pub fn distinct(&self) -> u32 {
        self.table.len()
    }

    /// How many references to blocks there were, numbered or not.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// Keeps of the names from `start` on those that are sampled.
    fn thin_out(&mut self, start: usize) {
        let mut kept = start;
        // Without branches: which block is sampled nobody can predict.
        for at in start..self.names.len() {
            let name = self.names[at];
            self.names[kept] = name;
            kept += usize::from(sample_hash(name) <= self.threshold);
        }
        self.names.truncate(kept);
    }
}

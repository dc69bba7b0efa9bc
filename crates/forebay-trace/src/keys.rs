//! From requests to keys: ranges are split into blocks, blocks and objects numbered from zero in
//! order of appearance.

mod blocks;
mod names;
mod table;

pub use blocks::{Blocks, TooManyKeys, sample_hash};

use crate::{Request, Shape};
use table::Table;

/// How many keys [`Keys::append`] adds before it leaves the rest of the requests for the next call.
/// A request of many blocks may bring more.
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
/// assert_eq!(numbers, [0, 1, 2, 3, 0]);
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

    /// Numbers only the blocks whose [`sample_hash`] is at most `threshold`; references to the
    /// others are only counted.
    #[must_use]
    pub fn sampled(self, threshold: u64) -> Keys {
        Keys { threshold, ..self }
    }

    /// Appends the keys of `requests` to `keys`, each a number below [`distinct`](Self::distinct),
    /// and returns how many requests it took. It stops after about [`CHUNK`] keys, since one
    /// request may have millions of blocks.
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

    /// Drops the names from `start` on that are not sampled.
    fn thin_out(&mut self, start: usize) {
        let mut kept = start;
        // Without branches: the processor could not predict them.
        for at in start..self.names.len() {
            let name = self.names[at];
            self.names[kept] = name;
            kept += usize::from(sample_hash(name) <= self.threshold);
        }
        self.names.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn numbers(mut keys: Keys, requests: &[Request]) -> (Vec<u32>, Keys) {
        let mut numbers = Vec::new();
        let mut taken = 0;
        while taken < requests.len() {
            taken += keys.append(&requests[taken..], &mut numbers).unwrap();
        }
        (numbers, keys)
    }

    /// Blocks by file and number, numbered by a map; some requests are long, some begin beyond 2^32
    /// blocks, one file is large enough that its blocks cross from one region to the next.
    #[test]
    fn ranges_are_numbered_block_by_block() {
        let mut requests: Vec<Request> = (0..3000u64)
            .map(|n| Request {
                file: n % 5,
                offset: n * n % 90_000 * 300 + (n % 3) * (1 << 45),
                len: 1 + (n * 7919 % 9000) as u32,
                ..Request::default()
            })
            .collect();
        requests.push(Request { offset: (1 << 41) - 2048, len: 5000, ..Request::default() });
        requests.push(Request { file: 9, offset: 1, len: 300 << 20, ..Request::default() });
        requests.push(Request { file: 8, offset: u64::MAX - 5, len: u32::MAX, ..Request::default() });
        requests.extend_from_within(..1000);
        let mut map = BTreeMap::new();
        let mut expected = Vec::new();
        for request in &requests {
            let last = request.offset.saturating_add(u64::from(request.len) - 1);
            for block in request.offset / 512..=last / 512 {
                let next = map.len() as u32;
                expected.push(*map.entry((request.file, block)).or_insert(next));
            }
        }
        let (numbers, keys) = numbers(Keys::new(Shape::Ranges { block_bytes: 512 }), &requests);
        assert_eq!(numbers, expected);
        assert_eq!((keys.distinct() as usize, keys.references() as usize), (map.len(), expected.len()));
    }

    /// A sample takes all references to some blocks and none to the others; a larger one takes
    /// these and more.
    #[test]
    fn samples_take_blocks_whole_and_one_within_the_other() {
        let requests: Vec<Request> =
            (0..60_000u64).map(|n| Request { file: n % 20_000, ..Request::default() }).collect();
        let sampled = |threshold| numbers(Keys::new(Shape::Objects).sampled(threshold), &requests);
        let mut before = 0;
        for share in [0.01, 0.1, 0.5] {
            let (numbers, keys) = sampled((share * 2f64.powi(64)) as u64);
            let distinct = keys.distinct();
            assert_eq!(numbers.len() as u32, 3 * distinct);
            assert_eq!(keys.references(), 60_000);
            let expected = 20_000.0 * share;
            assert!((f64::from(distinct) - expected).abs() < 5.0 * expected.sqrt(), "{distinct} of {expected}");
            assert!(distinct > before);
            before = distinct;
        }
        assert_eq!(sampled(u64::MAX).1.distinct(), 20_000);
    }

    #[test]
    fn writes_are_left_out_if_only_reads_count() {
        let read = Request { file: 1, ..Request::default() };
        let write = Request { file: 2, operation: crate::Operation::Write, ..Request::default() };
        let keys = Keys::of(Blocks::new(Shape::Objects).reads_only(true));
        let (numbers, keys) = numbers(keys, &[read, write, read]);
        assert_eq!((numbers, keys.distinct(), keys.references()), (vec![0, 0], 1, 2));
    }
}

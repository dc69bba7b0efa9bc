//! How often pieces were fetched lately, whether they are here or not, in two bytes each.
//!
//! A cell has 12 bits of a piece's hash and a count up to 15. A bucket has eight cells, the newest
//! first. A piece that was not fetched before is taken for another one in one of 512 cases, however
//! many pieces there are: a scan only drives out older ones. In a sketch (Cormode and
//! Muthukrishnan, 2005) a scan of small files fills all counters, and every piece of it seems to
//! come a second time.
//!
//! Counts age as TinyLFU's do (Einziger, Friedman and Manes, 2017, §3.3): they are halved once in
//! so many fetches, here bucket by bucket.

use alloc::vec;
use alloc::vec::Vec;

/// Cells of a bucket.
const WAYS: usize = 8;
/// The bits of a cell that count.
const MOST: u16 = 15;
/// Fetches until all counts are halved, for each cell.
const SAMPLE: u64 = 2;

#[derive(Clone, Debug)]
pub(super) struct Ghosts {
    buckets: Vec<[u16; WAYS]>,
    /// The bucket that is aged next, and fetches until then, in eighths.
    hand: usize,
    fetches: u64,
}

impl Ghosts {
    /// For about so many pieces.
    pub(super) fn new(pieces: u64) -> Ghosts {
        let buckets = usize::try_from(pieces.div_ceil(WAYS as u64)).unwrap_or(usize::MAX >> 8).max(1);
        Ghosts { buckets: vec![[0; WAYS]; buckets], hand: 0, fetches: 0 }
    }

    /// The bucket of a piece, and its name in a cell.
    fn place(&self, name: u64) -> (usize, u16) {
        let mixed = (name ^ (name >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bucket = (u128::from(mixed) * self.buckets.len() as u128) >> 64;
        (bucket as usize, (mixed as u16) & !MOST)
    }

    /// A piece is fetched.
    pub(super) fn add(&mut self, name: u64) {
        self.age();
        let (bucket, tag) = self.place(name);
        let cells = &mut self.buckets[bucket];
        if let Some(cell) = cells.iter_mut().find(|cell| **cell & !MOST == tag && **cell != 0) {
            *cell += u16::from(*cell & MOST < MOST);
            return;
        }
        // The oldest goes that was fetched once; if there is none, all counts are halved.
        let goes = cells.iter().rposition(|cell| cell & MOST <= 1).unwrap_or_else(|| {
            cells.iter_mut().for_each(halve);
            WAYS - 1
        });
        cells[..=goes].rotate_right(1);
        cells[0] = tag | 1;
    }

    /// A fetch does not count.
    pub(super) fn take_back(&mut self, name: u64) {
        let (bucket, tag) = self.place(name);
        let cell = self.buckets[bucket].iter_mut().find(|cell| **cell & !MOST == tag && **cell & MOST > 0);
        cell.into_iter().for_each(|cell| *cell -= 1);
    }

    /// How often a piece was fetched, 0 to 15.
    pub(super) fn count(&self, name: u64) -> u32 {
        let (bucket, tag) = self.place(name);
        let cell = self.buckets[bucket].iter().find(|cell| **cell & !MOST == tag);
        cell.map_or(0, |cell| u32::from(cell & MOST))
    }

    /// A fetch passes.
    fn age(&mut self) {
        self.fetches += 1;
        if self.fetches >= SAMPLE * WAYS as u64 {
            self.fetches = 0;
            self.buckets[self.hand].iter_mut().for_each(halve);
            self.hand = (self.hand + 1) % self.buckets.len();
        }
    }

    pub(super) fn footprint(&self) -> usize {
        self.buckets.capacity() * size_of::<[u16; WAYS]>()
    }
}

/// Halves a count. A piece that was fetched at all stays known.
fn halve(cell: &mut u16) {
    let count = *cell & MOST;
    *cell = (*cell & !MOST) | (count / 2).max(count.min(1));
}

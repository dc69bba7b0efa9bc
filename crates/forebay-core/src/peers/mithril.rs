//! MITHRIL: Juncheng Yang, Reza Karimi, Trausti Sæmundsson, Avani Wildani, Ymir Vigfusson.
//! *Mithril: Mining Sporadic Associations for Cache Prefetching.* SoCC 2017. Rules and defaults are
//! those of the authors' simulator (libCacheSim, `cache/prefetch/Mithril.c`), since only the
//! paper's abstract was at hand.
//!
//! Things that are missed rarely, and at nearly the same times, belong together. Time counts
//! requests, those of all readers in one sequence.
//!
//! ```text
//!   a miss ─▶ recording table ──R misses──▶ mining table ──full: compared──▶ prefetching table
//!             oldest goes                   over S misses: it goes           a ─▶ b, c
//! ```
//!
//! - A miss is recorded with its time. At R = 2 misses a thing moves to the mining table. If it is
//!   missed more than S = 8 times there, it is too frequent, and goes.
//! - Once 2560 things are in the mining table (5120 / R), all pairs are compared, and the table is
//!   empty again. In the order of first misses, b is associated with an earlier a if their first
//!   misses are at most 20 requests apart (the lookahead range), if one has at most one miss more
//!   than the other (the confidence), and if at most one pair of their other misses is further
//!   apart. Beside that b is the first candidate of a, or was missed in the request next to one of
//!   a's.
//! - The prefetching table has P = 2 associated things for each, the oldest of which goes for a new
//!   one. Every request for a thing, hit or miss, fetches those.
//!
//! A thing is here a read: its first block, and as many as it had when it was missed last. The
//! authors' program leaves the last miss of each pair out of the comparison; here it counts. It
//! gives all tables together a tenth of the cache's memory. So much are the rows here that the
//! recording and the prefetching table have for each frame, `ROWS_A_FRAME` each. A prefetched
//! block has no second chance before its eviction, which is an affair of the replacement policy.

use alloc::vec;
use alloc::vec::Vec;

use crate::directory::Directory;
use crate::frames::{FIRST_POLICY_LIST, ListId};
use crate::index::Hashed;
use crate::seams::{Needs, Plan, Prefetcher, Sight, Visit};
use crate::types::{BlockKey, Extent, FileId};

/// R: the fewest misses of a thing that is mined.
const FEWEST: usize = 2;
/// S: the most.
const MOST: usize = 8;
/// Requests between associated misses, at most.
const RANGE: u32 = 20;
/// How many misses may be further apart, and how many one thing may have more than the other.
const CONFIDENCE: u32 = 1;
/// P: associated things of each.
const LIST: usize = 2;
/// Things that are mined at a time.
const MINED: u32 = 5120 / FEWEST as u32;
/// Rows of the recording and of the prefetching table for each frame. A thing that comes again just
/// after its eviction was recorded as many misses ago as the cache has frames, so that fewer rows
/// than frames would forget it.
const ROWS_A_FRAME: u32 = 4;
/// The most rows of each.
const MOST_ROWS: u32 = 1 << 18;
/// The fewest.
const LEAST_ROWS: u32 = 64;
/// The bytes that these rows take for each frame: a slot of 24 each, up to 16 of the index, and the
/// knowledge of a thing.
pub(crate) const BYTES_A_FRAME: u32 =
    ROWS_A_FRAME * (2 * (24 + 16) + (size_of::<Misses<FEWEST>>() + size_of::<Associated>()) as u32);

/// The rows of a table, the newest first.
const ROWS: ListId = ListId(FIRST_POLICY_LIST);

/// Rows by key, of a fixed number: the oldest makes room.
#[derive(Clone, Debug)]
struct Table<T> {
    directory: Directory<Hashed>,
    /// By slot.
    rows: Vec<T>,
}

impl<T: Clone + Copy + Default> Table<T> {
    fn new(rows: u32) -> Table<T> {
        let directory = Directory::new(FIRST_POLICY_LIST + 1, rows, 0);
        Table { directory, rows: vec![T::default(); rows as usize + usize::from(FIRST_POLICY_LIST) + 1] }
    }

    fn of(&mut self, key: BlockKey) -> Option<&mut T> {
        let slot = self.directory.find(key)?;
        self.rows.get_mut(slot as usize)
    }

    /// Adds a row for a key that has none.
    fn add(&mut self, key: BlockKey, row: T) {
        if self.directory.frames.len(ROWS) == self.directory.frames.buffers() {
            self.take_oldest();
        }
        if let Some(slot) = self.directory.assign(key, ROWS) {
            self.rows[slot as usize] = row;
        }
    }

    fn take(&mut self, key: BlockKey) -> Option<T> {
        let slot = self.directory.find(key)?;
        self.directory.release(slot);
        self.rows.get(slot as usize).copied()
    }

    fn take_oldest(&mut self) -> Option<(BlockKey, T)> {
        let slot = self.directory.frames.back(ROWS)?;
        let key = self.directory.frames.key(slot);
        self.directory.release(slot);
        Some((key, *self.rows.get(slot as usize)?))
    }

    fn len(&self) -> u32 {
        self.directory.frames.len(ROWS)
    }

    fn footprint(&self) -> usize {
        self.directory.footprint() + self.rows.len() * size_of::<T>()
    }
}

/// A thing: a read's first block, and its length; zero if there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Thing {
    key: BlockKey,
    len: u32,
}

const NOTHING: Thing = Thing { key: BlockKey::new(FileId(0), 0), len: 0 };

/// The misses of a thing.
#[derive(Clone, Copy, Debug)]
struct Misses<const N: usize> {
    len: u32,
    times: [u32; N],
    count: u32,
}

impl<const N: usize> Default for Misses<N> {
    fn default() -> Misses<N> {
        Misses { len: 0, times: [0; N], count: 0 }
    }
}

impl<const N: usize> Misses<N> {
    /// One more, of a read of `len` blocks. `false` if there is no room for it.
    fn add(&mut self, time: u32, len: u32) -> bool {
        self.len = len;
        let Some(place) = self.times.get_mut(self.count as usize) else { return false };
        *place = time;
        self.count += 1;
        true
    }

    fn times(&self) -> &[u32] {
        &self.times[..self.count as usize]
    }
}

/// A thing that is mined.
#[derive(Clone, Copy, Debug)]
struct Mined {
    key: BlockKey,
    misses: Misses<MOST>,
}

impl Mined {
    fn first(&self) -> u32 {
        self.misses.times[0]
    }

    /// Whether `later` is associated with it; `nearest` if it is the first candidate.
    fn goes_with(&self, later: &Mined, nearest: bool) -> bool {
        let pairs = || self.misses.times().iter().zip(later.misses.times()).map(|(a, b)| a.abs_diff(*b));
        let apart = pairs().filter(|&requests| requests > RANGE).count();
        apart <= CONFIDENCE as usize && (nearest || pairs().any(|requests| requests == 1))
    }
}

/// The things that are fetched with another one, the oldest first.
#[derive(Clone, Copy, Debug)]
struct Associated([Thing; LIST]);

impl Default for Associated {
    fn default() -> Associated {
        Associated([NOTHING; LIST])
    }
}

impl Associated {
    fn things(&self) -> impl Iterator<Item = Thing> + use<> {
        self.0.into_iter().filter(|thing| thing.len > 0)
    }

    /// One more; the oldest makes room.
    fn add(&mut self, thing: Thing) {
        if self.things().any(|known| known.key == thing.key) {
            return;
        }
        if self.0[LIST - 1].len > 0 {
            self.0.rotate_left(1);
            self.0[LIST - 1] = NOTHING;
        }
        if let Some(place) = self.0.iter_mut().find(|place| place.len == 0) {
            *place = thing;
        }
    }
}

/// Associations of reads.
#[derive(Clone, Debug)]
pub struct Mithril {
    /// How many requests there were; the number wraps after a time that no row lives.
    now: u32,
    recording: Table<Misses<FEWEST>>,
    mining: Table<Misses<MOST>>,
    prefetching: Table<Associated>,
    /// The things that are mined, while they are sorted.
    sorted: Vec<Mined>,
}

impl Mithril {
    /// For a cache of this many frames.
    pub fn new(frames: u32) -> Mithril {
        Mithril::mining(frames.saturating_mul(ROWS_A_FRAME).clamp(LEAST_ROWS, MOST_ROWS), MINED)
    }

    /// With tables of so many rows, and so many things mined at a time.
    fn mining(rows: u32, mined: u32) -> Mithril {
        Mithril {
            now: 0,
            recording: Table::new(rows),
            mining: Table::new(mined),
            prefetching: Table::new(rows),
            sorted: Vec::with_capacity(mined as usize),
        }
    }

    /// A read has missed.
    fn record(&mut self, thing: Thing) {
        let Thing { key, len } = thing;
        if let Some(misses) = self.mining.of(key) {
            if !misses.add(self.now, len) {
                self.mining.take(key);
            }
            return;
        }
        let mut misses = self.recording.take(key).unwrap_or_default();
        misses.add(self.now, len);
        if misses.times().len() < FEWEST {
            self.recording.add(key, misses);
            return;
        }
        let mut known = Misses { len, ..Misses::default() };
        for &time in misses.times() {
            known.add(time, len);
        }
        self.mining.add(key, known);
        if self.mining.len() == self.mining.directory.frames.buffers() {
            self.mine();
        }
    }

    /// Finds the associations in the mining table, and empties it.
    fn mine(&mut self) {
        let mut sorted = core::mem::take(&mut self.sorted);
        while let Some((key, misses)) = self.mining.take_oldest() {
            sorted.push(Mined { key, misses });
        }
        sorted.sort_unstable_by_key(Mined::first);
        for (number, earlier) in sorted.iter().enumerate() {
            let mut nearest = true;
            let near = sorted[number + 1..].iter().take_while(|later| later.first() - earlier.first() <= RANGE);
            for later in near {
                if earlier.misses.count.abs_diff(later.misses.count) > CONFIDENCE {
                    continue;
                }
                if earlier.goes_with(later, nearest) {
                    self.associate(earlier.key, Thing { key: later.key, len: later.misses.len });
                }
                nearest = false;
            }
        }
        sorted.clear();
        self.sorted = sorted;
    }

    fn associate(&mut self, key: BlockKey, thing: Thing) {
        match self.prefetching.of(key) {
            Some(list) => list.add(thing),
            None => {
                let mut list = Associated::default();
                list.add(thing);
                self.prefetching.add(key, list);
            }
        }
    }
}

impl Prefetcher for Mithril {
    fn needs(&self) -> Needs {
        Needs { every_reference: true, late_parts: false, elsewhere: Some(0), ..Needs::default() }
    }

    fn plan(&mut self, _: &Sight<'_>) -> Plan {
        Plan::NOTHING
    }

    fn elsewhere(&mut self, visit: &Visit<'_>, next: &mut Vec<Extent>) {
        let Extent { file, start, len } = visit.read;
        let key = BlockKey::new(file, start);
        if visit.missed {
            self.record(Thing { key, len });
        }
        let associated = self.prefetching.of(key).copied().unwrap_or_default();
        for Thing { key, len } in associated.things() {
            if let Some(blocks) = (visit.length)(key.file()) {
                let end = key.block().saturating_add(len).min(blocks);
                next.push(Extent::between(key.file(), key.block(), end));
            }
        }
        self.now = self.now.wrapping_add(1);
    }

    fn footprint(&self) -> usize {
        let sorted = self.sorted.capacity() * size_of::<Mined>();
        self.recording.footprint() + self.mining.footprint() + self.prefetching.footprint() + sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(block: u32) -> BlockKey {
        BlockKey::new(FileId(0), block)
    }

    /// A miss of a block in each request; 0: a request that hits.
    fn missing(mined: u32, requests: &[u32]) -> Mithril {
        let mut mithril = Mithril::mining(64, mined);
        for &block in requests {
            if block > 0 {
                mithril.record(Thing { key: key(block), len: 1 });
            }
            mithril.now += 1;
        }
        mithril
    }

    fn associated(mithril: &mut Mithril, block: u32) -> Vec<u32> {
        let list = mithril.prefetching.of(key(block)).copied().unwrap_or_default();
        list.things().map(|thing| thing.key.block()).collect()
    }

    /// Two rounds of three blocks: the table of three is full at the last miss.
    #[test]
    fn blocks_that_are_missed_one_after_another_are_associated() {
        let mut mithril = missing(3, &[7, 3, 9, 0, 0, 7, 3, 9]);
        assert_eq!(associated(&mut mithril, 7), [3], "9 is neither the first candidate nor next to 7");
        assert_eq!(associated(&mut mithril, 3), [9]);
        assert_eq!(associated(&mut mithril, 9), [], "no miss follows");
        assert_eq!(mithril.mining.len(), 0);
    }

    /// One more request between them, and the first misses are out of range.
    #[test]
    fn the_lookahead_range_bounds_an_association() {
        for (between, found) in [(19, vec![3]), (20, vec![])] {
            let mut requests = vec![7];
            requests.extend(vec![0; between]);
            requests.extend([3, 7, 3]);
            let mut mithril = missing(2, &requests);
            assert_eq!(associated(&mut mithril, 7), found, "{between} requests between");
        }
    }

    #[test]
    fn one_miss_out_of_range_is_borne_and_two_are_not() {
        let far = |first: &[u32]| {
            let mut requests = first.to_vec();
            for block in [7, 3] {
                requests.extend([0; 30]);
                requests.push(block);
            }
            requests
        };
        let mut mithril = missing(2, &far(&[7, 3]));
        assert_eq!(associated(&mut mithril, 7), [3]);
        // A third block fills the table once 7 and 3 have three misses each, the last two far.
        let mut requests = far(&far(&[7, 3]));
        requests.extend([5, 5]);
        let mut mithril = missing(3, &requests);
        assert_eq!(associated(&mut mithril, 7), []);
    }

    #[test]
    fn too_frequent_and_too_rare_blocks_are_not_mined() {
        let mut mithril = missing(2, &[7, 3, 7, 7, 7, 7, 7, 7, 7, 7, 5, 3, 5]);
        assert_eq!(associated(&mut mithril, 7), [], "missed nine times");
        assert_eq!(associated(&mut mithril, 3), [5]);
        let mut mithril = missing(2, &[7, 3, 7]);
        assert_eq!((mithril.mining.len(), mithril.recording.len()), (1, 1), "3 was missed once");
        assert_eq!(associated(&mut mithril, 7), []);
    }

    #[test]
    fn a_list_has_the_two_latest_associations() {
        let mut mithril = Mithril::mining(64, 8);
        for block in [3, 4, 4, 5] {
            mithril.associate(key(7), Thing { key: key(block), len: 1 });
        }
        assert_eq!(associated(&mut mithril, 7), [4, 5]);
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_record_goes() {
        let mut mithril = Mithril::mining(64, 8);
        let before = mithril.footprint();
        for request in 0..20_000u32 {
            let block = request * 7919 % 501;
            mithril.record(Thing { key: key(block), len: 1 });
            mithril.now += 1;
        }
        assert_eq!(mithril.footprint(), before);
        assert!(mithril.recording.len() <= 64 && mithril.prefetching.len() <= 64);
        let mut mithril = Mithril::mining(64, 8);
        for block in (1..=65).chain([1, 65]) {
            mithril.record(Thing { key: key(block), len: 1 });
        }
        assert_eq!(mithril.mining.len(), 1, "1 was forgotten when 65 came");
    }
}

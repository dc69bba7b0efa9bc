//! From names to numbers: open addressing over numbers alone.

use std::hint::black_box;

use super::blocks::{TooManyKeys, spread};
use super::names::Names;

/// How many names go through the table together: as many loads as a processor has under way, and
/// some more.
const BATCH: usize = 64;

/// How many names are put in order together.
const PIECE: usize = 1 << 14;

/// Numbers names from zero on in order of appearance.
///
/// The table holds numbers, and `names` has the names by number. The spare bits of an entry's 32
/// hold a part of the name's hash, so that a probe seldom looks at a wrong name:
///
/// ```text
///   31 ............ b | b-1 ........ 0
///     bits of hash    |  number + 1            0: empty
/// ```
///
/// It is never more than 85 % full and grows by a fourth. The old table is freed before the new one
/// is made, which is filled from the names, one after the other: growing needs no memory beside the
/// larger table.
#[derive(Debug)]
pub(super) struct Table {
    entries: Vec<u32>,
    /// b.
    bits: u32,
    /// How many names fit before it must grow.
    room: usize,
    names: Names,
    pieces: Pieces,
}

impl Default for Table {
    fn default() -> Table {
        Table { entries: vec![0; 64], bits: 8, room: 48, names: Names::default(), pieces: Pieces::default() }
    }
}

impl Table {
    /// How many names are numbered.
    pub(super) fn len(&self) -> u32 {
        self.names.len() as u32
    }

    /// Appends the numbers of `names` to `keys`.
    ///
    /// A table of millions of names is neither in the processor's caches nor in those of its page
    /// tables. So names are looked up in the order of their places, one part of the table after the
    /// other. The entries of a batch are touched before the first of them is read. New names are
    /// added afterwards, in the order in which they came.
    pub(super) fn number(&mut self, names: &[u64], keys: &mut Vec<u32>) -> Result<(), TooManyKeys> {
        let mut pieces = std::mem::take(&mut self.pieces);
        for names in names.chunks(PIECE) {
            pieces.sort(names.iter().map(|&name| spread(name)), self.entries.len());
            for places in pieces.order.chunks(BATCH) {
                self.touch(places.iter().map(|&place| pieces.hashes[place as usize]));
                for &place in places {
                    pieces.likely[place as usize] = self.likely(pieces.hashes[place as usize]);
                }
            }
            let looked_up = pieces.hashes.chunks(BATCH).zip(pieces.likely.chunks(BATCH));
            for (names, (hashes, likely)) in names.chunks(BATCH).zip(looked_up) {
                let mut found = [0; BATCH];
                for (found, &likely) in found.iter_mut().zip(likely) {
                    *found = self.names.get(likely.saturating_sub(1) as usize);
                }
                for (at, (&name, &likely)) in names.iter().zip(likely).enumerate() {
                    let known = likely > 0 && found[at] == name;
                    keys.push(if known { likely - 1 } else { self.find_or_add(name, hashes[at])? });
                }
            }
        }
        self.pieces = pieces;
        Ok(())
    }

    /// Reads the home of every hash, only to bring it into the cache.
    #[inline]
    fn touch(&self, hashes: impl Iterator<Item = u64>) {
        let mut touched = 0;
        for hash in hashes {
            touched ^= self.entries[self.home(hash)];
        }
        black_box(touched);
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.entries.len() as u128) >> 64) as usize
    }

    /// The upper bits of an entry for a name. The home comes from the hash's upper bits, so these
    /// are lower ones.
    #[inline]
    fn tag(&self, hash: u64) -> u32 {
        ((hash as u32 as u64) << self.bits) as u32
    }

    #[inline]
    fn mask(&self) -> u32 {
        (u64::from(u32::MAX) >> (32 - self.bits)) as u32
    }

    /// One more than the number of the first name whose part of the hash is this one's: almost
    /// certainly its own. Zero if there is none.
    #[inline]
    fn likely(&self, hash: u64) -> u32 {
        let (tag, mask) = (self.tag(hash), self.mask());
        let mut at = self.home(hash);
        loop {
            let entry = self.entries[at];
            if entry == 0 {
                return 0;
            }
            if entry & !mask == tag {
                return entry & mask;
            }
            at += 1;
            if at == self.entries.len() {
                at = 0;
            }
        }
    }

    #[inline(never)]
    fn find_or_add(&mut self, name: u64, hash: u64) -> Result<u32, TooManyKeys> {
        let (tag, mask) = (self.tag(hash), self.mask());
        let mut at = self.home(hash);
        loop {
            let entry = self.entries[at];
            if entry == 0 {
                break;
            }
            let number = (entry & mask).wrapping_sub(1);
            if entry & !mask == tag && self.names.get(number as usize) == name {
                return Ok(number);
            }
            at = if at + 1 == self.entries.len() { 0 } else { at + 1 };
        }
        let number = self.len();
        if number >= u32::MAX - 1 {
            return Err(TooManyKeys);
        }
        self.names.push(name);
        if self.names.len() > self.room {
            self.grow();
        } else {
            self.entries[at] = tag | (number + 1);
        }
        Ok(number)
    }

    /// A larger table of all names.
    fn grow(&mut self) {
        let count = self.names.len();
        self.room = count + count / 4;
        self.bits = u64::BITS - (self.room as u64 + 1).leading_zeros();
        self.bits = self.bits.min(32);
        // The old table is freed first.
        self.entries = Vec::new();
        self.entries = vec![0; self.room * 20 / 17];
        let mut pieces = Pieces::default();
        for start in (0..count).step_by(PIECE) {
            let end = count.min(start + PIECE);
            pieces.sort((start..end).map(|number| spread(self.names.get(number))), self.entries.len());
            for places in pieces.order.chunks(BATCH) {
                self.touch(places.iter().map(|&place| pieces.hashes[place as usize]));
                for &place in places {
                    let hash = pieces.hashes[place as usize];
                    let mut at = self.home(hash);
                    while self.entries[at] != 0 {
                        at = if at + 1 == self.entries.len() { 0 } else { at + 1 };
                    }
                    self.entries[at] = self.tag(hash) | (start as u32 + place + 1);
                }
            }
        }
    }
}

/// Names that go through a large table together, in the order of their homes: no more than a core's
/// own cache holds.
#[derive(Debug, Default)]
struct Pieces {
    hashes: Vec<u64>,
    /// Places in `hashes`; those whose hashes begin alike stand together.
    order: Vec<u32>,
    /// The table's [`Table::likely`] of each.
    likely: Vec<u32>,
}

impl Pieces {
    /// How many leading bits decide: 128 parts of a table.
    const BITS: u32 = 7;
    /// A table with fewer entries fits into the caches as it is.
    const FAR: usize = 1 << 18;

    fn sort(&mut self, hashes: impl Iterator<Item = u64>, entries: usize) {
        self.hashes.clear();
        self.hashes.extend(hashes);
        let count = self.hashes.len();
        self.likely.resize(count, 0);
        self.order.clear();
        if entries < Self::FAR {
            self.order.extend(0..count as u32);
            return;
        }
        self.order.resize(count, 0);
        let part = |hash: u64| (hash >> (u64::BITS - Self::BITS)) as usize;
        let mut starts = [0u32; (1 << Self::BITS) + 1];
        for &hash in &self.hashes {
            starts[part(hash) + 1] += 1;
        }
        for part in 0..1 << Self::BITS {
            starts[part + 1] += starts[part];
        }
        for (place, &hash) in (0..).zip(&self.hashes) {
            let next = &mut starts[part(hash)];
            self.order[*next as usize] = place;
            *next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Names that are alike, and names that are not; batches of any size.
        #[test]
        fn a_table_is_a_map(names in proptest::collection::vec((0u64..900, 0u32..3), 0..3000), batch in 1usize..200) {
            let names: Vec<u64> = names.iter().map(|&(name, shift)| name << (shift * 27)).collect();
            let mut table = Table::default();
            let mut keys = Vec::new();
            for names in names.chunks(batch) {
                table.number(names, &mut keys).unwrap();
            }
            let mut map = HashMap::new();
            let expected: Vec<u32> = names
                .iter()
                .map(|name| {
                    let next = map.len() as u32;
                    *map.entry(name).or_insert(next)
                })
                .collect();
            prop_assert_eq!(keys, expected);
            prop_assert_eq!(table.len() as usize, map.len());
        }
    }

    /// Bits of hash beside a number grow fewer as numbers grow larger; a hundred thousand names see
    /// several widths.
    #[test]
    fn every_name_keeps_its_number_while_the_table_grows() {
        let mut table = Table::default();
        let names: Vec<u64> = (0..100_000u64).map(|n| n * n * 4096).collect();
        let mut keys = Vec::new();
        table.number(&names, &mut keys).unwrap();
        table.number(&names, &mut keys).unwrap();
        assert!(keys.iter().copied().eq((0..100_000).chain(0..100_000)));
        assert!(table.names.len() * 20 <= table.entries.len() * 17);
    }
}

//! Block → slot. Two indexes: hashed for live keys, dense for traces whose keys were numbered
//! beforehand.

use alloc::vec;
use alloc::vec::Vec;

use crate::frames::{Frames, Slot};
use crate::types::BlockKey;

/// Where a block is in the slab. Slot 0 is a list head, so it stands for "nowhere" in both indexes.
pub trait Index {
    /// An index for at most `slots` blocks at a time.
    fn with_slots(slots: u32) -> Self;
    /// The slot of a block.
    fn get(&self, frames: &Frames, key: BlockKey) -> Option<Slot>;
    /// Adds a block that is not there; `frames` already names it at `slot`.
    fn insert(&mut self, frames: &Frames, key: BlockKey, slot: Slot);
    /// Points a block that is there to another slot.
    fn replace(&mut self, frames: &Frames, key: BlockKey, slot: Slot);
    /// Removes a block that is there.
    fn remove(&mut self, frames: &Frames, key: BlockKey);
    /// The bytes that the index takes.
    fn footprint(&self) -> usize;
}

/// Open addressing with linear probes and backward shifts; keys stay in the slab. At most half
/// full.
///
/// An entry has the slot, and in the bits that slots leave how far it is from home: so a removal
/// moves entries without a look at their keys.
///
/// ```text
///   31 ..... b | b-1 ........ 0
///    distance  |     slot            0: empty
/// ```
///
/// A distance that has no room there is `most`, and then the key tells.
#[derive(Clone, Debug)]
pub struct Hashed {
    table: Vec<u32>,
    /// b.
    bits: u32,
    /// The bits of an entry that are its slot.
    slots: u32,
    /// The largest distance: from there on, it is not known.
    most: u32,
}

impl Hashed {
    /// An empty table of so many entries, of slots of so many bits.
    fn sized(size: usize, bits: u32) -> Hashed {
        let slots = u32::MAX >> (u32::BITS - bits);
        Hashed { table: vec![0; size], bits, slots, most: (u64::from(!slots) >> bits) as u32 }
    }

    /// Where a key would be in a table without end; callers mask it. One long multiplication, whose
    /// two halves are folded, twice: the lower half alone spreads a run of blocks well and maps
    /// strides and many files to lattices, and so does the upper one. The factor is that of
    /// splitmix64's last step; of a dozen well-known ones it was the best on the keys of the test
    /// below.
    fn home(key: BlockKey) -> usize {
        let product = u128::from(key.raw()) * 0x94d0_49bb_1331_11eb;
        let folded = (product >> 64) as u64 ^ product as u64;
        (folded ^ (folded >> 32)) as usize
    }

    /// The entry of a slot at a distance from home.
    fn entry(&self, slot: Slot, distance: usize) -> u32 {
        let distance = distance.min(self.most as usize) as u64;
        slot | (distance << self.bits) as u32
    }

    /// How far an entry at a place is from home.
    fn distance(&self, frames: &Frames, entry: u32, at: usize) -> usize {
        match (u64::from(entry) >> self.bits) as u32 {
            distance if distance < self.most => distance as usize,
            _ => at.wrapping_sub(Self::home(frames.key(entry & self.slots))) & (self.table.len() - 1),
        }
    }

    /// The table position that holds `key`, or the empty one where it would go, and its slot.
    #[inline]
    fn position(&self, frames: &Frames, key: BlockKey) -> (usize, Slot) {
        let table = self.table.as_slice();
        let mut at = Self::home(key);
        loop {
            // Masked right before it is used, so that the compiler sees that it lies inside.
            at &= table.len() - 1;
            let slot = table[at] & self.slots;
            if slot == 0 || frames.key(slot) == key {
                return (at, slot);
            }
            at += 1;
        }
    }
}

impl Index for Hashed {
    fn with_slots(slots: u32) -> Hashed {
        let size = (slots as usize * 2).next_power_of_two().max(16);
        // List heads have slots, too: as many as a byte counts.
        let bits = (u64::BITS - (u64::from(slots) + u64::from(u8::MAX)).leading_zeros()).min(u32::BITS);
        Hashed::sized(size, bits)
    }

    fn get(&self, frames: &Frames, key: BlockKey) -> Option<Slot> {
        let (_, slot) = self.position(frames, key);
        (slot != 0).then_some(slot)
    }

    fn insert(&mut self, frames: &Frames, key: BlockKey, slot: Slot) {
        let mask = self.table.len() - 1;
        let home = Self::home(key) & mask;
        let mut at = home;
        while self.table[at] != 0 {
            debug_assert!(frames.key(self.table[at] & self.slots) != key, "{key:?} is indexed already");
            at = (at + 1) & mask;
        }
        self.table[at] = self.entry(slot, at.wrapping_sub(home) & mask);
    }

    fn replace(&mut self, frames: &Frames, key: BlockKey, slot: Slot) {
        let (at, old) = self.position(frames, key);
        debug_assert!(old != 0, "{key:?} is not indexed");
        self.table[at] = self.table[at] & !self.slots | slot;
    }

    fn remove(&mut self, frames: &Frames, key: BlockKey) {
        let mask = self.table.len() - 1;
        let (mut hole, old) = self.position(frames, key);
        debug_assert!(old != 0, "{key:?} is not indexed");
        let mut at = hole;
        // An entry whose probes went past the hole moves into it.
        loop {
            at = (at + 1) & mask;
            let entry = self.table[at];
            if entry == 0 {
                break;
            }
            let distance = self.distance(frames, entry, at);
            let step = at.wrapping_sub(hole) & mask;
            if distance >= step {
                self.table[hole] = self.entry(entry & self.slots, distance - step);
                hole = at;
            }
        }
        self.table[hole] = 0;
    }

    fn footprint(&self) -> usize {
        self.table.len() * size_of::<u32>()
    }
}

/// One entry for each block of file 0, grown as blocks appear: for traces with interned keys
/// `0..n`.
#[derive(Clone, Debug, Default)]
pub struct Dense {
    table: Vec<Slot>,
}

impl Index for Dense {
    fn with_slots(_slots: u32) -> Dense {
        Dense::default()
    }

    fn get(&self, _frames: &Frames, key: BlockKey) -> Option<Slot> {
        debug_assert_eq!(key.file().0, 0, "a dense index serves one file");
        self.table.get(key.block() as usize).copied().filter(|&slot| slot != 0)
    }

    fn insert(&mut self, _frames: &Frames, key: BlockKey, slot: Slot) {
        debug_assert_eq!(key.file().0, 0, "a dense index serves one file");
        let at = key.block() as usize;
        if at >= self.table.len() {
            // By an eighth and not to the double: a trace's blocks are counted in many millions.
            let room = at + 1 + at / 8;
            self.table.reserve_exact(room - self.table.len());
            self.table.resize(room, 0);
        }
        self.table[at] = slot;
    }

    fn replace(&mut self, frames: &Frames, key: BlockKey, slot: Slot) {
        self.insert(frames, key, slot);
    }

    fn remove(&mut self, _frames: &Frames, key: BlockKey) {
        self.table[key.block() as usize] = 0;
    }

    fn footprint(&self) -> usize {
        self.table.len() * core::mem::size_of::<Slot>()
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::types::FileId;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Slots may leave many bits for distances, few, or none.
        #[test]
        fn a_table_is_a_map_whatever_it_knows_of_distances(
            bits in prop_oneof![Just(9u32), 29u32..=32],
            changes in proptest::collection::vec((0u32..40, any::<bool>()), 0..400),
        ) {
            let mut frames = Frames::new(1, 40, 0);
            let mut index = Hashed::sized(64, bits);
            let mut map = BTreeMap::new();
            let key = |number| BlockKey::new(FileId(number % 3), number << 20);
            (0..40).for_each(|number| frames.set_key(number + 1, key(number)));
            for (number, add) in changes {
                match (add, map.get(&number)) {
                    (true, None) if map.len() < 32 => {
                        index.insert(&frames, key(number), number + 1);
                        map.insert(number, number + 1);
                    }
                    (true, Some(&slot)) => index.replace(&frames, key(number), slot),
                    (false, Some(_)) => {
                        index.remove(&frames, key(number));
                        map.remove(&number);
                    }
                    _ => {}
                }
                for number in 0..40 {
                    prop_assert_eq!(index.get(&frames, key(number)), map.get(&number).copied());
                }
            }
        }
    }

    /// Probes that finding each of `keys` takes on average, and at most, in a table that they fill
    /// to the half.
    fn probes(keys: impl Iterator<Item = BlockKey> + Clone) -> (f64, usize) {
        let count = keys.clone().count();
        let mut frames = Frames::new(1, count as u32, 0);
        let mut index = Hashed::with_slots(count as u32);
        for (slot, key) in (1..).zip(keys.clone()) {
            frames.set_key(slot, key);
            index.insert(&frames, key, slot);
        }
        let mask = index.table.len() - 1;
        let probes = |key| 1 + (index.position(&frames, key).0.wrapping_sub(Hashed::home(key)) & mask);
        let all = keys.map(probes);
        (all.clone().sum::<usize>() as f64 / count as f64, all.max().unwrap_or(0))
    }

    /// The keys that occur are far from random: runs, strides, many files' first blocks. A random
    /// function needs 1.5 probes on average (Knuth, vol. 3, §6.4) and some tens at most.
    #[test]
    fn structured_keys_cost_no_more_probes_than_random_ones() {
        for files in [1u32, 3, 8, 17, 64, 777, 1024, 16384, 32768] {
            for stride in [1u32, 2, 3, 6, 8, 16, 64, 256, 1000, 1024, 4096, 65536] {
                let key = |n: u32| BlockKey::new(FileId(n % files), n / files * stride);
                let (mean, longest) = probes((0..32768).map(key));
                assert!(mean < 1.6 && longest < 100, "{files} files, stride {stride}: {mean:.2}, at most {longest}");
            }
        }
    }
}

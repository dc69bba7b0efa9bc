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

/// Open addressing with linear probes and backward shifts; keys stay in the slab, the table holds
/// slots alone. At most half full.
#[derive(Clone, Debug)]
pub struct Hashed {
    table: Vec<Slot>,
}

impl Hashed {
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

    /// The table position that holds `key`, or the empty one where it would go, and its slot.
    #[inline]
    fn position(&self, frames: &Frames, key: BlockKey) -> (usize, Slot) {
        let table = self.table.as_slice();
        let mut at = Self::home(key);
        loop {
            // Masked right before it is used, so that the compiler sees that it lies inside.
            at &= table.len() - 1;
            let slot = table[at];
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
        Hashed { table: vec![0; size] }
    }

    fn get(&self, frames: &Frames, key: BlockKey) -> Option<Slot> {
        let (_, slot) = self.position(frames, key);
        (slot != 0).then_some(slot)
    }

    fn insert(&mut self, frames: &Frames, key: BlockKey, slot: Slot) {
        let mask = self.table.len() - 1;
        let mut at = Self::home(key) & mask;
        while self.table[at] != 0 {
            debug_assert!(frames.key(self.table[at]) != key, "{key:?} is indexed already");
            at = (at + 1) & mask;
        }
        self.table[at] = slot;
    }

    fn replace(&mut self, frames: &Frames, key: BlockKey, slot: Slot) {
        let (at, old) = self.position(frames, key);
        debug_assert!(old != 0, "{key:?} is not indexed");
        self.table[at] = slot;
    }

    fn remove(&mut self, frames: &Frames, key: BlockKey) {
        let mask = self.table.len() - 1;
        let (mut hole, old) = self.position(frames, key);
        debug_assert!(old != 0, "{key:?} is not indexed");
        let mut at = hole;
        // An entry whose probes went past the hole moves into it.
        loop {
            at = (at + 1) & mask;
            let slot = self.table[at];
            if slot == 0 {
                break;
            }
            let home = Self::home(frames.key(slot)) & mask;
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.table[hole] = slot;
                hole = at;
            }
        }
        self.table[hole] = 0;
    }

    fn footprint(&self) -> usize {
        self.table.len() * core::mem::size_of::<Slot>()
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
    use super::*;
    use crate::types::FileId;

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

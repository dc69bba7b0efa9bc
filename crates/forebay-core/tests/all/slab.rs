//! The slab's lists against vectors, the hashed index against an ordered map.

use std::collections::{BTreeMap, BTreeSet};

use forebay_core::frames::{Frames, ListId, flag};
use forebay_core::index::{Hashed, Index};
use forebay_core::{BlockKey, FileId};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Change {
    Insert(BlockKey),
    Replace(BlockKey),
    Remove(BlockKey),
}

/// Keys of few files and few blocks, so that inserts meet removals; in a table of 16 to 64 entries
/// they collide.
fn change() -> impl Strategy<Value = Change> {
    (0u32..6, 0u32..8, 0..4).prop_map(|(file, block, dice)| {
        let key = BlockKey::new(FileId(file * 0x1000_0001), block * 0x0100_0001);
        match dice {
            0 | 1 => Change::Insert(key),
            2 => Change::Replace(key),
            _ => Change::Remove(key),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_hashed_index_is_a_map(room in 1u32..24, changes in proptest::collection::vec(change(), 0..300)) {
        // Twice the slots, so that a key always has a second one to be pointed at.
        let mut frames = Frames::new(1, 2 * room, 0);
        let mut index = Hashed::with_slots(room);
        let mut map: BTreeMap<u64, u32> = BTreeMap::new();
        let mut unused: Vec<u32> = (1..=2 * room).collect();
        let mut known = BTreeSet::new();
        for change in changes {
            let (Change::Insert(key) | Change::Replace(key) | Change::Remove(key)) = change;
            let there = map.get(&key.raw()).copied();
            known.insert(key.raw());
            match (change, there) {
                (Change::Insert(_), None) if map.len() < room as usize => {
                    let slot = unused.pop().expect("half of the slots are unused");
                    frames.set_key(slot, key);
                    index.insert(&frames, key, slot);
                    map.insert(key.raw(), slot);
                }
                (Change::Replace(_), Some(old)) => {
                    let slot = unused.pop().expect("half of the slots are unused");
                    frames.set_key(slot, key);
                    index.replace(&frames, key, slot);
                    map.insert(key.raw(), slot);
                    frames.set_key(old, BlockKey::default());
                    unused.push(old);
                }
                (Change::Remove(_), Some(slot)) => {
                    index.remove(&frames, key);
                    map.remove(&key.raw());
                    unused.push(slot);
                }
                _ => {}
            }
            for &raw in &known {
                let key = BlockKey::new(FileId((raw >> 32) as u32), raw as u32);
                prop_assert_eq!(index.get(&frames, key), map.get(&raw).copied(), "{:?}", key);
            }
        }
    }

    #[test]
    fn lists_are_vectors(moves in proptest::collection::vec((0u32..12, 0u8..4, any::<bool>()), 0..200)) {
        const LISTS: u8 = 4;
        let mut frames = Frames::new(LISTS, 8, 4);
        let slot = |n: u32| n + u32::from(LISTS);
        let mut twin: Vec<Vec<u32>> = vec![Vec::new(); usize::from(LISTS)];
        twin[0] = (0..8).map(slot).collect();
        twin[2] = (8..12).map(slot).collect();
        for (n, list, front) in moves {
            twin.iter_mut().for_each(|list| list.retain(|&other| other != slot(n)));
            if front {
                frames.move_to_front(slot(n), ListId(list));
                twin[usize::from(list)].insert(0, slot(n));
            } else {
                frames.move_to_back(slot(n), ListId(list));
                twin[usize::from(list)].push(slot(n));
            }
            for (list, twin) in (0..LISTS).map(ListId).zip(&twin) {
                let forwards: Vec<_> = std::iter::successors(frames.front(list), |&s| frames.towards_back(s)).collect();
                let mut backwards: Vec<_> =
                    std::iter::successors(frames.back(list), |&s| frames.towards_front(s)).collect();
                backwards.reverse();
                prop_assert_eq!(&forwards, twin);
                prop_assert_eq!(&backwards, twin);
                prop_assert_eq!(frames.len(list) as usize, twin.len());
            }
        }
    }
}

/// A frame's byte of bits serves flags and count; neither may touch the other.
#[test]
fn flags_and_count_share_a_byte_in_peace() {
    let mut frames = Frames::new(3, 1, 0);
    frames.set(3, flag::PREFETCHED);
    for count in 0..16 {
        frames.set_count(3, count);
        assert_eq!(frames.count(3), count);
        assert!(frames.has(3, flag::PREFETCHED) && !frames.has(3, flag::EXPECTED));
    }
    frames.clear(3, flag::PREFETCHED);
    assert_eq!(frames.count(3), 15);
    assert!(!frames.has(3, flag::PREFETCHED));
}

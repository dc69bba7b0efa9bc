//! Lists as logs: the slab of a replay without time.
//!
//! Blocks are dense numbers there, no reader holds a frame, and frames need no buffer. So a block's
//! number is its slot, and no index is needed. A move in a linked list touches the slot, both
//! neighbours and the one at the front, which are far apart in memory. Here it appends the block to
//! a log, and writes the block's word:
//!
//! ```text
//!   words, by block     [ list | count | position in the log ]     0: the block is in no list
//!
//!   log    3  7  3  9  1  7  4      the blocks in the order of their moves
//!   T1     ·  ·  x  ·  x  ·  ·      the last move of each block of T1: 3 at its back, 1 in front
//!   T2     ·  ·  ·  x  ·  x  x      and of T2: 9, 7, 4
//!                              ▲ end
//! ```
//!
//! All lists are parts of one log, and a bit of each says which entries are its own. An entry whose
//! block was moved again, or went, is nobody's. The log is a ring. When its end comes to an entry
//! that is somebody's, all close ranks, and their blocks' words follow.
//!
//! A reference reaches two places at random: the word, and the bit of the entry that it leaves. The
//! bits of a list take a fortieth of what linked slots take. Known weakness: a walk passes the bits
//! of all lists' entries, 64 at a time, however few are the list's own.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::hint::black_box;

use crate::directory::{Directory, Layout};
use crate::frames::{FETCHING, FIRST_POLICY_LIST, FREE, ListId, NO_GHOST, Slot};
use crate::slab::Slab;
use crate::types::{BlockKey, FileId, StreamId};

use list::{List, bit, last, next};

mod list;

/// Where a word has its list.
const LIST: u32 = u32::BITS - 4;

/// The most lists.
const LISTS: u8 = 1 << (u32::BITS - LIST);

/// Entries of a log by slot. Even where old entries never go, a move writes no more than
/// 1 + 1 / (ENTRIES − 1) words; with four, logs and bits take less memory than
/// [`Frames`](crate::frames::Frames).
const ENTRIES: u64 = 4;

/// A directory's layout without an index: slots are the blocks of file 0, the only one that may be
/// asked for.
#[derive(Clone, Copy, Default, Debug)]
pub struct Logged;

/// Lists as logs. [`FREE`] is the list of blocks that are in no other: its length is that of free
/// frames, and [`NO_GHOST`]'s that of ghosts.
#[derive(Clone, Debug)]
pub struct Logs {
    /// By block, grown as blocks appear.
    words: Vec<u32>,
    log: Box<[Slot]>,
    /// The entry to write next. Those behind it, to the next multiple of 64, are nobody's.
    end: u32,
    lists: Box<[List]>,
    /// The lists that have ghosts, a bit each.
    of_ghosts: u32,
    /// The bits of a word that are a position.
    positions: u32,
    /// Where a word has its count: as many bits as positions take.
    count: u32,
    /// Policies' own words by block; empty until the first one is set.
    notes: Vec<u64>,
}

impl Logs {
    /// Of so many free frames and empty ghosts, in `lists` lists, for a policy whose counts have so
    /// many bits. `None` if a word has no room for a position, or a list: then take
    /// [`Frames`](crate::frames::Frames).
    pub fn new(lists: u8, buffers: u32, ghosts: u32, count_bits: u32) -> Option<Logs> {
        let entries = (u64::from(buffers) + u64::from(ghosts)).saturating_mul(ENTRIES);
        Logs::with_entries(lists, buffers, ghosts, count_bits, u32::try_from(entries).ok()?)
    }

    /// The same with a log of about so many entries, at least one for each slot and 64 more: the
    /// fewer, the more often they close ranks.
    pub fn with_entries(lists: u8, buffers: u32, ghosts: u32, count_bits: u32, entries: u32) -> Option<Logs> {
        let count = LIST.checked_sub(count_bits).filter(|&bits| bits > 0)?;
        let least = buffers.checked_add(ghosts)?.checked_add(u64::BITS)?;
        let entries = entries.max(least).checked_next_multiple_of(u64::BITS)?;
        if lists > LISTS || u64::from(entries) > 1 << count {
            return None;
        }
        let list = |list| List::of(if list < FIRST_POLICY_LIST { 0 } else { (entries / u64::BITS) as usize });
        let mut lists: Box<[List]> = (0..lists.max(FIRST_POLICY_LIST)).map(list).collect();
        lists[usize::from(FREE.0)].len = buffers;
        lists[usize::from(NO_GHOST.0)].len = ghosts;
        Some(Logs {
            words: Vec::new(),
            log: vec![0; entries as usize].into_boxed_slice(),
            end: 0,
            lists,
            of_ghosts: 0,
            positions: u32::MAX >> (u32::BITS - count),
            count,
            notes: Vec::new(),
        })
    }

    /// The bytes that words, log and lists take.
    pub fn footprint(&self) -> usize {
        let lists = self.lists.iter().map(|list| list.own.len() * size_of::<u64>()).sum::<usize>();
        (self.words.len() + self.log.len()) * size_of::<u32>() + lists + self.notes.len() * size_of::<u64>()
    }

    /// Panics unless every block's word and the lists agree. For tests.
    pub fn check(&self) {
        for (at, list) in self.lists.iter().enumerate().skip(FIRST_POLICY_LIST.into()) {
            let entries = (0..self.log.len()).filter(|&entry| list.own[entry / 64] & bit(entry as u32) != 0);
            let own = entries.inspect(|&entry| {
                let word = self.words[self.log[entry] as usize];
                assert_eq!((word >> LIST, word & self.positions), (at as u32, entry as u32), "{entry} of list {at}");
            });
            assert_eq!(own.count(), list.len as usize, "the length of list {at}");
        }
        let used = |list: &ListId| self.words.iter().filter(|&&word| word >> LIST == u32::from(list.0)).count();
        let mut all = (1..self.lists.len() as u8).map(ListId).filter(|&list| list != NO_GHOST);
        assert!(all.all(|list| used(&list) == self.len(list) as usize), "a word of no list");
    }

    fn word(&self, slot: Slot) -> u32 {
        self.words.get(slot as usize).copied().unwrap_or(0)
    }

    /// The bits of a word that are a count.
    fn counts(&self) -> u32 {
        !self.positions & !(u32::MAX << LIST)
    }

    /// Where the bits of the newest entry are.
    #[inline(always)]
    fn newest(&self) -> usize {
        self.end.checked_sub(1).map_or(self.log.len() - 1, |last| last as usize) / 64
    }

    /// Takes a block out of its list, as far as that is concerned: its word stays.
    #[inline(always)]
    fn leave(&mut self, slot: Slot) {
        let word = self.words[slot as usize];
        let at = word & self.positions;
        let newest = self.newest();
        let list = &mut self.lists[(word >> LIST) as usize];
        list.len -= 1;
        if let Some(own) = list.own.get_mut(at as usize / 64) {
            *own &= !bit(at);
            if at == list.back && list.len > 0 {
                list.back_left(newest, &self.log, &self.words);
            }
        }
    }

    /// Puts a block that is in no list at the front of `list`. Its word keeps its count.
    #[inline(always)]
    fn enter(&mut self, slot: Slot, list: ListId) {
        if self.end.is_multiple_of(64) && self.owned(self.end) != 0 {
            self.close_ranks();
        }
        let at = self.append(slot);
        self.lists[usize::from(list.0)].add(at);
        let counts = self.counts();
        let word = &mut self.words[slot as usize];
        *word = *word & counts | u32::from(list.0) << LIST | at;
    }

    /// Writes the next entry of the log, which is nobody's. Returns where.
    #[inline(always)]
    fn append(&mut self, slot: Slot) -> u32 {
        let at = self.end;
        self.log[at as usize] = slot;
        self.end = if at as usize + 1 == self.log.len() { 0 } else { at + 1 };
        at
    }

    /// Which of the 64 entries from `start` on are somebody's.
    fn owned(&self, start: u32) -> u64 {
        self.lists[FIRST_POLICY_LIST.into()..].iter().fold(0, |owned, list| owned | list.own[start as usize / 64])
    }

    /// Closes the gaps between all entries that are somebody's. The oldest of them are from `end`
    /// on.
    #[inline(never)]
    fn close_ranks(&mut self) {
        let (start, size) = (self.end as usize / 64, self.log.len() / 64);
        self.lists.iter_mut().for_each(|list| list.len = if list.own.is_empty() { list.len } else { 0 });
        for place in (start..size).chain(0..start) {
            let mut owned = self.owned(place as u32 * 64);
            // All bits are written anew, none of them behind this place.
            self.lists[FIRST_POLICY_LIST.into()..].iter_mut().for_each(|list| list.own[place] = 0);
            let mut slots = [0; 64];
            let mut count = 0;
            let mut touched = 0;
            while owned != 0 {
                slots[count] = self.log[place * 64 + owned.trailing_zeros() as usize];
                touched ^= self.words[slots[count] as usize];
                count += 1;
                owned &= owned - 1;
            }
            // Their words are read together, before the first of them is changed.
            black_box(touched);
            for &slot in &slots[..count] {
                let at = self.append(slot);
                let word = &mut self.words[slot as usize];
                *word = *word & !self.positions | at;
                self.lists[(*word >> LIST) as usize].add(at);
            }
        }
    }

    /// Touches the memory that references to blocks will need, so that the loads run side by side
    /// and not one after the other; `moves` says whether a hit moves its block.
    pub fn approach(&self, blocks: &[u32], moves: bool) {
        let mut touched = 0;
        for &block in blocks {
            touched ^= u64::from(self.word(block));
        }
        black_box(touched);
        if moves {
            for &block in blocks {
                let word = self.word(block);
                let own = &self.lists[(word >> LIST) as usize].own;
                touched ^= own.get((word & self.positions) as usize / 64).copied().unwrap_or(0);
            }
            black_box(touched);
        }
    }

    /// Gives a block a free frame, in [`FETCHING`]. There are as many words as the largest block's
    /// number.
    fn assign(&mut self, slot: Slot) -> Option<Slot> {
        let at = slot as usize;
        if self.is_empty(FREE) {
            return None;
        }
        if at >= self.words.len() {
            // By an eighth and not to the double: a trace's blocks are counted in many millions.
            let room = (at + 1 + at / 8).min(1 << u32::BITS);
            self.words.reserve_exact(room - self.words.len());
            self.words.resize(room, 0);
        }
        debug_assert_eq!(self.words[at], 0, "block {slot} is there already");
        self.lists[usize::from(FREE.0)].len -= 1;
        self.lists[usize::from(FETCHING.0)].len += 1;
        self.words[at] = u32::from(FETCHING.0) << LIST;
        Some(slot)
    }

    fn release(&mut self, slot: Slot) {
        let home = if self.is_ghost(slot) { NO_GHOST } else { FREE };
        self.leave(slot);
        self.lists[usize::from(home.0)].len += 1;
        self.words[slot as usize] = 0;
        self.clear_note(slot);
    }

    fn release_to_ghost(&mut self, slot: Slot, list: ListId) {
        if self.is_empty(NO_GHOST) {
            return self.release(slot);
        }
        self.leave(slot);
        self.lists[usize::from(FREE.0)].len += 1;
        self.lists[usize::from(NO_GHOST.0)].len -= 1;
        self.of_ghosts |= 1 << list.0;
        self.words[slot as usize] = 0;
        self.clear_note(slot);
        self.enter(slot, list);
    }

    fn clear_note(&mut self, slot: Slot) {
        if let Some(note) = self.notes.get_mut(slot as usize) {
            *note = 0;
        }
    }
}

impl Slab for Logs {
    #[inline(always)]
    fn len(&self, list: ListId) -> u32 {
        self.lists[usize::from(list.0)].len
    }

    #[inline(always)]
    fn is_empty(&self, list: ListId) -> bool {
        self.len(list) == 0
    }

    fn front(&self, list: ListId) -> Option<Slot> {
        let List { own, front, len, .. } = &self.lists[usize::from(list.0)];
        if *len == 0 || own.is_empty() {
            return None;
        }
        let is_there = own[*front as usize / 64] & bit(*front) != 0;
        let at = if is_there { Some(*front) } else { last(own, *front, self.newest()) };
        at.map(|at| self.log[at as usize])
    }

    #[inline]
    fn back(&self, list: ListId) -> Option<Slot> {
        let list = &self.lists[usize::from(list.0)];
        (list.len > 0 && !list.own.is_empty()).then(|| self.log[list.back as usize])
    }

    #[inline]
    fn unpinned_from_back(&self, list: ListId) -> Option<Slot> {
        self.back(list)
    }

    fn unpinned_from_front(&self, list: ListId) -> Option<Slot> {
        self.front(list)
    }

    fn towards_front(&self, slot: Slot) -> Option<Slot> {
        let at = self.word(slot) & self.positions;
        next(&self.lists[usize::from(self.list(slot).0)].own, at, self.newest()).map(|at| self.log[at as usize])
    }

    fn towards_back(&self, slot: Slot) -> Option<Slot> {
        let at = self.word(slot) & self.positions;
        last(&self.lists[usize::from(self.list(slot).0)].own, at, self.newest()).map(|at| self.log[at as usize])
    }

    #[inline(always)]
    fn list(&self, slot: Slot) -> ListId {
        ListId((self.word(slot) >> LIST) as u8)
    }

    #[inline(always)]
    fn key(&self, slot: Slot) -> BlockKey {
        BlockKey::new(FileId(0), slot)
    }

    #[inline(always)]
    fn is_ghost(&self, slot: Slot) -> bool {
        self.of_ghosts >> self.list(slot).0 & 1 != 0
    }

    fn pins(&self, _slot: Slot) -> u16 {
        0
    }

    fn owner(&self, _slot: Slot) -> StreamId {
        StreamId::NONE
    }

    /// Without time, a block is there at once, and as it is wanted: it has no flag.
    fn has(&self, _slot: Slot, _mask: u8) -> bool {
        false
    }

    #[inline(always)]
    fn count(&self, slot: Slot) -> u8 {
        ((self.word(slot) & self.counts()) >> self.count) as u8
    }

    fn note(&self, slot: Slot) -> u64 {
        self.notes.get(slot as usize).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn move_to_front(&mut self, slot: Slot, list: ListId) {
        self.leave(slot);
        self.enter(slot, list);
    }

    /// Moves what is in front of it, too.
    fn move_behind(&mut self, slot: Slot, neighbour: Slot) {
        let list = self.list(neighbour);
        self.move_to_front(slot, list);
        let mut at = Some(neighbour);
        while let Some(newer) = at.filter(|&at| at != slot) {
            at = self.towards_front(newer);
            self.move_to_front(newer, list);
        }
    }

    fn clear(&mut self, _slot: Slot, _mask: u8) {}

    #[inline(always)]
    fn set_count(&mut self, slot: Slot, count: u8) {
        let counts = self.counts();
        let count = u32::from(count) << self.count;
        debug_assert_eq!(count & !counts, 0, "a count of more bits than the policy said");
        let word = &mut self.words[slot as usize];
        *word = *word & !counts | count & counts;
    }

    fn set_note(&mut self, slot: Slot, note: u64) {
        let at = slot as usize;
        if at >= self.notes.len() {
            self.notes.resize(self.words.len().max(at + 1), 0);
        }
        self.notes[at] = note;
    }
}

impl Layout for Logged {
    type Slab = Logs;

    #[inline(always)]
    fn find(directory: &Directory<Logged>, key: BlockKey) -> Option<Slot> {
        debug_assert_eq!(key.file().0, 0, "logs serve one file");
        (directory.frames.word(key.block()) != 0).then_some(key.block())
    }

    #[inline]
    fn assign(directory: &mut Directory<Logged>, key: BlockKey, list: ListId) -> Option<Slot> {
        let slot = directory.frames.assign(key.block())?;
        if list != FETCHING {
            directory.frames.move_to_front(slot, list);
        }
        Some(slot)
    }

    #[inline]
    fn release(directory: &mut Directory<Logged>, slot: Slot) {
        directory.frames.release(slot);
    }

    #[inline]
    fn release_to_ghost(directory: &mut Directory<Logged>, slot: Slot, list: ListId) {
        directory.frames.release_to_ghost(slot, list);
    }
}

impl Directory<Logged> {
    /// A directory over logs.
    pub fn logged(logs: Logs) -> Directory<Logged> {
        Directory::of(logs, Logged)
    }
}

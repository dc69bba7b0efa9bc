//! Blocks in the order of their last access, and where in that order each stands, in O(log n): an
//! order-statistic list.
//!
//! The paper's list costs O(n) an access (AMP §3.1, "the cost of computing R̄ per access is
//! O(|L|)"). Here every access gets the next number; a block has that of its last access, and a
//! Fenwick tree counts the numbers in use. A block's position, the oldest's being 0, is how many
//! smaller numbers are in use:
//!
//! ```text
//!   accesses   4 2 3 1 2 3
//!   numbers    0 1 2 3 4 5          L = {4, 1, 2, 3}
//!   in use     ■ · · ■ ■ ■          block 1 has number 3: position 1
//! ```
//!
//! When numbers run out, blocks are numbered anew in their order, which happens at most once in as
//! many accesses as there are blocks. A forgotten block stays in the table, without a number in
//! use, until then.

use alloc::vec::Vec;

/// The fewest numbers that there are.
const LEAST: usize = 64;

/// Numbers whose bits share a word.
const WORD: usize = u64::BITS as usize;

/// An order of blocks, each with a note of the caller's.
#[derive(Clone, Debug)]
pub struct Order<T> {
    /// By number.
    entries: Vec<Entry<T>>,
    /// A bit a number, from the lowest of each word on: whether it is in use.
    used: Vec<u64>,
    /// Node i, from 1, counts the numbers in use among the i & -i that end with number i - 1.
    tree: Vec<u32>,
    /// Open addressing by block: its number, plus one; 0 is empty. At most half full.
    table: Vec<u32>,
    /// How many numbers are in use.
    len: u32,
    /// No number below this is in use.
    first: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    block: u64,
    note: T,
}

impl<T> Default for Order<T> {
    fn default() -> Order<T> {
        Order { entries: Vec::new(), used: Vec::new(), tree: Vec::new(), table: Vec::new(), len: 0, first: 0 }
    }
}

impl<T: Copy> Order<T> {
    /// How many blocks it has, |L|.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A block is accessed, and gets a note. Returns where it stood until then, the oldest block at
    /// 0, and its note; `None` if it is new.
    pub fn access(&mut self, block: u64, note: T) -> Option<(u32, T)> {
        if self.entries.len() + 1 >= self.tree.len() {
            self.number_anew(|_| true);
        }
        let number = self.entries.len() as u32;
        let cell = self.cell(block);
        let before = core::mem::replace(&mut self.table[cell], number + 1).checked_sub(1);
        self.entries.push(Entry { block, note });
        self.used[number as usize / WORD] |= 1 << (number as usize % WORD);
        self.add(number, 1);
        self.len += 1;
        let before = before.filter(|&before| self.is_used(before))?;
        let position = self.below(before);
        self.drop(before);
        Some((position, self.entries[before as usize].note))
    }

    /// Forgets a block, and returns its note; `None` if it is not there.
    pub fn forget(&mut self, block: u64) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let number = self.table[self.cell(block)].checked_sub(1)?;
        self.is_used(number).then(|| {
            self.drop(number);
            self.entries[number as usize].note
        })
    }

    /// Forgets the oldest block, if `old` holds for its note, and returns that note.
    pub fn forget_oldest(&mut self, old: impl Fn(&T) -> bool) -> Option<T> {
        while (self.first as usize) < self.entries.len() && !self.is_used(self.first) {
            self.first += 1;
        }
        let oldest = self.entries.get(self.first as usize)?;
        let note = oldest.note;
        old(&note).then(|| {
            self.drop(self.first);
            note
        })
    }

    /// Forgets the blocks that `keep` does not keep.
    pub fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        self.number_anew(keep);
    }

    /// The bytes that it takes.
    pub fn footprint(&self) -> usize {
        let entries = self.entries.capacity() * size_of::<Entry<T>>() + self.used.capacity() * size_of::<u64>();
        entries + (self.tree.capacity() + self.table.capacity()) * size_of::<u32>()
    }

    fn number_anew(&mut self, keep: impl Fn(u64) -> bool) {
        let mut number = 0;
        self.entries.retain(|entry| {
            let used = is_used(&self.used, number);
            number += 1;
            used && keep(entry.block)
        });
        let blocks = self.entries.len();
        let room = (blocks * 2).next_power_of_two().max(LEAST);
        self.make_room(room);
        self.used.extend((0..room / WORD).map(|word| ones(blocks.saturating_sub(word * WORD))));
        self.table.resize(room * 2, 0);
        // All numbers up to that of the newest block are in use: of those that end with a node's,
        // all that are not beyond it.
        let used = |node: usize| node.min(blocks).saturating_sub(node & (node.wrapping_sub(1)));
        self.tree.extend((0..=room).map(|node| used(node) as u32));
        (self.len, self.first) = (blocks as u32, 0);
        for number in 0..self.len {
            let cell = self.cell(self.entries[number as usize].block);
            self.table[cell] = number + 1;
        }
    }

    /// Empties all but the entries, and has room for so many numbers: no more, since a context that
    /// is only watched has few blocks left.
    fn make_room(&mut self, room: usize) {
        self.used.clear();
        self.tree.clear();
        self.table.clear();
        if self.entries.capacity() != room {
            self.entries.shrink_to(room);
            self.entries.reserve_exact(room - self.entries.len());
            self.used = Vec::with_capacity(room / WORD);
            self.tree = Vec::with_capacity(room + 1);
            self.table = Vec::with_capacity(room * 2);
        }
    }

    fn is_used(&self, number: u32) -> bool {
        is_used(&self.used, number as usize)
    }

    /// Where in the table the block is, or would go.
    fn cell(&self, block: u64) -> usize {
        let mask = self.table.len() - 1;
        let mut at = (block.wrapping_mul(0x94d0_49bb_1331_11eb) >> 32) as usize & mask;
        while let Some(number) = self.table[at].checked_sub(1)
            && self.entries[number as usize].block != block
        {
            at = (at + 1) & mask;
        }
        at
    }

    fn drop(&mut self, number: u32) {
        self.used[number as usize / WORD] &= !(1 << (number as usize % WORD));
        self.add(number, -1);
        self.len -= 1;
    }

    /// How many numbers below this one are in use.
    fn below(&self, number: u32) -> u32 {
        let mut node = number as usize;
        let mut sum = 0;
        while node > 0 {
            sum += self.tree[node];
            node &= node - 1;
        }
        sum
    }

    fn add(&mut self, number: u32, by: i32) {
        let mut node = number as usize + 1;
        while let Some(count) = self.tree.get_mut(node) {
            *count = count.wrapping_add_signed(by);
            node += node & node.wrapping_neg();
        }
    }
}

fn is_used(used: &[u64], number: usize) -> bool {
    used[number / WORD] >> (number % WORD) & 1 == 1
}

/// So many ones, at most a word of them, from the lowest bit on.
fn ones(count: usize) -> u64 {
    if count < WORD { (1 << count) - 1 } else { u64::MAX }
}

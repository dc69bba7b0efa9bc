//! Blocks in the order of their last access, and where in that order each stands, in O(log n): an order-statistic list.
//!
//! The paper's list costs O(n) an access (AMP §3.1, "the cost of computing R̄ per access is O(|L|)"). Here every access gets the next
//! number; a block has that of its last access, and a Fenwick tree counts the numbers in use. A block's position, the oldest's being 0,
//! is how many smaller numbers are in use:
//!
//! ```text
//!   accesses   4 2 3 1 2 3
//!   numbers    0 1 2 3 4 5          L = {4, 1, 2, 3}
//!   in use     ■ · · ■ ■ ■          block 1 has number 3: position 1
//! ```
//!
//! When numbers run out, blocks are numbered anew in their order, which happens once in as many accesses as there are blocks.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// The fewest numbers that there are.
const LEAST: usize = 64;

/// An order of blocks, each named by a number of the caller's.
#[derive(Clone, Debug)]
pub struct Order {
    /// The number of each block's last access.
    last: BTreeMap<u64, u32>,
    /// Node i, from 1, counts the numbers in use among the i & -i that end with number i - 1.
    tree: Vec<u32>,
    /// The number that comes next.
    next: u32,
}

impl Default for Order {
    fn default() -> Order {
        Order { last: BTreeMap::new(), tree: vec![0; LEAST + 1], next: 0 }
    }
}

impl Order {
    /// How many blocks it has, |L|.
    pub fn len(&self) -> u32 {
        self.last.len() as u32
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// A block is accessed. Returns where it stood until then, the oldest block at 0; `None` if it is new.
    pub fn access(&mut self, block: u64) -> Option<u32> {
        if self.next as usize + 1 >= self.tree.len() {
            self.number_anew();
        }
        let number = self.next;
        self.next += 1;
        self.add(number, 1);
        let before = self.last.insert(block, number)?;
        let position = self.below(before);
        self.add(before, -1);
        Some(position)
    }

    /// Forgets the blocks that `keep` does not want.
    pub fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        self.last.retain(|&block, _| keep(block));
        self.number_anew();
    }

    /// The bytes that it takes, about: a block in the map has its number, its name, and a part of a node.
    pub fn footprint(&self) -> usize {
        self.last.len() * 24 + self.tree.len() * 4
    }

    fn number_anew(&mut self) {
        let mut blocks: Vec<(u32, u64)> = self.last.iter().map(|(&block, &number)| (number, block)).collect();
        blocks.sort_unstable();
        self.tree = vec![0; (blocks.len() * 2).max(LEAST) + 1];
        self.next = blocks.len() as u32;
        for (number, (_, block)) in (0..).zip(blocks) {
            self.last.insert(block, number);
            self.add(number, 1);
        }
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

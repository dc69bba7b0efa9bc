//! The inverse lottery (SAC §2.3): which partition gives up a frame.
//!
//! "Each partition is given a number of tickets in inverse proportion to its desired size. When a
//! replacement is needed, a lottery is held by selecting a random ticket; the partition holding
//! that ticket is picked as the victim."
//!
//! Tickets are kept as a Fenwick tree: a draw, and a change of one partition's tickets, cost the
//! logarithm of the number of partitions. A partition that has no frame to give sits out until it
//! gets one, so that no draw is in vain twice.

use alloc::vec;
use alloc::vec::Vec;

use crate::random::Random;

/// Tickets of a partition as large as the cache.
const TICKETS: u64 = 256;

/// How often each partition gives up a frame.
#[derive(Clone, Debug)]
pub struct Lottery {
    /// Tickets of each partition, taking part or not.
    tickets: Vec<u64>,
    takes_part: Vec<bool>,
    /// Node i, from 1, holds the sum of tickets of the i & -i partitions that end with partition i
    /// - 1.
    tree: Vec<u64>,
    random: Random,
}

impl Lottery {
    /// For `partitions` of one frame each. Every one takes part.
    pub fn new(partitions: usize, seed: u32) -> Lottery {
        let mut lottery = Lottery {
            tickets: vec![0; partitions],
            takes_part: vec![true; partitions],
            tree: vec![0; partitions + 1],
            random: Random::new(seed),
        };
        lottery.issue(core::iter::repeat_n(1, partitions), 1);
        lottery
    }

    /// Gives tickets out anew, in inverse proportion to `sizes` of `frames`. Every partition takes
    /// part again.
    pub fn issue(&mut self, sizes: impl Iterator<Item = u32>, frames: u32) {
        self.tree.fill(0);
        self.takes_part.fill(true);
        for (partition, size) in sizes.take(self.tickets.len()).enumerate() {
            self.tickets[partition] = (u64::from(frames) * TICKETS / u64::from(size.max(1))).max(1);
            self.add(partition, self.tickets[partition] as i64);
        }
    }

    /// Draws a ticket. `None` if no partition takes part.
    pub fn draw(&mut self) -> Option<usize> {
        let all = self.sum();
        if all == 0 {
            return None;
        }
        let mut ticket = self.random.below(all);
        let mut node = 0;
        let mut step = self.tickets.len().next_power_of_two();
        while step > 0 {
            if let Some(&sum) = self.tree.get(node + step)
                && sum <= ticket
            {
                node += step;
                ticket -= sum;
            }
            step /= 2;
        }
        Some(node)
    }

    /// A partition has nothing to give.
    pub fn sits_out(&mut self, partition: usize) {
        if core::mem::take(&mut self.takes_part[partition]) {
            self.add(partition, -(self.tickets[partition] as i64));
        }
    }

    /// A partition has got a frame.
    #[inline]
    pub fn takes_part(&mut self, partition: usize) {
        if self.takes_part.get(partition) == Some(&false) {
            self.takes_part[partition] = true;
            self.add(partition, self.tickets[partition] as i64);
        }
    }

    /// The bytes that it takes.
    pub fn footprint(&self) -> usize {
        self.tickets.len() * 17
    }

    fn sum(&self) -> u64 {
        let mut node = self.tickets.len();
        let mut sum = 0;
        while node > 0 {
            sum += self.tree[node];
            node &= node - 1;
        }
        sum
    }

    fn add(&mut self, partition: usize, tickets: i64) {
        let mut node = partition + 1;
        while let Some(sum) = self.tree.get_mut(node) {
            *sum = sum.wrapping_add_signed(tickets);
            node += node & node.wrapping_neg();
        }
    }
}

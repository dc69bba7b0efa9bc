//! Policies that keep objects in one queue.
//!
//! ```text
//!   newest → … … … ← oldest
//!                ↑ hand: where Sieve goes on looking, towards the newest
//! ```

use super::Objects;
use super::lists::Lists;

/// The rule of a queue: the effect of a use, and the object that goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// A use makes it the newest; the oldest goes.
    Lru,
    /// The oldest goes.
    Fifo,
    /// A use marks; a marked oldest becomes the newest without its mark.
    Clock,
    /// A use marks; the hand passes marked ones by, and takes their marks.
    Sieve,
}

/// The only list.
const ALL: usize = 0;

pub(super) struct Queue {
    order: Order,
    capacity: u64,
    lists: Lists<1>,
    hand: Option<u32>,
}

impl Queue {
    pub(super) fn new(order: Order, capacity: u64) -> Queue {
        Queue { order, capacity, lists: Lists::new(), hand: None }
    }

    /// The object that goes next.
    fn victim(&mut self) -> Option<u32> {
        let lists = &mut self.lists;
        match self.order {
            Order::Lru | Order::Fifo => {}
            Order::Clock => {
                while let Some(oldest) = lists.oldest(ALL)
                    && std::mem::take(lists.uses(oldest)) > 0
                {
                    lists.move_to(ALL, oldest);
                }
            }
            Order::Sieve => {
                let mut at = self.hand.or(lists.oldest(ALL))?;
                while std::mem::take(lists.uses(at)) > 0 {
                    at = lists.younger(at).or(lists.oldest(ALL))?;
                }
                self.hand = lists.younger(at);
                return Some(at);
            }
        }
        lists.oldest(ALL)
    }
}

impl Objects for Queue {
    fn refer(&mut self, key: u32, bytes: u64, enters: bool) -> bool {
        if self.lists.list(key).is_some() {
            match self.order {
                Order::Lru => self.lists.move_to(ALL, key),
                Order::Fifo => {}
                Order::Clock | Order::Sieve => *self.lists.uses(key) = 1,
            }
            return true;
        }
        if !enters {
            return false;
        }
        while self.lists.bytes(ALL) + bytes > self.capacity
            && let Some(victim) = self.victim()
        {
            self.lists.take(victim);
        }
        self.lists.put(ALL, key, bytes);
        false
    }
}

//! Policies that keep objects in one queue, the youngest at its head.
//!
//! ```text
//!   head → new … … … old ← tail
//!                ↑ hand: where Sieve goes on looking, towards the head
//! ```

use super::Objects;

/// No object.
const NONE: u32 = u32::MAX;

/// The rule of a queue: the effect of a use, and the object that goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// A use moves to the head; the tail goes.
    Lru,
    /// The tail goes.
    Fifo,
    /// A use marks; a marked tail moves to the head without its mark.
    Clock,
    /// A use marks; the hand passes marked ones by, and takes their marks.
    Sieve,
}

/// An object that may be there.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// Its bytes, if it is there.
    bytes: Option<u32>,
    marked: bool,
    /// Towards the head.
    younger: u32,
    /// Towards the tail.
    older: u32,
}

const ABSENT: Link = Link { bytes: None, marked: false, younger: NONE, older: NONE };

pub(super) struct Queue {
    order: Order,
    capacity: u64,
    held: u64,
    /// By key.
    links: Vec<Link>,
    head: u32,
    tail: u32,
    hand: u32,
}

impl Queue {
    pub(super) fn new(order: Order, capacity: u64) -> Queue {
        Queue { order, capacity, held: 0, links: Vec::new(), head: NONE, tail: NONE, hand: NONE }
    }

    fn link(&mut self, key: u32) -> &mut Link {
        &mut self.links[key as usize]
    }

    fn put_at_head(&mut self, key: u32) {
        let head = std::mem::replace(&mut self.head, key);
        let link = self.link(key);
        (link.younger, link.older) = (NONE, head);
        if head == NONE {
            self.tail = key;
        } else {
            self.link(head).younger = key;
        }
    }

    fn take_out(&mut self, key: u32) {
        let Link { younger, older, .. } = *self.link(key);
        if younger == NONE {
            self.head = older;
        } else {
            self.link(younger).older = older;
        }
        if older == NONE {
            self.tail = younger;
        } else {
            self.link(older).younger = younger;
        }
    }

    /// The object that goes next.
    fn victim(&mut self) -> u32 {
        match self.order {
            Order::Lru | Order::Fifo => self.tail,
            Order::Clock => {
                while std::mem::take(&mut self.link(self.tail).marked) {
                    let tail = self.tail;
                    self.take_out(tail);
                    self.put_at_head(tail);
                }
                self.tail
            }
            Order::Sieve => {
                let mut at = if self.hand == NONE { self.tail } else { self.hand };
                while std::mem::take(&mut self.link(at).marked) {
                    let younger = self.link(at).younger;
                    at = if younger == NONE { self.tail } else { younger };
                }
                self.hand = self.link(at).younger;
                at
            }
        }
    }

    fn give_up(&mut self) {
        let victim = self.victim();
        self.take_out(victim);
        let link = self.link(victim);
        let bytes = link.bytes.take().unwrap_or(0);
        link.marked = false;
        self.held -= u64::from(bytes);
    }
}

impl Objects for Queue {
    fn refer(&mut self, key: u32, bytes: u64, enters: bool) -> bool {
        if self.links.len() <= key as usize {
            self.links.resize(key as usize + 1, ABSENT);
        }
        if self.link(key).bytes.is_some() {
            match self.order {
                Order::Lru => {
                    self.take_out(key);
                    self.put_at_head(key);
                }
                Order::Fifo => {}
                Order::Clock | Order::Sieve => self.link(key).marked = true,
            }
            return true;
        }
        if !enters {
            return false;
        }
        while self.held + bytes > self.capacity {
            self.give_up();
        }
        self.held += bytes;
        // A request has 32 bits of bytes.
        self.link(key).bytes = Some(bytes as u32);
        self.put_at_head(key);
        false
    }
}

//! No order at all.

use std::collections::VecDeque;

use forebay_core::Instant;

use super::{Next, Scheduler, Waiting};

/// First come, first served.
#[derive(Debug, Default)]
pub struct Noop(VecDeque<Waiting>);

impl Scheduler for Noop {
    fn push(&mut self, waiting: Waiting) {
        self.0.push_back(waiting);
    }

    fn pop(&mut self, _at: Instant) -> Next {
        self.0.pop_front().map_or(Next::Nothing, Next::Serve)
    }

    fn contains(&self, id: u64) -> bool {
        self.0.iter().any(|waiting| waiting.id == id)
    }

    fn remove(&mut self, id: u64) -> bool {
        let place = self.0.iter().position(|waiting| waiting.id == id);
        place.and_then(|place| self.0.remove(place)).is_some()
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

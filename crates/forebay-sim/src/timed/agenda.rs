//! Virtual time and the events that are due. Ordered by (moment, order of causing), so that a run
//! is determined.
//!
//! ```text
//!   present ─ events for this very moment, in order
//!   heap ──── later events, earliest first
//! ```

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use forebay_core::Instant;

/// An event that is due.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum What {
    /// Look at the queue of this device.
    Device(u16),
    /// This reader asks for its next request.
    Ask(u32),
    /// This reader's computation is over.
    Computed(u32),
    /// The next request of an open loop comes.
    Arrival,
    /// A fetch of this level has arrived above the link.
    Arrived(u8, u32),
    /// A fetch of this level has arrived below the link.
    Below(u8, u32),
    /// The core of this level wants a tick.
    Tick(u8),
    /// Take a sample.
    Sample,
    /// The warm-up is over: counting begins.
    WarmedUp,
    /// The limit of the run is reached.
    End,
}

/// The clock and its agenda.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    now: Instant,
    present: VecDeque<What>,
    later: BinaryHeap<Reverse<(Instant, u64, What)>>,
    order: u64,
}

impl Agenda {
    /// The moment.
    pub(super) fn now(&self) -> Instant {
        self.now
    }

    /// `what` is due at `at`, not before this moment.
    #[inline]
    pub(super) fn put(&mut self, at: Instant, what: What) {
        if at <= self.now {
            self.present.push_back(what);
        } else {
            self.order += 1;
            self.later.push(Reverse((at, self.order, what)));
        }
    }

    /// The next event that is due at this moment. Those that were put on the agenda before this
    /// moment come first.
    #[inline]
    pub(super) fn due(&mut self) -> Option<What> {
        match self.later.peek() {
            Some(&Reverse((at, _, what))) if at <= self.now => {
                self.later.pop();
                Some(what)
            }
            _ => self.present.pop_front(),
        }
    }

    /// Whether an event is due at this moment.
    pub(super) fn is_at_work(&self) -> bool {
        !self.present.is_empty()
    }

    /// Goes on to the next moment with an event. `false` if there is none.
    pub(super) fn advance(&mut self) -> bool {
        debug_assert!(self.present.is_empty(), "this moment is not over");
        self.later.peek().map(|&Reverse((at, ..))| self.now = at).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a list that is sorted stably by time; events are put while others are taken.
        #[test]
        fn the_earliest_first_and_of_these_the_one_that_was_put_first(
            steps in proptest::collection::vec((0u64..5, 0usize..4), 1..200),
        ) {
            let mut agenda = Agenda::default();
            let mut naive: Vec<(u64, u32)> = Vec::new();
            for (id, (delay, taken)) in steps.into_iter().enumerate() {
                let at = agenda.now().plus(delay);
                agenda.put(at, What::Ask(id as u32));
                naive.push((at.0, id as u32));
                for _ in 0..taken {
                    let got = loop {
                        match agenda.due() {
                            Some(What::Ask(id)) => break Some((agenda.now().0, id)),
                            Some(_) => unreachable!("nothing else was put"),
                            None if agenda.advance() => {}
                            None => break None,
                        }
                    };
                    let first = naive.iter().enumerate().min_by_key(|(_, (at, _))| *at).map(|(place, _)| place);
                    prop_assert_eq!(got, first.map(|place| naive.remove(place)));
                }
            }
        }
    }

    #[test]
    fn entries_are_small() {
        assert_eq!(size_of::<(Instant, u64, What)>(), 24);
    }
}

//! In which order waiting requests go to the device.

use std::collections::{BTreeMap, VecDeque};

use forebay_core::Instant;

use crate::Request;

/// A request that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// When it arrived.
    pub at: Instant,
    /// The driver's name for it.
    pub id: u64,
    /// What it wants.
    pub request: Request,
}

/// An order of service.
pub trait Scheduler: Send {
    /// A request arrives.
    fn push(&mut self, waiting: Waiting);
    /// The next one, the device having last read up to byte `head`.
    fn pop(&mut self, head: u64) -> Option<Waiting>;
    /// How many wait.
    fn len(&self) -> usize;
    /// Whether none waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// First come, first served.
#[derive(Debug, Default)]
pub struct Noop(VecDeque<Waiting>);

impl Scheduler for Noop {
    fn push(&mut self, waiting: Waiting) {
        self.0.push_back(waiting);
    }

    fn pop(&mut self, _head: u64) -> Option<Waiting> {
        self.0.pop_front()
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// The elevator, cyclic SCAN: upwards from the head, then from the lowest place again. A request that arrives behind the head
/// waits for the next round, and one that arrives at a place already in the queue is served after those there, so that
/// every request is served within two rounds of those waiting when it came, unless new ones keep arriving before the head.
#[derive(Debug, Default)]
pub struct Elevator {
    /// By place, then by order of arrival.
    waiting: BTreeMap<(u64, u64), Waiting>,
    arrivals: u64,
}

impl Scheduler for Elevator {
    fn push(&mut self, waiting: Waiting) {
        self.waiting.insert((waiting.request.start, self.arrivals), waiting);
        self.arrivals += 1;
    }

    fn pop(&mut self, head: u64) -> Option<Waiting> {
        let ahead = self.waiting.range((head, 0)..).next().map(|(&key, _)| key);
        let key = ahead.or_else(|| self.waiting.keys().next().copied())?;
        self.waiting.remove(&key)
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn waiting(id: u64, start: u64) -> Waiting {
        Waiting { at: Instant(0), id, request: Request { start, len: 1 } }
    }

    #[test]
    fn cyclic_scan_goes_up_and_starts_over() {
        let mut elevator = Elevator::default();
        for (id, start) in [50, 10, 70, 50, 30].into_iter().enumerate() {
            elevator.push(waiting(id as u64, start));
        }
        let mut order = Vec::new();
        let mut head = 40;
        while let Some(next) = elevator.pop(head) {
            head = next.request.start + 1;
            order.push(next.id);
            if order.len() == 1 {
                elevator.push(waiting(9, 51));
            }
        }
        // 50 (first of two), 51, 70, then from the bottom: 10, 30 and the second 50, whose place the head had passed.
        assert_eq!(order, [0, 9, 2, 1, 4, 3]);
    }

    proptest! {
        /// Against a linear scan over a list.
        #[test]
        fn elevator_is_a_scan_of_a_list(steps in proptest::collection::vec(proptest::option::of(0u64..50), 1..200)) {
            let mut elevator = Elevator::default();
            let mut list: Vec<Waiting> = Vec::new();
            let mut head = 0;
            for (id, step) in steps.into_iter().enumerate() {
                if let Some(start) = step {
                    elevator.push(waiting(id as u64, start));
                    list.push(waiting(id as u64, start));
                    continue;
                }
                let key = |w: &&Waiting| (w.request.start < head, w.request.start, w.id);
                let expected = list.iter().min_by_key(key).copied();
                list.retain(|w| Some(*w) != expected);
                let got = elevator.pop(head);
                prop_assert_eq!(got, expected);
                head = got.map_or(head, |w| w.request.start + 1);
                prop_assert_eq!(elevator.len(), list.len());
            }
        }

        /// Nobody who waits is passed over by a whole round of others that came later.
        #[test]
        fn nobody_starves_at_a_fixed_queue_length(starts in proptest::collection::vec(0u64..1000, 200)) {
            let mut elevator = Elevator::default();
            let mut served = vec![None; starts.len()];
            let (mut head, mut round) = (0, 0);
            let mut arrived = Vec::new();
            for (id, &start) in starts.iter().enumerate() {
                elevator.push(waiting(id as u64, start));
                arrived.push(round);
                if id < 8 {
                    continue;
                }
                let next = elevator.pop(head).unwrap();
                round += u64::from(next.request.start < head);
                head = next.request.start + 1;
                served[next.id as usize] = Some(round);
            }
            for (arrived, served) in arrived.iter().zip(&served) {
                // Those that were served at all were so by the end of the round after the one in which they came.
                prop_assert!(served.is_none_or(|served| served <= arrived + 1), "{arrived} {served:?}");
            }
        }
    }
}

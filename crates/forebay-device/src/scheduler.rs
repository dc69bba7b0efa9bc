//! In which order waiting requests go to the device.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

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
    /// The next one, to be served at once.
    fn pop(&mut self) -> Option<Waiting>;
    /// Takes one back that waits. `false` if there is none of that name. It may look at all that wait: this is rare.
    fn remove(&mut self, id: u64) -> bool;
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

    fn pop(&mut self) -> Option<Waiting> {
        self.0.pop_front()
    }

    fn remove(&mut self, id: u64) -> bool {
        let place = self.0.iter().position(|waiting| waiting.id == id);
        place.and_then(|place| self.0.remove(place)).is_some()
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// The elevator, cyclic SCAN: upwards, then from the lowest place again. Who comes ahead of the elevator is served in this
/// round, who comes behind it, or to the very place where it stands, in the next one. So nobody waits longer than two rounds.
#[derive(Debug, Default)]
pub struct Elevator {
    /// By place, then by order of arrival.
    waiting: BTreeMap<(u64, u64), Waiting>,
    arrivals: u64,
    /// The place where it stands, and how many had arrived when it came there.
    stand: Option<(u64, u64)>,
}

impl Scheduler for Elevator {
    fn push(&mut self, waiting: Waiting) {
        self.waiting.insert((waiting.request.start, self.arrivals), waiting);
        self.arrivals += 1;
    }

    fn pop(&mut self) -> Option<Waiting> {
        let first = |range: (Bound<_>, Bound<_>)| self.waiting.range(range).next().map(|(&key, _)| key);
        let ahead = self.stand.and_then(|(place, arrivals)| {
            let here = (Bound::Included((place, 0)), Bound::Excluded((place, arrivals)));
            first(here).or_else(|| first((Bound::Excluded((place, u64::MAX)), Bound::Unbounded)))
        });
        let key = ahead.or_else(|| self.waiting.keys().next().copied())?;
        if ahead.is_none() || self.stand.is_none_or(|(place, _)| place != key.0) {
            self.stand = Some((key.0, self.arrivals));
        }
        self.waiting.remove(&key)
    }

    fn remove(&mut self, id: u64) -> bool {
        let key = self.waiting.iter().find(|(_, waiting)| waiting.id == id).map(|(&key, _)| key);
        key.and_then(|key| self.waiting.remove(&key)).is_some()
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
        Waiting { at: Instant(0), id, request: Request::read(start, 1) }
    }

    #[test]
    fn cyclic_scan_goes_up_and_starts_over() {
        let mut elevator = Elevator::default();
        elevator.push(waiting(100, 40));
        elevator.pop();
        for (id, start) in [50, 10, 70, 50, 30].into_iter().enumerate() {
            elevator.push(waiting(id as u64, start));
        }
        let mut order = Vec::new();
        while let Some(next) = elevator.pop() {
            order.push(next.id);
            if order.len() == 1 {
                elevator.push(waiting(8, 51));
                elevator.push(waiting(9, 50));
            }
        }
        // Both that waited at 50, then up: 51, 70; again from the bottom: 10, 30, and who came to 50 while it stood there.
        assert_eq!(order, [0, 3, 8, 2, 1, 4, 9]);
    }

    proptest! {
        /// Rounds go upwards, each takes everyone ahead, and whoever waits is served by the end of the next round.
        #[test]
        fn rounds_go_up_and_nobody_starves(steps in proptest::collection::vec(proptest::option::of(0u64..30), 1..300)) {
            let mut elevator = Elevator::default();
            let mut queue: Vec<(Waiting, u64)> = Vec::new(); // with the round in which it came
            let (mut round, mut last) = (0, 0);
            for (id, step) in steps.into_iter().enumerate() {
                if let Some(start) = step {
                    elevator.push(waiting(id as u64, start));
                    queue.push((waiting(id as u64, start), round));
                    continue;
                }
                let Some(next) = elevator.pop() else {
                    prop_assert!(queue.is_empty(), "work is waiting");
                    continue;
                };
                let at = queue.iter().position(|(w, _)| *w == next).expect("served once");
                let (_, came) = queue.remove(at);
                let start = next.request.start;
                let skipped = |place: u64| place > last && place < start;
                if start < last {
                    round += 1;
                    prop_assert!(queue.iter().all(|(w, _)| w.request.start <= last), "nobody was left ahead");
                    prop_assert!(queue.iter().all(|(w, _)| w.request.start >= start), "it starts from the lowest");
                } else {
                    prop_assert!(!queue.iter().any(|(w, _)| skipped(w.request.start)), "nobody is passed over");
                }
                last = start;
                prop_assert!(round <= came + 1);
                prop_assert_eq!(elevator.len(), queue.len());
            }
        }
    }

    #[test]
    fn who_is_removed_is_not_served_and_the_others_keep_their_order() {
        let schedulers: [Box<dyn Scheduler>; 2] = [Box::<Noop>::default(), Box::<Elevator>::default()];
        for mut scheduler in schedulers {
            for (id, start) in [40, 10, 50, 40, 60].into_iter().enumerate() {
                scheduler.push(waiting(id as u64, start));
            }
            assert!(scheduler.remove(1) && scheduler.remove(2));
            assert!(!scheduler.remove(1) && !scheduler.remove(9));
            assert_eq!(scheduler.len(), 3);
            let order: Vec<u64> = std::iter::from_fn(|| scheduler.pop().map(|waiting| waiting.id)).collect();
            assert_eq!(order, [0, 3, 4]);
        }
    }

    /// One that asks for the same place again and again does not hold up the others.
    #[test]
    fn a_favourite_place_starves_nobody() {
        let mut elevator = Elevator::default();
        elevator.push(waiting(0, 5));
        elevator.push(waiting(1, 9));
        let order: Vec<u64> = (2..5)
            .filter_map(|id| {
                let next = elevator.pop()?;
                elevator.push(waiting(id, 5));
                Some(next.id)
            })
            .collect();
        assert_eq!(order, [0, 1, 2]);
    }
}

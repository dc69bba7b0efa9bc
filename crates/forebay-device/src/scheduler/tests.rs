//! The order of service.

use super::*;
use proptest::prelude::*;

/// The request that is to be served at once.
fn pop(scheduler: &mut dyn Scheduler) -> Option<Waiting> {
    match scheduler.pop(Instant(0)) {
        Next::Serve(waiting) => Some(waiting),
        Next::Nothing => None,
        Next::Wait(at) => panic!("nobody waits here, until {at:?}"),
    }
}

fn waiting(id: u64, start: u64) -> Waiting {
    Waiting { at: Instant(0), id, request: Request::read(start, 1) }
}

#[test]
fn cyclic_scan_goes_up_and_starts_over() {
    let mut elevator = Elevator::default();
    elevator.push(waiting(100, 40));
    pop(&mut elevator);
    for (id, start) in [50, 10, 70, 50, 30].into_iter().enumerate() {
        elevator.push(waiting(id as u64, start));
    }
    let mut order = Vec::new();
    while let Some(next) = pop(&mut elevator) {
        order.push(next.id);
        if order.len() == 1 {
            elevator.push(waiting(8, 51));
            elevator.push(waiting(9, 50));
        }
    }
    // Both that waited at 50, then up: 51, 70; again from the bottom: 10, 30, and the one that came
    // to 50 while it stood there.
    assert_eq!(order, [0, 3, 8, 2, 1, 4, 9]);
}

proptest! {
    /// Rounds go upwards, each serves all that is ahead, and a waiting request is served by the end
    /// of the next round.
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
            let Some(next) = pop(&mut elevator) else {
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
        let order: Vec<u64> = std::iter::from_fn(|| pop(&mut *scheduler).map(|waiting| waiting.id)).collect();
        assert_eq!(order, [0, 3, 4]);
    }
}

/// A request for the same place, again and again, does not hold up the others.
#[test]
fn a_favourite_place_starves_nobody() {
    let mut elevator = Elevator::default();
    elevator.push(waiting(0, 5));
    elevator.push(waiting(1, 9));
    let order: Vec<u64> = (2..5)
        .filter_map(|id| {
            let next = pop(&mut elevator)?;
            elevator.push(waiting(id, 5));
            Some(next.id)
        })
        .collect();
    assert_eq!(order, [0, 1, 2]);
}

//! The elevator.

use std::collections::BTreeMap;
use std::ops::Bound;

use forebay_core::Instant;

use super::{Next, Scheduler, Waiting};

/// The elevator, cyclic SCAN: upwards, then from the lowest place again. A request that comes ahead
/// of the elevator is served in this round. One that comes behind it, or to the very place where it
/// stands, is served in the next. So no request waits longer than two rounds.
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

    fn pop(&mut self, _at: Instant) -> Next {
        let first = |range: (Bound<_>, Bound<_>)| self.waiting.range(range).next().map(|(&key, _)| key);
        let ahead = self.stand.and_then(|(place, arrivals)| {
            let here = (Bound::Included((place, 0)), Bound::Excluded((place, arrivals)));
            first(here).or_else(|| first((Bound::Excluded((place, u64::MAX)), Bound::Unbounded)))
        });
        let Some(key) = ahead.or_else(|| self.waiting.keys().next().copied()) else { return Next::Nothing };
        if ahead.is_none() || self.stand.is_none_or(|(place, _)| place != key.0) {
            self.stand = Some((key.0, self.arrivals));
        }
        self.waiting.remove(&key).map_or(Next::Nothing, Next::Serve)
    }

    fn contains(&self, id: u64) -> bool {
        self.waiting.values().any(|waiting| waiting.id == id)
    }

    fn remove(&mut self, id: u64) -> bool {
        let key = self.waiting.iter().find(|(_, waiting)| waiting.id == id).map(|(&key, _)| key);
        key.and_then(|key| self.waiting.remove(&key)).is_some()
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }
}

//! Requests by place and by age, for `deadline`, `anticipatory` and `cfq`.

use std::collections::BTreeMap;
use std::ops::RangeBounds;

use super::Waiting;

/// Where a request stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Key {
    /// Its first byte.
    pub(super) place: u64,
    /// The order of arrival, between requests from one byte on.
    pub(super) arrival: u64,
}

impl Key {
    /// Before all requests from `place` on.
    pub(super) fn at(place: u64) -> Key {
        Key { place, arrival: 0 }
    }
}

/// Requests by place; and by age, which is the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    by_place: BTreeMap<Key, Waiting>,
    by_age: BTreeMap<u64, u64>,
}

impl Sorted {
    /// Adds one; `arrival` grows from one to the next.
    pub(super) fn insert(&mut self, arrival: u64, waiting: Waiting) {
        let place = waiting.request.start;
        self.by_place.insert(Key { place, arrival }, waiting);
        self.by_age.insert(arrival, place);
    }

    /// Takes this one out.
    pub(super) fn remove(&mut self, key: Key) -> Option<Waiting> {
        self.by_age.remove(&key.arrival);
        self.by_place.remove(&key)
    }

    /// The one of that name, after a look at all.
    pub(super) fn find(&self, id: u64) -> Option<Key> {
        self.by_place.iter().find(|(_, waiting)| waiting.id == id).map(|(&key, _)| key)
    }

    /// The request of this key.
    pub(super) fn get(&self, key: Key) -> Option<&Waiting> {
        self.by_place.get(&key)
    }

    /// The one that has waited longest.
    pub(super) fn oldest(&self) -> Option<Key> {
        self.by_age.first_key_value().map(|(&arrival, &place)| Key { place, arrival })
    }

    /// The lowest one in a range of places.
    pub(super) fn lowest(&self, range: impl RangeBounds<Key>) -> Option<Key> {
        self.by_place.range(range).next().map(|(&key, _)| key)
    }

    /// The highest one in a range of places.
    pub(super) fn highest(&self, range: impl RangeBounds<Key>) -> Option<Key> {
        self.by_place.range(range).next_back().map(|(&key, _)| key)
    }

    /// The next request in the order of places for a head: the nearest ahead of it. One behind it
    /// by at most `back` bytes is taken if that is less than half as far (the kernel's penalty). If
    /// there is neither, the lowest.
    pub(super) fn nearest(&self, head: u64, back: u64) -> Option<Key> {
        let ahead = self.lowest(Key::at(head)..);
        let behind = self.highest(Key::at(head.saturating_sub(back))..Key::at(head));
        match (ahead, behind) {
            (Some(ahead), Some(behind)) => {
                let nearer = (head - behind.place).saturating_mul(2) < ahead.place - head;
                Some(if nearer { behind } else { ahead })
            }
            (one, other) => one.or(other).or_else(|| self.lowest(..)),
        }
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.by_place.len()
    }

    /// Whether none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }
}

//! Policies that keep objects by their worth: what each costs to fetch again, for its bytes.
//!
//! Landlord charges all objects rent, for each byte the same, until one has no credit left and
//! goes. Instead of that the level rises: an object goes when the level has reached its rank, which
//! is the level at its last use plus its worth (Cao and Irani's inflation).

use std::collections::BTreeSet;

use super::Objects;

/// The worth of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rank {
    /// 1 ÷ bytes.
    Landlord,
    /// Uses ÷ bytes.
    Gdsf,
}

/// An object that is there. The least goes; of equal ranks the one that was used least recently.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    /// The bits of a number that is not negative, which are in its order.
    rank: u64,
    used: u64,
    key: u32,
}

#[derive(Clone, Copy, Debug)]
struct Object {
    place: Place,
    bytes: u64,
    uses: u64,
}

pub(super) struct Ranked {
    kind: Rank,
    capacity: u64,
    held: u64,
    /// The rank of the last object that went.
    level: f64,
    requests: u64,
    order: BTreeSet<Place>,
    /// By key.
    objects: Vec<Option<Object>>,
}

impl Ranked {
    pub(super) fn new(kind: Rank, capacity: u64) -> Ranked {
        Ranked { kind, capacity, held: 0, level: 0.0, requests: 0, order: BTreeSet::new(), objects: Vec::new() }
    }

    /// The rank of an object that is used now, as bits.
    fn rank(&self, bytes: u64, uses: u64) -> u64 {
        // libCacheSim's factor: with another one the last digits of ranks would differ from its.
        const FACTOR: f64 = 1e6;
        let cost = match self.kind {
            Rank::Landlord => FACTOR,
            Rank::Gdsf => uses as f64 * FACTOR,
        };
        (self.level + cost / bytes.max(1) as f64).to_bits()
    }

    fn put(&mut self, key: u32, bytes: u64, uses: u64, rank: u64) {
        let place = Place { rank, used: self.requests, key };
        self.order.insert(place);
        self.objects[key as usize] = Some(Object { place, bytes, uses });
    }

    /// Whether an object of this rank would itself be the next to go. With GDSF it is among those
    /// that may go; a landlord takes in whoever comes.
    fn is_least(&self, rank: u64) -> bool {
        self.kind == Rank::Gdsf && self.order.first().is_some_and(|least| least.rank > rank)
    }

    fn give_up(&mut self) {
        let Some(place) = self.order.pop_first() else { return };
        self.level = f64::from_bits(place.rank);
        if let Some(object) = self.objects[place.key as usize].take() {
            self.held -= object.bytes;
        }
    }
}

impl Objects for Ranked {
    fn refer(&mut self, key: u32, bytes: u64, enters: bool) -> bool {
        self.requests += 1;
        if self.objects.len() <= key as usize {
            self.objects.resize(key as usize + 1, None);
        }
        if let Some(object) = self.objects[key as usize] {
            self.order.remove(&object.place);
            let uses = object.uses + 1;
            self.put(key, object.bytes, uses, self.rank(object.bytes, uses));
            return true;
        }
        if !enters {
            return false;
        }
        let rank = self.rank(bytes, 1);
        while self.held + bytes > self.capacity {
            if self.is_least(rank) {
                self.level = f64::from_bits(rank);
                return false;
            }
            self.give_up();
        }
        self.held += bytes;
        let rank = if self.kind == Rank::Gdsf { rank } else { self.rank(bytes, 1) };
        self.put(key, bytes, 1, rank);
        false
    }
}

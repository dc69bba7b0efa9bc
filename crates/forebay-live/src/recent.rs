//! Values that were asked for a short while ago, by name, and no more than a bound of them.
//!
//! The table has two halves. A value that is asked for goes into the young one. When that is full,
//! or when the owner says so, the young half becomes the old one, and the values of the old one are
//! let go. They are dropped without the table's lock, since closing a file asks the engine.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use parking_lot::Mutex;

/// The table.
pub struct Recent<K, V> {
    /// Values in a half, at most.
    half: usize,
    halves: Mutex<Halves<K, V>>,
}

struct Halves<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K: Hash + Eq, V: Clone> Recent<K, V> {
    /// An empty one, of at most twice as many values as a half has.
    pub fn new(half: usize) -> Recent<K, V> {
        Recent { half, halves: Mutex::new(Halves { young: HashMap::new(), old: HashMap::new() }) }
    }

    /// The value of a name, which is young again.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, name: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let mut halves = self.halves.lock();
        if let Some(value) = halves.young.get(name) {
            return Some(value.clone());
        }
        let (name, value) = halves.old.remove_entry(name)?;
        let passed = halves.keep(self.half, name, value.clone());
        drop(halves);
        drop(passed);
        Some(value)
    }

    /// Gives a name a value.
    pub fn keep(&self, name: K, value: V) {
        let passed = self.halves.lock().keep(self.half, name, value);
        drop(passed);
    }

    /// Lets the value of a name go.
    pub fn forget<Q: Hash + Eq + ?Sized>(&self, name: &Q)
    where
        K: Borrow<Q>,
    {
        let mut halves = self.halves.lock();
        let gone = [halves.young.remove(name), halves.old.remove(name)];
        drop(halves);
        drop(gone);
    }

    /// Lets the values go whose names fit.
    pub fn forget_those(&self, fit: impl Fn(&K) -> bool) {
        let mut halves = self.halves.lock();
        let Halves { young, old } = &mut *halves;
        let gone: Vec<(K, V)> =
            [young, old].into_iter().flat_map(|half| half.extract_if(|name, _| fit(name))).collect();
        drop(halves);
        drop(gone);
    }

    /// Lets those go that were not asked for since this was called last.
    pub fn grow_old(&self) {
        let passed = self.halves.lock().turn();
        drop(passed);
    }
}

impl<K: Hash + Eq, V> Halves<K, V> {
    /// Puts a value among the young ones; returns those that are let go.
    fn keep(&mut self, half: usize, name: K, value: V) -> Vec<V> {
        let full = self.young.len() >= half && !self.young.contains_key(&name);
        let turned = if full { self.turn() } else { HashMap::new() };
        let replaced = self.young.insert(name, value);
        turned.into_values().chain(replaced).collect()
    }

    fn turn(&mut self) -> HashMap<K, V> {
        std::mem::replace(&mut self.old, std::mem::take(&mut self.young))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_that_are_not_asked_for_and_there_are_never_more_than_two_halves() {
        let recent = Recent::new(2);
        (0..4).for_each(|name| recent.keep(name, name * 10));
        assert_eq!([2, 3].map(|name| recent.get(&name)), [Some(20), Some(30)]);
        assert_eq!(recent.get(&0), Some(0), "an old one is young again, and the young half is full");
        assert_eq!(recent.get(&1), None, "so it is old, and the old one is gone");
        recent.forget(&3);
        assert_eq!([2, 3].map(|name| recent.get(&name)), [Some(20), None]);
        recent.forget_those(|&name| name == 2);
        assert_eq!(recent.get(&2), None);
        recent.keep(7, 70);
        recent.grow_old();
        assert_eq!(recent.get(&7), Some(70), "asked for in time");
        recent.grow_old();
        recent.grow_old();
        assert_eq!(recent.get(&7), None);
    }
}

//! A table by number, where numbers may be anything.
//!
//! Ghosts, histories, sketches and the lists of program contexts remember blocks by their file's
//! number, some for long after the file is forgotten. If a number soon named another file, they
//! would take its blocks for known ones. If a file came back under another number, it would be new
//! to them all. So a driver numbers a file by a hash of its identity, and numbers lie anywhere.
//! Numbers counted up from zero work as well.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::size_of;

/// The place of a number's value in the slab, plus one; zero for an empty cell.
#[derive(Clone, Copy, Default, Debug)]
struct Cell {
    number: u32,
    place: u32,
}

/// Values by number.
#[derive(Clone, Debug)]
pub struct Numbered<T> {
    /// Open addressing with linear probing; a power of two, at most three quarters full. Or none.
    cells: Vec<Cell>,
    slab: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Numbered<T> {
        Numbered { cells: Vec::new(), slab: Vec::new(), free: Vec::new() }
    }
}

impl<T> Numbered<T> {
    /// The value of a number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        let (_, place) = self.find(number)?;
        self.slab[place].as_ref()
    }

    /// The value of a number.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let (_, place) = self.find(number)?;
        self.slab[place].as_mut()
    }

    /// Puts a value under a number; returns the one that it replaces.
    pub fn insert(&mut self, number: u32, value: T) -> Option<T> {
        if let Some((_, place)) = self.find(number) {
            return self.slab[place].replace(value);
        }
        if (self.len() + 1) * 4 > self.cells.len() * 3 {
            self.grow();
        }
        let place = self.free.pop().unwrap_or_else(|| {
            // Not twice as many: values are large.
            if self.slab.len() == self.slab.capacity() {
                self.slab.reserve_exact(self.slab.len() / 8 + 4);
            }
            self.slab.push(None);
            self.slab.len() as u32 - 1
        });
        self.slab[place as usize] = Some(value);
        self.link(Cell { number, place: place + 1 });
        None
    }

    /// Takes out the value of a number.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        let (mut hole, place) = self.find(number)?;
        let mask = self.cells.len() - 1;
        let mut at = hole;
        // An entry whose probes went past the hole moves into it, so that no probe path has a gap.
        loop {
            at = (at + 1) & mask;
            let cell = self.cells[at];
            if cell.place == 0 {
                break;
            }
            if at.wrapping_sub(self.home(cell.number)) & mask >= at.wrapping_sub(hole) & mask {
                self.cells[hole] = cell;
                hole = at;
            }
        }
        self.cells[hole] = Cell::default();
        self.free.push(place as u32);
        self.slab[place].take()
    }

    /// All values, in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slab.iter().flatten()
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.slab.len() - self.free.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that the table takes, without what its values point to.
    pub fn footprint(&self) -> usize {
        self.cells.capacity() * size_of::<Cell>()
            + self.slab.capacity() * size_of::<Option<T>>()
            + self.free.capacity() * size_of::<u32>()
    }

    /// The cell of a number and its value's place.
    #[inline]
    fn find(&self, number: u32) -> Option<(usize, usize)> {
        if self.cells.is_empty() {
            return None;
        }
        let mask = self.cells.len() - 1;
        let mut at = self.home(number);
        loop {
            let cell = self.cells[at];
            let place = (cell.place as usize).checked_sub(1)?;
            if cell.number == number {
                return Some((at, place));
            }
            at = (at + 1) & mask;
        }
    }

    /// Where the probes of a number begin (Fibonacci hashing: numbers in a row lie far apart).
    #[inline]
    fn home(&self, number: u32) -> usize {
        let bits = self.cells.len().trailing_zeros();
        (u64::from(number.wrapping_mul(0x9e37_79b9)) << bits >> 32) as usize
    }

    fn link(&mut self, cell: Cell) {
        let mask = self.cells.len() - 1;
        let mut at = self.home(cell.number);
        while self.cells[at].place != 0 {
            at = (at + 1) & mask;
        }
        self.cells[at] = cell;
    }

    fn grow(&mut self) {
        let cells = vec![Cell::default(); (self.cells.len() * 2).max(4)];
        for cell in core::mem::replace(&mut self.cells, cells) {
            if cell.place != 0 {
                self.link(cell);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    use super::*;

    /// Puts a value under a number, or takes it out.
    type Op = (bool, u32, u16);

    fn is_a_map(ops: Vec<Op>, number: impl Fn(u32) -> u32) {
        let (mut table, mut twin) = (Numbered::default(), BTreeMap::new());
        for (puts, n, value) in ops {
            let number = number(n);
            if puts {
                assert_eq!(table.insert(number, value), twin.insert(number, value));
            } else {
                assert_eq!(table.remove(number), twin.remove(&number));
            }
            assert_eq!((table.get(number), table.len()), (twin.get(&number), twin.len()));
        }
        twin.iter().for_each(|(&number, value)| assert_eq!(table.get_mut(number).as_deref(), Some(value)));
        let mut all: Vec<u16> = table.iter().copied().collect();
        let mut known: Vec<u16> = twin.into_values().collect();
        all.sort_unstable();
        known.sort_unstable();
        assert_eq!(all, known);
    }

    proptest! {
        #[test]
        fn it_is_a_map_of_any_numbers(ops in prop::collection::vec(any::<Op>(), 1..300)) {
            is_a_map(ops.clone(), |number| number);
            // Mostly the same ones again, close together, round the end.
            is_a_map(ops.clone(), |number| (number % 64).wrapping_sub(32));
            // All of them at home in one place, as far as that is possible: the inverse of the
            // factor, times a few.
            is_a_map(ops, |number| (number % 64).wrapping_mul(0x144c_bc89));
        }
    }

    #[test]
    fn the_factor_is_undone() {
        assert_eq!(0x9e37_79b9u32.wrapping_mul(0x144c_bc89), 1);
    }

    #[test]
    fn it_takes_what_is_there_at_once_not_what_ever_was() {
        let mut table = Numbered::default();
        for number in 0..100_000u32 {
            table.insert(number.wrapping_mul(0x85eb_ca6b), [0u8; 100]);
            if let Some(old) = number.checked_sub(1000) {
                assert!(table.remove(old.wrapping_mul(0x85eb_ca6b)).is_some());
            }
        }
        assert_eq!(table.len(), 1000);
        assert!(table.footprint() < 1000 * 140, "{} bytes", table.footprint());
    }
}

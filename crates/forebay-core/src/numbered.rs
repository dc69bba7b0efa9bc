//! A table by number, for numbers that name one thing for ever.
//!
//! Ghosts, histories, sketches and lists of contexts remember blocks by their file's number, some for long after the file is forgotten.
//! A number that soon names another file would have them take its blocks for known ones. So numbers go on and on; what is there
//! lies where its number's last bits say, and as many bits are looked at as it takes for no two to meet.
//!
//! ```text
//!  numbers  14   9   19   4    ──▶   4 & 3 = 0,   9 & 3 = 1,   14 & 3 = 2,   19 & 3 = 3
//!  the next one after 19 whose place is free: 20, once 4 has gone
//! ```

use alloc::vec::Vec;
use core::mem::size_of;

/// What there is, by number.
#[derive(Clone, Debug)]
pub struct Numbered<T> {
    /// As many as a power of two, or none.
    cells: Vec<Option<(u32, T)>>,
    len: usize,
}

impl<T> Default for Numbered<T> {
    fn default() -> Numbered<T> {
        Numbered { cells: Vec::new(), len: 0 }
    }
}

impl<T> Numbered<T> {
    /// What has that number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        let (there, value) = self.cells.get(self.at(number))?.as_ref()?;
        (*there == number).then_some(value)
    }

    /// What has that number.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let at = self.at(number);
        let (there, value) = self.cells.get_mut(at)?.as_mut()?;
        (*there == number).then_some(value)
    }

    /// Puts something there; returns what had the number. Whose place is another's has the table twice as large, as often as it takes:
    /// whoever numbers as [`next`](Self::next) says needs no more than twice the places of what there is.
    pub fn insert(&mut self, number: u32, value: T) -> Option<T> {
        while self
            .cells
            .get(self.at(number))
            .is_none_or(|cell| cell.as_ref().is_some_and(|&(there, _)| there != number))
        {
            self.double();
        }
        let at = self.at(number);
        let before = self.cells[at].replace((number, value));
        self.len += usize::from(before.is_none());
        before.map(|(_, value)| value)
    }

    /// Takes out what has that number.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        self.get(number)?;
        let at = self.at(number);
        self.len -= 1;
        self.cells[at].take().map(|(_, value)| value)
    }

    /// The first number after this one, going round, whose place is free; where hardly any is, whose place is free once the table is twice
    /// as large, which the next [`insert`](Self::insert) then sees to.
    pub fn next(&self, after: u32) -> u32 {
        let crowded = self.len * 8 >= self.cells.len() * 7;
        let places = if crowded { self.cells.len() * 2 } else { self.cells.len() };
        let place = |number: u32| number as usize & places.wrapping_sub(1);
        let taken = |number: u32| {
            let there = self.cells.get(self.at(number)).and_then(Option::as_ref);
            there.is_some_and(|&(there, _)| place(there) == place(number))
        };
        let mut number = after.wrapping_add(1);
        while taken(number) {
            number = number.wrapping_add(1);
        }
        number
    }

    /// All there is, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.cells.iter().flatten().map(|(_, value)| value)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes that the table takes, without what its values point to.
    pub fn footprint(&self) -> usize {
        self.cells.capacity() * size_of::<Option<(u32, T)>>()
    }

    #[inline]
    fn at(&self, number: u32) -> usize {
        number as usize & self.cells.len().wrapping_sub(1)
    }

    /// Twice the places. What there is goes where one more bit of its number says, so that still no two meet.
    fn double(&mut self) {
        let before = core::mem::take(&mut self.cells);
        let places = (before.len() * 2).max(1);
        self.cells.reserve_exact(places);
        self.cells.resize_with(places, || None);
        for (number, value) in before.into_iter().flatten() {
            let at = self.at(number);
            self.cells[at] = Some((number, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map(
            ops in prop::collection::vec((any::<bool>(), 0u32..64, any::<u16>()), 1..300),
            first in prop::sample::select(alloc::vec![0, 77, u32::MAX - 20]),
        ) {
            let (mut table, mut twin) = (Numbered::default(), BTreeMap::new());
            for (puts, number, value) in ops {
                let number = first.wrapping_add(number);
                if puts {
                    prop_assert_eq!(table.insert(number, value), twin.insert(number, value));
                } else {
                    prop_assert_eq!(table.remove(number), twin.remove(&number));
                }
                prop_assert_eq!(table.get(number), twin.get(&number));
                prop_assert_eq!(table.len(), twin.len());
            }
            let mut all: Vec<u16> = table.iter().copied().collect();
            let mut known: Vec<u16> = twin.into_values().collect();
            (all.sort_unstable(), known.sort_unstable());
            prop_assert_eq!(all, known);
        }

        /// However long some stay, the table is small, and a number comes again only after all others.
        #[test]
        fn numbers_go_on_and_the_table_stays_small(stays in prop::collection::vec(1usize..200, 1..2000)) {
            let (mut table, mut last, mut most) = (Numbered::default(), u32::MAX - 500, 0);
            let mut leaves: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
            for (now, stay) in stays.into_iter().enumerate() {
                leaves.remove(&now).into_iter().flatten().for_each(|number| assert!(table.remove(number).is_some()));
                let number = table.next(last);
                let ahead = number.wrapping_sub(last);
                prop_assert!(ahead >= 1 && ahead as usize <= table.len() + 1, "{ahead} ahead");
                prop_assert_eq!(table.insert(number, now), None);
                leaves.entry(now + stay).or_default().push(number);
                last = number;
                most = most.max(table.len());
            }
            let places = table.footprint() / size_of::<Option<(u32, usize)>>();
            prop_assert!(places <= most * 8 / 7 * 2 + 2, "{places} places for {most}");
        }
    }
}

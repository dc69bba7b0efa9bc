//! Names that are no numbers, numbered in order of appearance.

use std::collections::HashMap;

/// Numbers for names.
#[derive(Default)]
pub(crate) struct Names {
    numbers: HashMap<Box<[u8]>, u64>,
}

impl Names {
    /// The number of a name: that of its first appearance, counted from zero.
    pub(crate) fn number(&mut self, name: &[u8]) -> u64 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let next = self.numbers.len() as u64;
        self.numbers.insert(name.into(), next);
        next
    }

    /// The names in the order of their numbers.
    pub(crate) fn list(&self) -> Vec<String> {
        let mut all: Vec<(u64, &[u8])> = self.numbers.iter().map(|(name, &number)| (number, &**name)).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, name)| String::from_utf8_lossy(name).into_owned()).collect()
    }
}

//! Names that are no numbers, numbered in order of appearance.

use std::collections::HashMap;

use crate::FileInfo;

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

    /// The names in the order of their numbers, counted from `first`.
    pub(crate) fn files(&self, first: u64) -> Vec<FileInfo> {
        let mut all: Vec<(u64, &[u8])> = self.numbers.iter().map(|(name, &number)| (number, &**name)).collect();
        all.sort_unstable();
        let file = |(number, name): (u64, &[u8])| {
            let name = String::from_utf8_lossy(name).into_owned();
            FileInfo { file: number + first, name: Some(name), bytes: None }
        };
        all.into_iter().map(file).collect()
    }
}

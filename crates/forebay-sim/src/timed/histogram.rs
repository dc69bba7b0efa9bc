//! A histogram of request sizes, in powers of two.

use std::fmt;

/// A histogram of sizes in bytes, by powers of two.
#[derive(Clone, PartialEq, Eq)]
pub struct Sizes {
    counts: [u64; 64],
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { counts: [0; 64] }
    }
}

impl fmt::Debug for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.buckets()).finish()
    }
}

impl Sizes {
    /// Another one.
    pub fn add(&mut self, bytes: u64) {
        self.counts[(bytes | 1).ilog2() as usize] += 1;
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// The buckets that are not empty: (least size, how many), the size being less than twice the
    /// least.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(power, &count)| (1 << power, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_between_powers_of_two() {
        let mut sizes = Sizes::default();
        [1, 512, 1023, 1024, 65536].into_iter().for_each(|bytes| sizes.add(bytes));
        assert_eq!(sizes.buckets().collect::<Vec<_>>(), [(1, 1), (512, 2), (1024, 1), (65536, 1)]);
    }
}

//! A set of moments whose latest one is found at once.

/// Moments `0..n` as bits; above each 64 words a word that says which of them have any, and so on
/// up to a single word.
///
/// ```text
///   levels[2]  [1 ...]                        5 levels and 1.02 bits a moment do for 10^9 moments
///   levels[1]  [0 1 0 1 ...] [...]
///   levels[0]  [....] [.1..] [....] [1..1] …
/// ```
#[derive(Debug)]
pub(super) struct Moments {
    levels: Vec<Vec<u64>>,
}

impl Moments {
    /// None of `0..n`.
    pub(super) fn new(n: usize) -> Moments {
        let mut levels = Vec::new();
        let mut words = n;
        while words != 1 || levels.is_empty() {
            words = words.div_ceil(64).max(1);
            levels.push(vec![0; words]);
        }
        Moments { levels }
    }

    #[inline]
    pub(super) fn contains(&self, moment: u32) -> bool {
        self.levels[0][moment as usize / 64] >> (moment % 64) & 1 == 1
    }

    #[inline]
    pub(super) fn insert(&mut self, moment: u32) {
        let mut at = moment as usize;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            let before = std::mem::replace(word, *word | 1 << (at % 64));
            if before != 0 {
                return;
            }
            at /= 64;
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, moment: u32) {
        let mut at = moment as usize;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The latest one.
    pub(super) fn last(&self) -> Option<u32> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            at = at * 64 + level[at].checked_ilog2()? as usize;
        }
        Some(at as u32)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn they_are_a_set(n in 1u32..10_000, changes in proptest::collection::vec((any::<u32>(), any::<bool>()), 0..300)) {
            let (mut moments, mut set) = (Moments::new(n as usize), BTreeSet::new());
            for (moment, there) in changes {
                let moment = moment % n;
                if there {
                    moments.insert(moment);
                    set.insert(moment);
                } else {
                    moments.remove(moment);
                    set.remove(&moment);
                }
                prop_assert_eq!(moments.contains(moment), there);
                prop_assert_eq!(moments.last(), set.last().copied());
            }
        }
    }
}

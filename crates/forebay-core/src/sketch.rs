//! How often things were referred to lately, in a few bits each.

use alloc::vec;
use alloc::vec::Vec;

/// Counters in a word.
const COUNTERS: u32 = 16;
/// How many counters each thing has.
const ROWS: u32 = 4;
/// What a counter of four bits can count to.
const MOST: u8 = 15;
/// References in a sample, for each thing that is to be remembered.
const SAMPLE: u64 = 10;

/// A count-min sketch of 4-bit counters (Cormode and Muthukrishnan, 2005) that ages: after a sample of ten references for
/// each thing, all counts are halved (Einziger, Friedman and Manes, "TinyLFU", ACM Transactions on Storage 2017, §3.3).
///
/// A thing's count is the least of its four counters; it is never less than its references within the sample, up to 15.
#[derive(Clone, Debug)]
pub struct Sketch {
    words: Vec<u64>,
    /// References counted since the last halving, and of those before what is left.
    counted: u64,
    sample: u64,
}

impl Sketch {
    /// For `things` that are to be remembered: eight to sixteen bytes each.
    pub fn new(things: u32) -> Sketch {
        let words = (things as usize).next_power_of_two().max(8);
        Sketch { words: vec![0; words], counted: 0, sample: SAMPLE * u64::from(things.max(1)) }
    }

    /// Counts a reference.
    pub fn add(&mut self, thing: u64) {
        let mut grew = false;
        for row in 0..ROWS {
            let (word, shift) = self.place(thing, row);
            if (self.words[word] >> shift) as u8 & MOST < MOST {
                self.words[word] += 1 << shift;
                grew = true;
            }
        }
        self.counted += u64::from(grew);
        if self.counted >= self.sample {
            self.halve();
        }
    }

    /// How often a thing was referred to lately, 0 to 15.
    pub fn count(&self, thing: u64) -> u8 {
        let counts = (0..ROWS).map(|row| {
            let (word, shift) = self.place(thing, row);
            (self.words[word] >> shift) as u8 & MOST
        });
        counts.min().unwrap_or(0)
    }

    /// The word and the bits of a thing's counter. Each row has counters of its own: a fourth of every word.
    fn place(&self, thing: u64, row: u32) -> (usize, u32) {
        // The last step of splitmix64, from a start of its own for each row.
        let x = thing.wrapping_add(u64::from(row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let x = x ^ (x >> 31);
        let counter = row * (COUNTERS / ROWS) + (x >> 62) as u32;
        (x as usize & (self.words.len() - 1), counter * 4)
    }

    fn halve(&mut self) {
        let mut odd = 0;
        for word in &mut self.words {
            odd += u64::from((*word & 0x1111_1111_1111_1111).count_ones());
            *word = (*word >> 1) & 0x7777_7777_7777_7777;
        }
        // What was rounded away was counted in each row.
        self.counted = self.counted.saturating_sub(odd / u64::from(ROWS)) / 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_at_least_what_was_there_and_ages() {
        let mut sketch = Sketch::new(1000);
        for thing in 0..100 {
            (0..thing % 20).for_each(|_| sketch.add(thing));
        }
        for thing in 0..100 {
            let (count, least) = (sketch.count(thing), (thing % 20).min(15) as u8);
            assert!(count >= least && count <= least + 1, "{thing}: {count}, not {least}");
        }
        (0..10_000).for_each(|thing| sketch.add(1_000_000 + thing));
        assert!((7..15).contains(&sketch.count(19)), "halved once: {}", sketch.count(19));
    }
}

//! How often things were referred to lately, in a few bits each.

use alloc::vec;
use alloc::vec::Vec;

/// Counters in a word.
const COUNTERS: u32 = 16;
/// How many counters each thing has.
const ROWS: u32 = 4;
/// The largest count of four bits.
const MOST: u8 = 15;
/// References in a sample, for each thing that is to be remembered.
const SAMPLE: u64 = 10;

/// A count-min sketch of 4-bit counters (Cormode and Muthukrishnan, 2005) that ages: after a sample
/// of ten references for each thing, all counts are halved (Einziger, Friedman and Manes,
/// "TinyLFU", ACM Transactions on Storage 2017, §3.3).
///
/// A thing's count is the least of its four counters; it is never less than its references within
/// the sample, up to 15.
#[derive(Clone, Debug)]
pub struct Sketch {
    words: Vec<u64>,
    /// References counted since the last halving, and the rest of those before.
    counted: u64,
    sample: u64,
}

impl Sketch {
    /// For `things` that are to be remembered: eight to sixteen bytes each.
    pub fn new(things: u32) -> Sketch {
        Sketch { words: vec![0; words(things)], counted: 0, sample: sample(things) }
    }

    /// Sets the number of things. Counts stay: none falls below its thing's references within the
    /// sample. The table shrinks only when it is four times too large (up to 32 bytes a thing), so
    /// that a size that wavers costs nothing.
    pub fn resize(&mut self, things: u32) {
        self.sample = sample(things);
        let needed = words(things);
        // A place in a table of twice the size has one bit more, which may be either.
        while self.words.len() < needed {
            self.words.extend_from_within(..);
        }
        if self.words.len() >= 4 * needed {
            while self.words.len() > needed {
                let half = self.words.len() / 2;
                let (low, high) = self.words.split_at_mut(half);
                low.iter_mut().zip(high).for_each(|(low, high)| *low = larger(*low, *high));
                self.words.truncate(half);
            }
            self.words.shrink_to_fit();
        }
    }

    /// The bytes that it takes.
    pub fn footprint(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
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

    /// The word and the bits of a thing's counter. Each row has counters of its own: a fourth of
    /// every word.
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
        // Counts that were rounded away were counted once in each row.
        self.counted = self.counted.saturating_sub(odd / u64::from(ROWS)) / 2;
    }
}

fn words(things: u32) -> usize {
    (things as usize).next_power_of_two().max(8)
}

fn sample(things: u32) -> u64 {
    SAMPLE * u64::from(things.max(1))
}

/// Two words' larger counters.
fn larger(one: u64, other: u64) -> u64 {
    let counters = (0..COUNTERS).map(|counter| u64::from(MOST) << (4 * counter));
    counters.fold(0, |word, mask| word | (one & mask).max(other & mask))
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

    /// No size makes a count fall below its thing's references; a size that wavers leaves the table
    /// alone.
    #[test]
    fn it_keeps_its_counts_in_another_size() {
        let mut sketch = Sketch::new(1000);
        for thing in 0..100 {
            (0..thing % 15).for_each(|_| sketch.add(thing));
        }
        let mut sizes = Vec::new();
        for things in [1000, 5000, 1025, 1023, 300, 100_000, 500] {
            sketch.resize(things);
            sizes.push(sketch.footprint() / size_of::<u64>());
            assert!(sketch.footprint() <= 32 * things as usize + 64);
            for thing in 0..100 {
                assert!(sketch.count(thing) >= (thing % 15) as u8, "{thing} of {things}");
            }
        }
        // 2048 is four times too large for 300, and only twice for 1023.
        assert_eq!(sizes, [1024, 8192, 2048, 2048, 512, 131_072, 512]);
    }
}

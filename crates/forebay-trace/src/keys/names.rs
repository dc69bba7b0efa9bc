//! The names behind the numbers, packed.

/// How many names are packed together.
const CHUNK: usize = 1 << 12;

/// Names by number. Those of a chunk are kept as differences from the smallest, in as many bytes as
/// the largest difference takes: three or four for the blocks of a disk, eight for objects named by
/// hashes. Nothing moves when it grows.
#[derive(Debug, Default)]
pub(super) struct Names {
    packed: Vec<Chunk>,
    /// The last names, not packed yet.
    last: Vec<u64>,
}

#[derive(Debug)]
struct Chunk {
    base: u64,
    mask: u64,
    width: usize,
    /// The differences, little end first, and eight bytes more so that a word can be read anywhere.
    bytes: Box<[u8]>,
}

impl Names {
    pub(super) fn len(&self) -> usize {
        self.packed.len() * CHUNK + self.last.len()
    }

    pub(super) fn push(&mut self, name: u64) {
        self.last.push(name);
        if self.last.len() == CHUNK {
            self.packed.push(Chunk::pack(&self.last));
            self.last.clear();
        }
    }

    /// The name of a number; zero if it has none.
    #[inline]
    pub(super) fn get(&self, number: usize) -> u64 {
        match self.packed.get(number / CHUNK) {
            Some(chunk) => chunk.get(number % CHUNK),
            None => self.last.get(number % CHUNK).copied().unwrap_or(0),
        }
    }
}

impl Chunk {
    fn pack(names: &[u64]) -> Chunk {
        let base = names.iter().copied().min().unwrap_or(0);
        let most = names.iter().map(|name| name - base).max().unwrap_or(0);
        let width = 8 - most.leading_zeros() as usize / 8;
        let mut bytes = Vec::with_capacity(names.len() * width + 8);
        for name in names {
            bytes.extend_from_slice(&(name - base).to_le_bytes()[..width]);
        }
        bytes.extend_from_slice(&[0; 8]);
        let mask = if width == 0 { 0 } else { u64::MAX >> (64 - 8 * width) };
        Chunk { base, mask, width, bytes: bytes.into_boxed_slice() }
    }

    #[inline]
    fn get(&self, at: usize) -> u64 {
        let start = at * self.width;
        let word = self.bytes[start..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        self.base.wrapping_add(word & self.mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_whatever_their_width() {
        let mut names = Names::default();
        let name = |n: u64| match n / CHUNK as u64 {
            0 => 7,
            1 => n,
            2 => n << 20,
            3 => u64::MAX - n,
            4 => n.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            _ => n % 2 * u64::MAX,
        };
        let count = 6 * CHUNK as u64 + 100;
        (0..count).for_each(|n| names.push(name(n)));
        assert_eq!(names.len() as u64, count);
        assert!((0..count).all(|n| names.get(n as usize) == name(n)));
        let widths: Vec<usize> = names.packed.iter().map(|chunk| chunk.width).collect();
        assert_eq!(widths, [0, 2, 4, 2, 8, 8]);
    }
}

//! Inputs from examples: each is an example that was changed in a few places. A seed fixes all of
//! them.

use rand::rngs::StdRng;
use rand::seq::{IndexedMutRandom, IndexedRandom};
use rand::{Rng, SeedableRng};

/// The longest input, in bytes.
pub const LONGEST: usize = 1 << 16;

/// Numbers at which decoders change their minds.
const NUMBERS: [u64; 16] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX - 1,
    u64::MAX,
    512,
    65_535 * 512,
];

/// Pieces of the languages that are decoded.
const TOKENS: [&[u8]; 48] = [
    b"\n",
    b"\r\n",
    b"\0",
    b" ",
    b",",
    b";",
    b":",
    b"=",
    b"\"",
    b"'",
    b"/",
    b"..",
    b"%00",
    b"%2e%2e%2f",
    b"-",
    b"+",
    b"0",
    b"-1",
    b"1e308",
    b"1e-400",
    b"nan",
    b"inf",
    b"9223372036854775807",
    b"18446744073709551615",
    b"18446744073709551616",
    b"0x",
    b"*",
    b"[",
    b"]",
    b"{",
    b"}",
    b"[[",
    b"<",
    b">",
    b"</",
    b"/>",
    b"<!--",
    b"<![CDATA[",
    b"&amp;",
    b"&#x110000;",
    b"&",
    b"bytes=",
    b"KiB",
    b"true",
    b"null",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xc3\x28",
];

/// Changes examples.
#[derive(Debug)]
pub struct Mutator {
    random: StdRng,
}

impl Mutator {
    /// A mutator whose every change follows from `seed`.
    pub fn new(seed: u64) -> Mutator {
        Mutator { random: StdRng::seed_from_u64(seed) }
    }

    /// The next input: one of `pool`, changed in one to eight places. `pool` has at least one.
    pub fn next(&mut self, pool: &[Vec<u8>]) -> Vec<u8> {
        let mut input = pool.choose(&mut self.random).cloned().unwrap_or_default();
        for _ in 0..1 << self.random.random_range(0..4) {
            self.change(&mut input, pool);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, pool: &[Vec<u8>]) {
        match self.random.random_range(0..12) {
            0 | 1 => self.flip(input),
            2 | 3 => self.set(input),
            4 => self.remove(input),
            5 => self.repeat(input),
            6 => self.splice(input, pool),
            7 | 8 => self.token(input),
            9 => self.number(input),
            10 => self.digits(input),
            _ => {
                let len = self.random.random_range(0..=input.len());
                input.truncate(len);
            }
        }
    }

    /// A place between bytes.
    fn place(&mut self, input: &[u8]) -> usize {
        self.random.random_range(0..=input.len())
    }

    /// A stretch of bytes, mostly short.
    fn stretch(&mut self, input: &[u8]) -> std::ops::Range<usize> {
        let start = self.place(input);
        let most = if self.random.random_ratio(1, 4) { input.len() - start } else { (input.len() - start).min(16) };
        start..start + self.random.random_range(0..=most)
    }

    fn flip(&mut self, input: &mut [u8]) {
        let bit = self.random.random_range(0..8);
        if let Some(byte) = input.choose_mut(&mut self.random) {
            *byte ^= 1 << bit;
        }
    }

    fn set(&mut self, input: &mut [u8]) {
        let value = self.random.random();
        if let Some(byte) = input.choose_mut(&mut self.random) {
            *byte = value;
        }
    }

    fn remove(&mut self, input: &mut Vec<u8>) {
        let stretch = self.stretch(input);
        input.drain(stretch);
    }

    /// Copies a stretch to another place, once or often.
    fn repeat(&mut self, input: &mut Vec<u8>) {
        let stretch = self.stretch(input);
        let times = if self.random.random_ratio(1, 8) { 256 } else { 1 };
        let copy = input[stretch].repeat(times);
        self.insert(input, &copy[..copy.len().min(LONGEST)]);
    }

    /// The beginning of this input and the end of another.
    fn splice(&mut self, input: &mut Vec<u8>, pool: &[Vec<u8>]) {
        let Some(other) = pool.choose(&mut self.random) else { return };
        let (cut, from) = (self.place(input), self.place(other));
        input.truncate(cut);
        input.extend_from_slice(&other[from..]);
    }

    fn token(&mut self, input: &mut Vec<u8>) {
        let token = TOKENS.choose(&mut self.random).copied().unwrap_or_default();
        self.insert(input, token);
    }

    fn insert(&mut self, input: &mut Vec<u8>, bytes: &[u8]) {
        let place = self.place(input);
        input.splice(place..place, bytes.iter().copied());
    }

    /// Writes a number at a boundary over some bytes, in either order of bytes.
    fn number(&mut self, input: &mut [u8]) {
        let number = NUMBERS.choose(&mut self.random).copied().unwrap_or_default();
        let bytes = if self.random.random() { number.to_le_bytes() } else { number.to_be_bytes() };
        let width = 1 << self.random.random_range(0..4);
        let bytes = if self.random.random() { &bytes[..width] } else { &bytes[8 - width..] };
        let start = self.place(input);
        input[start..].iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    }

    /// Puts a number at a boundary in place of one that is written in digits.
    fn digits(&mut self, input: &mut Vec<u8>) {
        let start = self.place(input);
        let Some(first) = input[start..].iter().position(u8::is_ascii_digit) else { return };
        let first = start + first;
        let len = input[first..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = NUMBERS.choose(&mut self.random).copied().unwrap_or_default();
        let number = number.wrapping_add(self.random.random_range(0..3)).to_string();
        input.splice(first..first + len, number.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_all_inputs_and_another_has_others() {
        let pool = [b"GET /a HTTP/1.1\r\n".to_vec(), b"12,34,56\n".to_vec(), Vec::new()];
        let inputs = |seed| {
            let mut mutator = Mutator::new(seed);
            (0..500).map(|_| mutator.next(&pool)).collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        let differing = inputs(1).iter().zip(inputs(2)).filter(|(one, other)| **one != *other).count();
        assert!(differing > 400, "{differing}");
    }

    #[test]
    fn inputs_stay_short() {
        let mut mutator = Mutator::new(3);
        let mut pool = vec![vec![b'7'; LONGEST]];
        for _ in 0..200 {
            let input = mutator.next(&pool);
            assert!(input.len() <= LONGEST);
            pool[0] = input;
        }
    }
}

//! The contents of the objects: bytes that can be checked about as fast as memory is read.
//!
//! All objects are cut out of one endless repetition of random bytes. Its period is a prime just
//! over 1 MiB, so pages at different places of an object differ, and the table stays in the
//! processor's cache.

use std::fmt;
use std::sync::OnceLock;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// The smallest prime above 2^20.
const PERIOD: usize = 1_048_583;

/// An object of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) name: String,
    pub(super) size: u64,
    /// The place in the repetition where it begins.
    begin: u64,
}

/// A mount returned other bytes than the stored ones, in words. No figure of such a run counts.
#[derive(Debug)]
pub(super) struct WrongBytes(pub(super) String);

/// The beginning of those words, also in the output of another process.
pub(super) const WRONG: &str = "wrong bytes: ";

impl fmt::Display for WrongBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{WRONG}{}", self.0)
    }
}

impl std::error::Error for WrongBytes {}

/// The period twice, so that every slice of a period's length is contiguous.
fn table() -> &'static [u8] {
    static TABLE: OnceLock<Vec<u8>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut period = vec![0; PERIOD];
        SmallRng::seed_from_u64(1).fill(&mut period[..]);
        period.repeat(2)
    })
}

impl Object {
    /// The object number `number` of a folder. Objects of one folder have different contents.
    pub(super) fn new(folder: &str, number: u64, size: u64) -> Object {
        Object { name: format!("{folder}/{number:04}"), size, begin: number * 7919 + 13 }
    }

    /// All its bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let first = self.place(0);
        let mut bytes = Vec::with_capacity(self.size as usize);
        bytes.extend_from_slice(&table()[first..PERIOD][..(PERIOD - first).min(self.size as usize)]);
        while bytes.len() < self.size as usize {
            let left = self.size as usize - bytes.len();
            bytes.extend_from_slice(&table()[..left.min(PERIOD)]);
        }
        bytes
    }

    /// Whether these bytes are those at `offset`.
    pub(super) fn check(&self, offset: u64, mut bytes: &[u8]) -> Result<(), WrongBytes> {
        let mut at = offset;
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(PERIOD));
            let place = self.place(at);
            if piece != &table()[place..place + piece.len()] {
                return Err(WrongBytes(format!("{}, in the read at {offset}", self.name)));
            }
            at += piece.len() as u64;
            bytes = rest;
        }
        Ok(())
    }

    fn place(&self, offset: u64) -> usize {
        ((self.begin + offset) % PERIOD as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_bytes_are_right_and_others_are_wrong() {
        let object = Object::new("a", 3, 3 << 20);
        let bytes = object.bytes();
        assert_eq!(bytes.len(), 3 << 20);
        for offset in [0, 1, 4096, 1 << 20, (2 << 20) - 5] {
            object.check(offset as u64, &bytes[offset..]).unwrap();
            object.check(offset as u64 + 4096, &bytes[offset..offset + 4096]).unwrap_err();
            Object::new("a", 4, 3 << 20).check(offset as u64, &bytes[offset..offset + 4096]).unwrap_err();
        }
    }
}

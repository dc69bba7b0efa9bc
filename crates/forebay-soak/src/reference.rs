//! The reference: what every byte must be, and which errors readers may get.

use std::ops::Range;

use forebay_core::Instant;

use crate::dice::mix;

/// One version of one file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Edition {
    pub(crate) file: u32,
    pub(crate) version: u32,
}

impl Edition {
    /// Eight bytes of it, by their number: a hash of all that tells them from others.
    fn word(self, number: u64) -> [u8; 8] {
        mix(mix(u64::from(self.file) << 32 | u64::from(self.version)) ^ number).to_le_bytes()
    }

    /// Writes its bytes from `offset` on, a multiple of eight.
    pub(crate) fn fill(self, offset: u64, to: &mut [u8]) {
        for (number, chunk) in (offset / 8..).zip(to.chunks_mut(8)) {
            chunk.copy_from_slice(&self.word(number)[..chunk.len()]);
        }
    }

    /// The first byte of `bytes`, which begin at `offset`, that is not as it must be.
    pub(crate) fn differs(self, offset: u64, bytes: &[u8]) -> Option<u64> {
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let skip = (at % 8) as usize;
            let word = &self.word(at / 8)[skip..];
            let len = word.len().min(rest.len());
            if word[..len] != rest[..len] {
                let wrong = word.iter().zip(rest).position(|(right, found)| right != found);
                return Some(at + wrong.unwrap_or(0) as u64);
            }
            (at, rest) = (at + len as u64, &rest[len..]);
        }
        None
    }
}

/// A request that failed.
#[derive(Clone, Debug)]
pub(crate) struct Mishap {
    pub(crate) edition: Edition,
    pub(crate) bytes: Range<u64>,
    pub(crate) at: Instant,
    pub(crate) errno: i32,
    /// Whether repeating it was no use, or was tried often enough.
    pub(crate) worn: bool,
}

/// The requests that failed, in order.
#[derive(Default)]
pub(crate) struct Mishaps(Vec<Mishap>);

impl Mishaps {
    pub(crate) fn add(&mut self, mishap: Mishap) {
        self.0.push(mishap);
    }

    /// Whether a read of these bytes that began at `since` may have failed with `errno`.
    pub(crate) fn explain(&self, edition: Edition, bytes: &Range<u64>, since: Instant, errno: i32) -> bool {
        let recent = self.0.iter().rev().take_while(|mishap| mishap.at >= since);
        let meets = |mishap: &Mishap| mishap.bytes.start < bytes.end && bytes.start < mishap.bytes.end;
        let explains = |mishap: &Mishap| mishap.edition == edition && mishap.errno == errno && mishap.worn;
        recent.filter(|mishap| meets(mishap)).any(explains)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_is_found_wherever_it_is() {
        let edition = Edition { file: 3, version: 1 };
        let mut bytes = vec![0; 100];
        edition.fill(8, &mut bytes);
        assert_eq!(edition.differs(8, &bytes), None);
        assert_eq!(edition.differs(19, &bytes[11..58]), None);
        for at in 0..100 {
            bytes[at] ^= 1;
            assert_eq!(edition.differs(8, &bytes), Some(8 + at as u64));
            bytes[at] ^= 1;
        }
        assert!(Edition { version: 2, ..edition }.differs(8, &bytes).is_some());
        assert!(edition.differs(16, &bytes).is_some());
    }
}

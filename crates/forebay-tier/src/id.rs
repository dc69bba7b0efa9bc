//! The file `id` of a folder: its key, and the sizes by which its segments were laid out.
//!
//! ```text
//!   magic (8) │ layout │ block │ segment │ table │ file │ chunk blocks │ key (16) │ CRC-32
//! ```
//!
//! Numbers are four bytes, little-endian.

use forebay_source::BLOCK;

use crate::fingerprint::Key;
use crate::layout::{CHUNK_BLOCKS, FILE, LAYOUT, SEGMENT, TABLE};

const MAGIC: [u8; 8] = *b"forebay\n";

/// Bytes of an id.
pub const LEN: usize = 52;

/// The id of a folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Id {
    /// Its key.
    pub key: Key,
}

/// Why bytes are no id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Damage {
    /// They are not as many, or are not those that were written.
    #[error("damaged")]
    Bytes,
    /// It is right, and of another layout.
    #[error("of layout {0}")]
    Layout(u32),
}

impl Id {
    /// As it is written.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        sizes().iter().for_each(|size| out.extend(size.to_le_bytes()));
        out.extend(self.key.0);
        out.extend(crc32fast::hash(&out).to_le_bytes());
        out
    }

    /// From the bytes of a file.
    pub fn decode(bytes: &[u8]) -> Result<Id, Damage> {
        let (told, sum) = bytes.split_last_chunk::<4>().ok_or(Damage::Bytes)?;
        let right = bytes.len() == LEN && told.starts_with(&MAGIC) && crc32fast::hash(told).to_le_bytes() == *sum;
        let key = told.last_chunk().filter(|_| right).ok_or(Damage::Bytes)?;
        let mut numbers = told[MAGIC.len()..].as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number));
        if !sizes().into_iter().eq(numbers.by_ref().take(sizes().len())) {
            let layout = told[MAGIC.len()..].first_chunk().map_or(0, |number| u32::from_le_bytes(*number));
            return Err(Damage::Layout(layout));
        }
        Ok(Id { key: Key(*key) })
    }
}

fn sizes() -> [u32; 6] {
    [LAYOUT, BLOCK as u32, SEGMENT as u32, TABLE as u32, FILE as u32, CHUNK_BLOCKS]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_id_comes_back_and_a_damaged_one_does_not(key: [u8; 16], at in 0..LEN, flip in 1u8..) {
            let id = Id { key: Key(key) };
            let mut bytes = id.encode();
            prop_assert_eq!(Id::decode(&bytes), Ok(id));
            prop_assert!(Id::decode(&bytes[..at]).is_err());
            bytes[at] ^= flip;
            prop_assert_eq!(Id::decode(&bytes), Err(Damage::Bytes));
        }

        #[test]
        fn any_bytes_are_judged(bytes: Vec<u8>) {
            prop_assert!(Id::decode(&bytes).is_err());
        }
    }

    #[test]
    fn another_layout_is_told() {
        let mut bytes = Id { key: Key([1; 16]) }.encode();
        bytes[8] = 2;
        let sum = crc32fast::hash(&bytes[..LEN - 4]).to_le_bytes();
        bytes[LEN - 4..].copy_from_slice(&sum);
        assert_eq!(Id::decode(&bytes), Err(Damage::Layout(2)));
    }
}

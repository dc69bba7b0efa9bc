//! The table of a segment: which pieces are in it.
//!
//! ```text
//!   magic (8) │ layout │ segment │ number (8) │ key (16) │ count │ pieces │ CRC-32
//!
//!   a piece:  fingerprint (16) │ first block of the file │ checksum │ block in the segment (2) │ len (1) │ 0
//! ```
//!
//! Numbers without a size are four bytes; all are little-endian. A table is written when its
//! segment is full, behind the data. A segment that is to be written anew has an empty table first.

use forebay_core::tier::{Piece, Place, Run};

use crate::fingerprint::{Fingerprint, Key};
use crate::layout::{CHUNK_BLOCKS, LAYOUT, SEGMENT_BLOCKS};

/// How every table begins.
pub const MAGIC: [u8; 8] = *b"fbytable";

const HEAD: usize = 44;
const PIECE: usize = 28;
const SUM: usize = 4;

/// The table of a segment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    /// Its number among all segments that were sealed, which orders them; zero while the segment is
    /// being written.
    pub number: u64,
    /// Its pieces.
    pub entries: Vec<Entry>,
}

/// A piece in a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    /// The file.
    pub fingerprint: Fingerprint,
    /// The first block, in the file.
    pub start: u32,
    /// How many blocks, 1 to 16.
    pub len: u8,
    /// The first block, in the segment.
    pub block: u16,
    /// The checksum.
    pub sum: u32,
}

/// Why bytes are no table of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Damage {
    /// They do not begin as one.
    #[error("there is no table")]
    NoTable,
    /// The checksum does not match, or they end too early.
    #[error("the table is damaged")]
    Bytes,
    /// It is of another layout, folder or segment.
    #[error("the table is of another place")]
    Elsewhere,
    /// It tells of a piece that cannot be.
    #[error("the table has an impossible piece")]
    Piece,
}

impl Entry {
    /// For the policy.
    pub(crate) fn piece(&self, segment: u32) -> Piece {
        let run = Run { file: self.fingerprint.file(), start: self.start, len: self.len.into() };
        Piece { run, place: Place { segment, block: self.block.into() }, sum: self.sum }
    }

    /// Whether it lies within one chunk, and within a segment.
    fn is_possible(&self) -> bool {
        let len = u32::from(self.len);
        len > 0 && self.start % CHUNK_BLOCKS + len <= CHUNK_BLOCKS && u32::from(self.block) + len <= SEGMENT_BLOCKS
    }

    /// `None` if it cannot be.
    fn decode(bytes: &[u8; PIECE]) -> Option<Entry> {
        let number = |from: usize| u32::from_le_bytes(std::array::from_fn(|at| bytes[from + at]));
        let entry = Entry {
            fingerprint: Fingerprint(std::array::from_fn(|at| bytes[at])),
            start: number(16),
            sum: number(20),
            block: number(24) as u16,
            len: bytes[26],
        };
        (bytes[27] == 0 && entry.is_possible()).then_some(entry)
    }
}

impl Table {
    /// As it is written to a segment of a folder.
    pub fn encode(&self, key: &Key, segment: u32) -> Vec<u8> {
        let mut out = Vec::with_capacity(length(self.entries.len()));
        out.extend(MAGIC);
        out.extend(LAYOUT.to_le_bytes());
        out.extend(segment.to_le_bytes());
        out.extend(self.number.to_le_bytes());
        out.extend(key.0);
        out.extend((self.entries.len() as u32).to_le_bytes());
        for Entry { fingerprint, start, len, block, sum } in &self.entries {
            out.extend(fingerprint.0);
            out.extend(start.to_le_bytes());
            out.extend(sum.to_le_bytes());
            out.extend(block.to_le_bytes());
            out.extend([*len, 0]);
        }
        out.extend(crc32fast::hash(&out).to_le_bytes());
        out
    }

    /// How many bytes a table takes that begins like this; `None` if it is none. At least 4 KiB are
    /// read of a table at once, which most of them fit in.
    pub fn length(head: &[u8]) -> Option<usize> {
        let head = head.first_chunk::<HEAD>().filter(|head| head.starts_with(&MAGIC))?;
        let count = head.last_chunk().map(|count| u32::from_le_bytes(*count))?;
        (count <= SEGMENT_BLOCKS).then(|| length(count as usize))
    }

    /// From the bytes at the beginning of a segment of a folder. Bytes behind it do not count.
    pub fn decode(bytes: &[u8], key: &Key, segment: u32) -> Result<Table, Damage> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Damage::NoTable);
        }
        let table = Table::length(bytes).and_then(|len| bytes.get(..len)).ok_or(Damage::Bytes)?;
        let (table, sum) = table.split_last_chunk::<SUM>().ok_or(Damage::Bytes)?;
        if crc32fast::hash(table).to_le_bytes() != *sum {
            return Err(Damage::Bytes);
        }
        let number = |from: usize| u32::from_le_bytes(std::array::from_fn(|at| table[from + at]));
        if (number(8), number(12)) != (LAYOUT, segment) || table[24..40] != key.0 {
            return Err(Damage::Elsewhere);
        }
        let entries: Option<Vec<Entry>> = table[HEAD..].as_chunks().0.iter().map(Entry::decode).collect();
        let number = u64::from(number(20)) << 32 | u64::from(number(16));
        entries.map(|entries| Table { number, entries }).ok_or(Damage::Piece)
    }
}

fn length(count: usize) -> usize {
    HEAD + count * PIECE + SUM
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: Key = Key([7; 16]);

    fn tables() -> impl Strategy<Value = Table> {
        let entry = (any::<[u8; 16]>(), 0..u32::MAX / 16, 0..16u32, 1..=16u8, 0..=2016u16, any::<u32>());
        let entry = entry.prop_map(|(fingerprint, chunk, skip, len, block, sum)| {
            let len = len.min(16 - skip as u8);
            Entry { fingerprint: Fingerprint(fingerprint), start: chunk * 16 + skip, len, block, sum }
        });
        (any::<u64>(), prop::collection::vec(entry, 0..40)).prop_map(|(number, entries)| Table { number, entries })
    }

    proptest! {
        #[test]
        fn a_table_comes_back_and_a_damaged_one_does_not(
            table in tables(), segment: u32, at: prop::sample::Index, flip in 1u8..,
        ) {
            let mut bytes = table.encode(&KEY, segment);
            prop_assert_eq!(Table::length(&bytes), Some(bytes.len()));
            let whole = bytes.len();
            prop_assert!(Table::decode(&bytes[..at.index(whole)], &KEY, segment).is_err());
            bytes.extend([3; 100]);
            prop_assert_eq!(Table::decode(&bytes, &KEY, segment), Ok(table));
            prop_assert_eq!(Table::decode(&bytes, &KEY, segment ^ 1), Err(Damage::Elsewhere));
            prop_assert_eq!(Table::decode(&bytes, &Key([8; 16]), segment), Err(Damage::Elsewhere));
            bytes[at.index(whole)] ^= flip;
            prop_assert!(Table::decode(&bytes, &KEY, segment).is_err());
        }

        #[test]
        fn any_bytes_are_judged(mut bytes: Vec<u8>) {
            prop_assert!(Table::decode(&bytes, &KEY, 0).is_err());
            let len = bytes.len().min(8);
            bytes[..len].copy_from_slice(&MAGIC[..len]);
            prop_assert!(Table::decode(&bytes, &KEY, 0).is_err());
        }
    }

    proptest! {
        /// A table that is accepted is written again byte for byte, also where the checksum is
        /// right.
        #[test]
        fn what_is_accepted_is_written_again(
            table in tables(), at: prop::sample::Index, byte: u8, rest in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut bytes = table.encode(&KEY, 3);
            bytes.truncate(bytes.len() - SUM);
            let at = 40 + at.index(bytes.len() - 40);
            bytes[at] = byte;
            bytes.extend(rest);
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
            if let Ok(table) = Table::decode(&bytes, &KEY, 3) {
                prop_assert!(bytes.starts_with(&table.encode(&KEY, 3)));
            }
        }
    }

    #[test]
    fn the_largest_table_fits_and_impossible_pieces_are_refused() {
        assert!(length(SEGMENT_BLOCKS as usize) as u64 <= crate::layout::TABLE);
        for wrong in [
            Entry { len: 0, ..Entry::default() },
            Entry { len: 16, start: 1, ..Entry::default() },
            Entry { len: 1, block: 2032, ..Entry::default() },
        ] {
            let bytes = Table { number: 1, entries: vec![wrong] }.encode(&KEY, 3);
            assert_eq!(Table::decode(&bytes, &KEY, 3), Err(Damage::Piece));
        }
    }
}

//! VMware's vscsiStats. Records of version 1 have 32 bytes, of version 2 40; both name their
//! version, the least byte comes first:
//!
//! ```text
//!   1   serial u32   length u32   segments u32   command u16   version u16   block u64   µs u64
//!   2   command u16   version u16   serial u32   length u32   segments u32   block u64   µs u64   service µs u64
//! ```
//!
//! Blocks have 512 bytes, lengths are in bytes. Commands that move no data are skipped.

use crate::read::clock::Clock;
use crate::read::left_out::LeftOut;
use crate::read::{Decode, bytes_at};
use crate::{BATCH, Operation, Reading, Request, Shape};

const SECTOR: u64 = 512;

/// Records of one version.
pub(crate) struct Vscsi {
    version: Version,
    clock: Clock,
    left_out: LeftOut,
    records: u64,
}

/// Where the fields of a version are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Version {
    number: u16,
    record: usize,
    length: usize,
    command: usize,
    version: usize,
    block: usize,
    time: usize,
}

const VERSIONS: [Version; 2] = [
    Version { number: 1, record: 32, length: 4, command: 12, version: 14, block: 16, time: 24 },
    Version { number: 2, record: 40, length: 8, command: 0, version: 2, block: 16, time: 24 },
];

impl Version {
    fn fits(&self, record: &[u8]) -> bool {
        u16::from_le_bytes(bytes_at(record, self.version)) >> 8 == self.number
    }
}

impl Vscsi {
    /// A decoder for a content that begins like this, if up to eight of its first records are of
    /// one version.
    pub(crate) fn of(first: &[u8]) -> Option<Vscsi> {
        let version = VERSIONS.into_iter().find(|version| {
            first.len() >= version.record
                && first.chunks_exact(version.record).take(8).all(|record| version.fits(record))
        })?;
        Some(Vscsi { version, clock: Clock::new(1000), left_out: LeftOut::default(), records: 0 })
    }
}

impl Decode for Vscsi {
    fn decode(&mut self, bytes: &[u8], _last: bool, batch: &mut Vec<Request>) -> Result<usize, String> {
        let mut used = 0;
        for record in bytes.chunks_exact(self.version.record).take(BATCH) {
            if !self.version.fits(record) {
                return Err(format!("it is not of version {} as those before", self.version.number));
            }
            let block = u64::from_le_bytes(bytes_at(record, self.version.block));
            let len = u32::from_le_bytes(bytes_at(record, self.version.length));
            let offset = block.checked_mul(SECTOR).filter(|offset| offset.checked_add(len.into()).is_some());
            let offset = offset.ok_or_else(|| format!("no disk has a block {block}"))?;
            // READ and WRITE of 6, 10, 12 and 16 bytes (SCSI block commands).
            let operation = match u16::from_le_bytes(bytes_at(record, self.version.command)) {
                0x08 | 0x28 | 0xa8 | 0x88 => Some(Operation::Read),
                0x0a | 0x2a | 0xaa | 0x8a => Some(Operation::Write),
                _ => None,
            };
            let at = self.clock.at(u64::from_le_bytes(bytes_at(record, self.version.time)));
            match operation {
                Some(operation) => {
                    let request = Request { at, offset, len, operation, ..Request::default() };
                    batch.extend(self.left_out.unless_empty(request));
                }
                None => self.left_out.add("command that neither reads nor writes", b""),
            }
            self.records += 1;
            used += self.version.record;
        }
        Ok(used)
    }

    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: 4096 }
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn reading(&self) -> Reading {
        Reading { left_out: self.left_out.all(), ..Reading::default() }
    }
}

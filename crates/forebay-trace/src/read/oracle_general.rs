//! libCacheSim's oracleGeneral: time in seconds u32, object u64, bytes u32, the number of the
//! object's next request i64 (-1: never), packed, the least byte first. The next request is not
//! kept: simulators that need the future find it themselves.

use forebay_core::Instant;

use crate::read::left_out::LeftOut;
use crate::read::{Decode, bytes_at};
use crate::{BATCH, Reading, Request, Shape};

pub(crate) const RECORD: usize = 24;
const SECOND: u64 = 1_000_000_000;

#[derive(Default)]
pub(crate) struct OracleGeneral {
    records: u64,
    first: u32,
    /// Seconds since the first; times never go back ([`Clock`](crate::read::clock::Clock)).
    last: u32,
    left_out: LeftOut,
}

impl Decode for OracleGeneral {
    fn decode(&mut self, bytes: &[u8], _last: bool, batch: &mut Vec<Request>) -> Result<usize, String> {
        if self.records == 0 && bytes.len() >= RECORD {
            self.first = u32::from_le_bytes(bytes_at(bytes, 0));
        }
        let (first, mut latest, before) = (self.first, self.last, batch.len());
        let some = bytes.chunks_exact(RECORD).take(BATCH);
        let records = some.len();
        batch.extend(some.filter_map(|record| {
            latest = latest.max(u32::from_le_bytes(bytes_at(record, 0)).saturating_sub(first));
            let len = u32::from_le_bytes(bytes_at(record, 12));
            let file = u64::from_le_bytes(bytes_at(record, 4));
            (len > 0).then_some(Request { at: Instant(u64::from(latest) * SECOND), file, len, ..Request::default() })
        }));
        self.left_out.add_many("of no bytes", (records - (batch.len() - before)) as u64);
        (self.last, self.records) = (latest, self.records + records as u64);
        Ok(records * RECORD)
    }

    fn shape(&self) -> Shape {
        Shape::Objects
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn reading(&self) -> Reading {
        Reading { left_out: self.left_out.all(), ..Reading::default() }
    }
}

/// Whether a content that begins like this looks like oracleGeneral: seconds that rise within three
/// years, sizes below 1 TB, and next requests that lie ahead.
pub(crate) fn looks_like(first: &[u8]) -> bool {
    const YEARS: u32 = 3 * 366 * 86_400;
    let records: Vec<(u32, i64)> = first
        .chunks_exact(RECORD)
        .take(64)
        .map(|record| (u32::from_le_bytes(bytes_at(record, 0)), i64::from_le_bytes(bytes_at(record, 16))))
        .collect();
    let rises = records.windows(2).all(|two| two[0].0 <= two[1].0);
    let ahead = |(number, &(_, next)): (usize, &(u32, i64))| next == -1 || next == i64::MAX || next > number as i64;
    let (Some(one), Some(other)) = (records.first(), records.last()) else { return false };
    rises && other.0 - one.0 < YEARS && records.iter().enumerate().all(ahead)
}

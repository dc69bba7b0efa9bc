//! The merging of ranges in Apache Arrow: `CacheOptions` and `ReadRangeCache` of Arrow C++
//! (`cpp/src/arrow/io/caching.h`, `interfaces.cc`), and `coalesce_ranges` of the Rust crate
//! `object_store` 0.14.
//!
//! Arrow's readers name all ranges of a file that they will read. Two consecutive ones become one
//! request if the hole between them has at most `hole_size_limit` bytes, 8 KiB, and the request has
//! at most `range_size_limit` bytes, 32 MiB. `object_store` merges over holes of up to 1 MiB, and
//! has no limit for the request.
//!
//! ```text
//!     ▓▓▓▓··▓▓▓▓··▓▓▓▓············▓▓▓▓       ▓ range   · hole
//!     └─ one request ─┘           └──┘
//! ```
//!
//! **A cache is not told the ranges: it sees one read after the other.** So much can be said of the
//! rule there: a reader that has skipped a hole within the limit, or none, and misses, is expected
//! to skip as much again before a read of the same size. The read and the expected one are two
//! consecutive ranges, and become one request. Arrow would merge more than two, since it knows
//! them, and would fetch all requests of a file at a time. `prefetch_limit`, the number of requests
//! ahead of the one that is read, is 0 by default, and so it is here. A hole within a read, whose
//! blocks are in memory already, is not fetched again, however small it is.

use alloc::vec;
use alloc::vec::Vec;

use crate::reason::Reason;
use crate::seams::{Begun, Heard, Plan, Prefetcher, Sight};
use crate::types::StreamId;

/// The largest hole that is read through, bytes.
pub const HOLE: u32 = 8 << 10;
/// The same in the Rust crate `object_store`, bytes.
pub const RUST_HOLE: u32 = 1 << 20;
/// The largest merged request, bytes.
const RANGE: u64 = 32 << 20;

/// Merges a read with the next one.
#[derive(Clone, Debug)]
pub struct Arrow {
    /// Where the latest read of each stream ended, by the stream's place.
    ends: Vec<u32>,
    /// The largest hole that is read through, bytes.
    hole: u32,
    block_bytes: u32,
}

impl Arrow {
    /// For this many streams, in blocks of this many bytes, and holes of at most `hole` bytes.
    pub fn new(streams: u32, block_bytes: u32, hole: u32) -> Arrow {
        Arrow { ends: vec![0; streams.max(1) as usize], hole, block_bytes: block_bytes.max(1) }
    }

    fn bytes(&self, blocks: u32) -> u64 {
        u64::from(blocks) * u64::from(self.block_bytes)
    }
}

impl Prefetcher for Arrow {
    fn takes_place(&mut self, stream: StreamId) {
        if let Some(end) = self.ends.get_mut(stream.index()) {
            *end = 0;
        }
    }

    fn begins(&mut self, _: &Begun<'_>) -> u32 {
        self.hole / self.block_bytes + 1
    }

    fn plan(&mut self, sight: &Sight<'_>) -> Plan {
        let (Some(&end), false, true) = (self.ends.get(sight.id.index()), sight.fresh, sight.missed.is_some()) else {
            return Plan::NOTHING;
        };
        let start = sight.stream.next.saturating_sub(sight.request);
        let hole = start.saturating_sub(end);
        let merged = sight.request.saturating_mul(2).saturating_add(hole);
        if self.bytes(hole) > u64::from(self.hole) || self.bytes(merged) > RANGE {
            return Plan::NOTHING;
        }
        let wanted = start.saturating_add(merged).saturating_sub(sight.from());
        let piece = wanted.min(sight.most).max(1);
        Plan { piece, pieces: wanted.div_ceil(piece), ..Plan::NOTHING }.because(Reason::Request, Reason::Policy)
    }

    fn heard(&mut self, stream: StreamId, heard: &Heard) {
        if let Some(end) = self.ends.get_mut(stream.index()) {
            *end = heard.extent.end().max(*end);
        }
    }

    fn footprint(&self) -> usize {
        self.ends.len() * size_of::<u32>()
    }
}

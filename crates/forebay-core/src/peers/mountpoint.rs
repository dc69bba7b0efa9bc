//! The read window of Mountpoint for Amazon S3 1.24, from its public sources
//! (`mountpoint-s3-fs/src/prefetch.rs`, `prefetch/backpressure_controller.rs`, `prefetch/task.rs`)
//! and its `doc/CONFIGURATION.md`.
//!
//! An open file has one cursor: a request for the rest of the object, which may run up to the end
//! of a window.
//!
//! ```text
//!     ... read already ...|next                        |end of the window
//!        seek back ───────┤░░░ arrived or under way ░░░│
//!        1 MiB at most    └───── preferred size ───────┘ and up to a whole part of 8 MiB
//! ```
//!
//! - The first window has 1 MiB, "a common IO size", and 128 KiB more, which Linux reads ahead.
//! - Once less than half of the preferred size is left, the window's end moves to the preferred
//!   size beyond the reader, rounded up to a whole part.
//! - A reader that has taken all that arrived doubles the preferred size: at least one part, at
//!   most 2 GiB, and no more than there is memory for.
//! - If there is no memory for the new window, the preferred size is halved, down to one part.
//! - A read beyond the window, or over 1 MiB behind the reader, gives the cursor up. The next one
//!   begins there with the first window.
//!
//! Here a stream's share of the room for blocks ahead is the memory that there is, and a part has
//! at most half of it: "A read part size larger than the budget is […] reduced to fit". A reader
//! has taken all that arrived if it misses, or waits for a block that is under way. Two things
//! differ. Streams find each other by position, so that two open files at one place share a cursor.
//! The limit of 16 MiB between a forward seek and the bytes that have arrived is left out, since a
//! prefetcher does not see which blocks of its window have arrived.

use super::handles::{Handles, first_of, up_to};
use crate::reason::Reason;
use crate::seams::{MAX_PIECE_BYTES, Needs, Plan, Prefetcher, Sight};
use crate::types::StreamId;

/// The first window, bytes.
const FIRST: u32 = (1 << 20) + (128 << 10);
/// A part, bytes: one GET. The largest piece that there is here, too.
const PART: u32 = 8 << 20;
/// The largest window, bytes.
const LARGEST: u64 = 2 << 30;
/// How far back a reader may seek, bytes.
const BACK: u32 = 1 << 20;
/// The factor by which the preferred size grows and shrinks.
const FACTOR: u32 = 2;

const _: () = assert!(PART <= MAX_PIECE_BYTES);

/// An open file's request, in blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Cursor {
    /// The block after the furthest one that was read.
    next: u32,
    /// The end of the first window: whole parts follow it.
    first_end: u32,
    /// The end of the window.
    end: u32,
    /// The preferred size of the window.
    preferred: u32,
    /// Whether the reader has waited for a block that was under way since its last read.
    waited: bool,
}

/// Windows by open file.
#[derive(Clone, Debug)]
pub struct Mountpoint {
    cursors: Handles<Cursor>,
    block_bytes: u32,
}

impl Mountpoint {
    /// The bytes that it takes for each stream.
    pub(crate) const BYTES_A_STREAM: u32 = Handles::<Cursor>::BYTES_A_STREAM;

    /// For this many streams, in blocks of this many bytes.
    pub fn new(streams: u32, block_bytes: u32) -> Mountpoint {
        Mountpoint { cursors: Handles::new(streams), block_bytes: block_bytes.max(1) }
    }

    /// Blocks of so many bytes, at least one.
    fn blocks(&self, bytes: u32) -> u32 {
        (bytes / self.block_bytes).max(1)
    }
}

impl Cursor {
    /// A request that begins with the window of `first` blocks.
    fn begun(sight: &Sight<'_>, first: u32) -> Cursor {
        let end = first_of(sight).saturating_add(first);
        Cursor { next: first_of(sight), first_end: end, end, preferred: first, waited: false }
    }

    /// The reader is at `next`: the window's end moves on, if too little of it is left.
    fn moves(&mut self, sight: &Sight<'_>, part: u32) {
        self.next = sight.stream.next;
        while self.end.saturating_sub(self.next) < self.preferred.div_ceil(2) && self.end < sight.blocks {
            let end = self.whole_parts(self.next.saturating_add(self.preferred), part).min(sight.blocks);
            if end <= self.end {
                return;
            }
            // One part is fetched whatever memory there is.
            if self.preferred <= part || end.saturating_sub(self.next) <= sight.share {
                self.end = end;
                return;
            }
            self.preferred = (self.preferred / FACTOR).max(part);
        }
    }

    /// The end of the part that ends at `end` or behind it.
    fn whole_parts(&self, end: u32, part: u32) -> u32 {
        let beyond = end.saturating_sub(self.first_end);
        self.first_end.saturating_add(beyond.div_ceil(part).saturating_mul(part)).max(end)
    }

    /// The reader has taken all that arrived.
    fn stalls(&mut self, part: u32, largest: u32) {
        let grown = self.preferred.saturating_mul(FACTOR).max(part);
        if grown <= largest {
            self.preferred = grown;
        }
    }
}

impl Prefetcher for Mountpoint {
    fn needs(&self) -> Needs {
        Needs { every_reference: true, ..Needs::default() }
    }

    fn takes_place(&mut self, stream: StreamId) {
        self.cursors.keep(stream, Cursor::default());
    }

    fn plan(&mut self, sight: &Sight<'_>) -> Plan {
        let back = self.blocks(BACK);
        let reach = |left: &Cursor, start| left.next.saturating_sub(back) <= start && start < left.end;
        let first = self.blocks(FIRST).min(sight.share).max(1);
        let mut cursor = self.cursors.follow(sight, reach).unwrap_or_else(|| Cursor::begun(sight, first));
        let part = self.blocks(PART).min(sight.most).min(sight.share / 2).max(1);
        let largest = u64::from(sight.share).min(LARGEST / u64::from(self.block_bytes)) as u32;
        cursor.moves(sight, part);
        let waited = core::mem::take(&mut cursor.waited);
        if waited || sight.missed.is_some() && !sight.fresh && !sight.lost {
            cursor.stalls(part, largest);
        }
        self.cursors.keep(sight.id, cursor);
        let plan = Plan { distance: cursor.preferred / 2, ..up_to(cursor.end, part, sight) };
        plan.because(Reason::CaughtUp, Reason::HalfWindow)
    }

    fn waited(&mut self, stream: StreamId, _first: u32, _awaited: u32) {
        if let Some(cursor) = self.cursors.of(stream) {
            cursor.waited = true;
        }
    }

    fn footprint(&self) -> usize {
        self.cursors.footprint()
    }
}

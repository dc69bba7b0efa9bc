//! The adaptive prefetcher of gcsfs 2026.8, which its files use by default, from its public
//! description (`docs/source/prefetcher.rst`) and sources (`gcsfs/prefetcher.py`).
//!
//! An open file has a consumer, which takes blocks off a queue, and a producer, which fetches the
//! next ones. The window grows by one read with each block that is taken, not by doubling: blocks
//! are fetched "linearly using a simple multiplier".
//!
//! ```text
//!     ... read already ...|at        |asked            |at + window
//!                 │ block │░░░│░░░│░░│
//!                         └── n reads, n = blocks taken since the third ──┘ at most 128 MiB
//! ```
//!
//! - The io size is the mean of the last ten reads; the latest read, while nothing is queued or
//!   nothing is fetched ahead.
//! - From the third block on that is taken in order, each block that is taken wakes the producer.
//!   Before that, only an empty queue does.
//! - A block has the io size. Once the window has 5 MiB, a block has at least 5 MiB.
//! - Nothing is fetched ahead while reads differ in size and have over 64 MiB in the mean.
//! - A block is fetched in up to four requests of at least 5 MiB side by side.
//! - A read within the current block, or ahead of it up to the producer's place, goes on. Any other
//!   one begins anew there.
//!
//! A file's limit, `max_prefetch_size`, is here the stream's share of the room for blocks ahead:
//! gcsfs has none by default, and each file has a buffer of its own. The sizes of blocks that wait
//! in the queue are known as two: those up to a place, and those from there on.

use super::handles::{Handles, first_of, up_to};
use crate::reason::Reason;
use crate::seams::{Needs, Plan, Prefetcher, Sight};
use crate::types::StreamId;

/// The reads whose mean size counts.
const READS: usize = 10;
/// The first block that wakes the producer: "the prefetching starts on the third read".
const STREAK: u32 = 3;
/// From this window on a block has at least so much, bytes; no request is smaller, either.
const CHUNK: u32 = 5 << 20;
/// The largest window, bytes, if two reads are no more.
const LARGEST: u32 = 128 << 20;
/// Reads of different sizes with a larger mean have nothing fetched ahead, bytes.
const VARIABLE: u32 = 64 << 20;
/// Requests side by side for a block.
const CONCURRENCY: u32 = 4;

/// The limits in blocks.
#[derive(Clone, Copy, Debug)]
struct Limits {
    chunk: u32,
    largest: u32,
    variable: u32,
    /// The file's limit.
    file: u32,
    /// How many the file has.
    blocks: u32,
}

/// The sizes of the latest reads, in blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    sizes: [u32; READS],
    /// How many reads there were.
    reads: u32,
}

impl Sizes {
    fn add(&mut self, size: u32) {
        self.sizes[self.reads as usize % READS] = size;
        self.reads = self.reads.wrapping_add(1);
    }

    fn known(&self) -> &[u32] {
        &self.sizes[..(self.reads as usize).min(READS)]
    }

    fn mean(&self) -> u32 {
        let sum: u64 = self.known().iter().map(|&size| u64::from(size)).sum();
        (sum / (self.known().len() as u64).max(1)) as u32
    }

    fn latest(&self) -> u32 {
        self.sizes[self.reads.wrapping_sub(1) as usize % READS]
    }

    fn differ(&self) -> bool {
        self.known().windows(2).any(|pair| pair[0] != pair[1])
    }
}

/// An open file.
#[derive(Clone, Copy, Debug, Default)]
struct File {
    sizes: Sizes,
    /// Blocks of the queue that were taken in order.
    streak: u32,
    /// Where the consumer is, and where it will be once the read is answered.
    at: u32,
    target: u32,
    /// The block that it takes from.
    start: u32,
    end: u32,
    /// Where the producer is.
    asked: u32,
    /// The size of the queue's blocks, from `turn` on and before that.
    size: u32,
    turn: u32,
    before: u32,
    /// The size of a request.
    request: u32,
}

impl File {
    fn begun(start: u32) -> File {
        File { at: start, target: start, start, end: start, asked: start, turn: start, ..File::default() }
    }

    /// Whether a read from `start` on goes on: within the current block, or up to the producer.
    fn reaches(&self, start: u32) -> bool {
        (self.start..=self.asked).contains(&start)
    }

    /// A read of `size` blocks from `start` on.
    fn reads(&mut self, start: u32, size: u32, limits: &Limits) {
        if start > self.at {
            self.takes(start, limits);
        }
        self.at = start;
        self.sizes.add(size);
        self.takes(start.saturating_add(size), limits);
    }

    /// The consumer goes on to `target`.
    fn takes(&mut self, target: u32, limits: &Limits) {
        self.target = target;
        while self.at < target {
            let mut wakes = false;
            if self.at >= self.end {
                if self.end >= self.asked {
                    self.produces(limits);
                }
                if self.end >= self.asked {
                    return;
                }
                self.streak = self.streak.saturating_add(1);
                wakes = self.streak >= STREAK && !self.is_too_much(limits);
                let size = if self.end < self.turn { self.before } else { self.size };
                self.start = self.end;
                self.end = self.end.saturating_add(size.max(1)).min(self.asked);
            }
            self.at = target.min(self.end);
            if wakes {
                self.produces(limits);
            }
        }
    }

    /// Whether reads are such that nothing is fetched ahead.
    fn is_too_much(&self, limits: &Limits) -> bool {
        let mean = self.sizes.mean();
        mean > limits.file || self.sizes.differ() && mean > limits.variable
    }

    /// The producer asks for blocks up to the window.
    fn produces(&mut self, limits: &Limits) {
        let mean = self.sizes.mean();
        let ahead = if self.streak < STREAK || self.is_too_much(limits) { 1 } else { self.streak - STREAK + 1 };
        let is_empty = self.end >= self.asked;
        let io = if is_empty || ahead == 1 { self.sizes.latest() } else { mean }.max(1);
        let most = limits.file.min(mean.saturating_mul(2).max(limits.largest));
        let wanted = self.target.saturating_sub(self.at);
        let window = ahead.saturating_mul(io).min(most).max(wanted);
        let whole = if self.sizes.differ() || window < io { window } else { window / io * io };
        while self.asked.saturating_sub(self.at) < window && self.asked < limits.blocks {
            let room = window - self.asked.saturating_sub(self.at);
            let least = if window < limits.chunk { 1 } else { limits.chunk };
            let mut size = io.max(least).min(limits.blocks - self.asked);
            if room < least {
                return;
            }
            if room < size {
                if !self.sizes.differ() && room < window {
                    return;
                }
                size = room;
            }
            if size != self.size {
                (self.before, self.turn, self.size) = (self.size, self.asked, size);
            }
            let split = size.saturating_mul(CONCURRENCY) / whole.max(1);
            let split = if self.streak < STREAK { CONCURRENCY } else { split.clamp(1, CONCURRENCY) };
            self.request = size.div_ceil(split.min(size / limits.chunk).max(1));
            self.asked = self.asked.saturating_add(size);
        }
    }
}

/// Windows by open file.
#[derive(Clone, Debug)]
pub struct Gcsfs {
    files: Handles<File>,
    block_bytes: u32,
}

impl Gcsfs {
    /// The bytes that it takes for each stream.
    pub(crate) const BYTES_A_STREAM: u32 = Handles::<File>::BYTES_A_STREAM;

    /// For this many streams, in blocks of this many bytes.
    pub fn new(streams: u32, block_bytes: u32) -> Gcsfs {
        Gcsfs { files: Handles::new(streams), block_bytes: block_bytes.max(1) }
    }

    fn limits(&self, sight: &Sight<'_>) -> Limits {
        let blocks = |bytes: u32| (bytes / self.block_bytes).max(1);
        Limits {
            chunk: blocks(CHUNK),
            largest: blocks(LARGEST),
            variable: blocks(VARIABLE),
            file: sight.share,
            blocks: sight.blocks,
        }
    }
}

impl Prefetcher for Gcsfs {
    fn needs(&self) -> Needs {
        Needs { every_reference: true, ..Needs::default() }
    }

    fn takes_place(&mut self, stream: StreamId) {
        self.files.keep(stream, File::default());
    }

    fn plan(&mut self, sight: &Sight<'_>) -> Plan {
        let start = first_of(sight);
        let known = self.files.follow(sight, |left, start| left.reaches(start));
        let mut file = known.filter(|known| known.reaches(start)).unwrap_or_else(|| File::begun(start));
        file.reads(start, sight.request, &self.limits(sight));
        self.files.keep(sight.id, file);
        let plan = up_to(file.asked, file.request.min(sight.most), sight);
        plan.because(Reason::ByRead, Reason::EveryAccess)
    }

    fn footprint(&self) -> usize {
        self.files.footprint()
    }
}

//! The deeds of a tier in figures, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// The figures of the tier in one folder, counted since it was opened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Bytes that fetches got from here.
    pub hit_bytes: u64,
    /// Bytes that the source was asked for.
    pub miss_bytes: u64,
    /// Bytes read from the disk for fetches: whole pieces, since their checksums are of these.
    pub read_bytes: u64,
    /// Bytes of pieces and tables written to the disk.
    pub written_bytes: u64,
    /// Bytes that were worth a write, and were not written because of the rate of writes.
    pub over_budget_bytes: u64,
    /// Bytes that were worth a write, and were not written since too many waited already, or since
    /// there was no segment.
    pub no_room_bytes: u64,
    /// Pieces that were read and had other bytes than were written.
    pub damaged: u64,
    /// Reads of pieces that failed.
    pub read_errors: u64,
    /// Writes that failed. The first one ends all writing.
    pub write_errors: u64,
    /// Pieces that it has.
    pub pieces: u64,
    /// Files of segments.
    pub files: u64,
    /// Bytes that the files may take: those that were asked for, or all of the file system.
    pub size_bytes: u64,
    /// Bytes that they take.
    pub disk_bytes: u64,
    /// Segments that were looked at since the tier was opened, and how many there were to look at.
    pub recovered: (u32, u32),
    /// Why nothing more is written.
    pub no_writes: Option<String>,
    /// Why nothing more is read.
    pub no_reads: Option<String>,
}

/// The counters among the figures.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) hit_bytes: AtomicU64,
    pub(crate) miss_bytes: AtomicU64,
    pub(crate) read_bytes: AtomicU64,
    pub(crate) written_bytes: AtomicU64,
    pub(crate) over_budget_bytes: AtomicU64,
    pub(crate) no_room_bytes: AtomicU64,
    pub(crate) damaged: AtomicU64,
    pub(crate) read_errors: AtomicU64,
    pub(crate) write_errors: AtomicU64,
}

/// Adds to a counter.
pub(crate) fn count(counter: &AtomicU64, by: usize) {
    counter.fetch_add(by as u64, Ordering::Relaxed);
}

impl Counters {
    /// The figures, of which the counters are filled in.
    pub(crate) fn figures(&self) -> Figures {
        let told = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Figures {
            hit_bytes: told(&self.hit_bytes),
            miss_bytes: told(&self.miss_bytes),
            read_bytes: told(&self.read_bytes),
            written_bytes: told(&self.written_bytes),
            over_budget_bytes: told(&self.over_budget_bytes),
            no_room_bytes: told(&self.no_room_bytes),
            damaged: told(&self.damaged),
            read_errors: told(&self.read_errors),
            write_errors: told(&self.write_errors),
            ..Figures::default()
        }
    }
}

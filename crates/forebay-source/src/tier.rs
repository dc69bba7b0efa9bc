//! The figures of a disk tier in front of a source, for those who show them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The figures of the tier in one folder since it was opened.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TierFigures {
    /// The folder.
    pub folder: PathBuf,
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
    /// Segments from before that were looked at since the tier was opened.
    pub recovered_segments: u32,
    /// Segments from before.
    pub segments_before: u32,
    /// Files that are not there because the file system has too little room beside what shall stay
    /// free.
    pub withheld_files: u64,
    /// Why nothing more is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_writes: Option<String>,
    /// Why nothing more is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_reads: Option<String>,
}

impl TierFigures {
    /// The state of the tier in a word or two: *off*, *reads only* after a write that failed,
    /// *opening* while segments from before are looked at, *no room* while its file system has none
    /// for any file, else *on*.
    pub fn state(&self) -> &'static str {
        match (&self.no_reads, &self.no_writes) {
            (Some(_), _) => "off",
            (None, Some(_)) => "reads only",
            (None, None) if self.recovered_segments < self.segments_before => "opening",
            (None, None) if self.files == 0 && self.withheld_files > 0 => "no room",
            (None, None) => "on",
        }
    }
}

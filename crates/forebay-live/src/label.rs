//! Labels in bytes: the part of a request that readers wait for, and the bytes that they have read
//! since the request before (SCM §4.2).
//!
//! The core's labels are in blocks ([`forebay_core::level`]); those between levels are in bytes of
//! the file, since two levels need not have blocks of one size.

use std::ops::Range;

use forebay_core::{Extent, FileId};

use crate::budget::BLOCK;

/// A note on a request, for the level below or from the level above.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Label {
    /// The bytes that readers wait for; empty for a pure prefetch. Bytes beyond the request do not
    /// count.
    pub demand: Range<u64>,
    /// The bytes that readers have read since the previous request of the same stream, out of the
    /// blocks that were there. Empty if that is not known, or if there are none.
    pub hits: Range<u64>,
}

impl Label {
    /// For a request that comes from the readers themselves: they want all of it.
    pub fn all(range: Range<u64>) -> Label {
        Label { demand: range, hits: 0..0 }
    }

    /// For the rest of a request whose bytes before `offset` were read already, if a reader reads
    /// it in several parts: the first part's label tells the hits.
    #[must_use]
    pub fn rest(&self, offset: u64) -> Label {
        Label { demand: self.demand.start.max(offset)..self.demand.end.max(offset), hits: 0..0 }
    }

    /// Whether it says no more than a request for `range` without a label does.
    pub(crate) fn is_plain(&self, range: &Range<u64>) -> bool {
        self.hits.is_empty() && self.demand.start <= range.start && self.demand.end >= range.end
    }
}

/// The blocks of `file` that cover `range`, as far as it lies within its `size` bytes.
pub(crate) fn blocks(file: FileId, range: &Range<u64>, size: u64) -> Extent {
    let block = BLOCK as u64;
    let (start, end) = (range.start, range.end.min(size));
    if start >= end {
        return Extent { file, start: 0, len: 0 };
    }
    Extent::between(file, (start / block) as u32, end.div_ceil(block) as u32)
}

/// The bytes of an extent, as far as they lie within the `size` bytes of its file.
pub(crate) fn bytes(extent: Extent, size: u64) -> Range<u64> {
    let block = BLOCK as u64;
    let end = (u64::from(extent.end()) * block).min(size);
    (u64::from(extent.start) * block).min(end)..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_bytes_within_the_file() {
        let file = FileId(7);
        let covered = |range| {
            let extent = blocks(file, &range, 10_000);
            extent.start..extent.end()
        };
        assert_eq!(covered(0..4096), 0..1);
        assert_eq!(covered(4095..4097), 0..2);
        assert_eq!(covered(8192..u64::MAX), 2..3);
        assert!(covered(10_000..u64::MAX).is_empty());
        assert!(covered(5000..5000).is_empty());
        assert_eq!(bytes(Extent { file, start: 1, len: 2 }, 10_000), 4096..10_000);
        assert!(bytes(Extent { file, start: 9, len: 0 }, 10_000).is_empty());
    }

    #[test]
    fn what_is_read_in_parts_is_wanted_once() {
        let label = Label { demand: 4096..12_288, hits: 0..4096 };
        assert_eq!(label.rest(8192), Label { demand: 8192..12_288, hits: 0..0 });
        assert_eq!(label.rest(0), Label { demand: 4096..12_288, hits: 0..0 });
        assert!(label.rest(20_000).demand.is_empty());
        assert!(Label::all(4096..8192).is_plain(&(4096..8192)));
        assert!(Label::all(0..10_000).is_plain(&(4096..8192)));
        assert!(!label.is_plain(&(4096..12_288)));
        assert!(!label.rest(0).is_plain(&(0..12_288)));
    }
}

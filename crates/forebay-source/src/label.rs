//! Labels in bytes: which part of a request readers wait for, and what they have read since the one
//! before (SCM §4.2).
//!
//! The core's labels are in blocks ([`forebay_core::level`]); those between levels are in bytes of
//! the file, since two levels need not have blocks of one size.

use std::ops::Range;

/// The label of a request to the level below, or by the level above.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Label {
    /// The bytes that readers wait for; empty for a pure prefetch. Bytes beyond the request
    /// do not count.
    pub demand: Range<u64>,
    /// The bytes that readers have read since the request before of the same stream, out of what
    /// was there; empty if that is not known, or none.
    pub hits: Range<u64>,
}

impl Label {
    /// Of a request that comes from the readers themselves: they want all of it.
    pub fn all(range: Range<u64>) -> Label {
        Label { demand: range, hits: 0..0 }
    }

    /// Of the rest of a request whose bytes before `offset` were read already, for whoever reads it
    /// in several parts: what was hit is told with the first.
    #[must_use]
    pub fn rest(&self, offset: u64) -> Label {
        Label { demand: self.demand.start.max(offset)..self.demand.end.max(offset), hits: 0..0 }
    }

    /// Whether it says what is taken for granted without it, of a request for `range`.
    pub fn is_plain(&self, range: &Range<u64>) -> bool {
        self.hits.is_empty() && self.demand.start <= range.start && self.demand.end >= range.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

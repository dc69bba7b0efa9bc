//! A disk's on-board cache: a few segments, each a run of sectors that was read last, with those that the head went on to
//! read after it. The least recently used segment is given to the next new run.

use serde::{Deserialize, Serialize};

use crate::zones::SECTOR;

/// The cache as it is written in a description. No segments: no cache, no read-ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// How many runs it holds.
    pub segments: u32,
    /// KiB of each; the head reads as far ahead.
    pub segment_kib: u32,
}

/// The runs, most recently used last. Sectors `low..high` of each are on board.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    runs: Vec<(u64, u64)>,
    most: usize,
    size: u64,
}

impl Segments {
    pub(crate) fn new(cache: Cache) -> Segments {
        let size = u64::from(cache.segment_kib) * 1024 / SECTOR;
        let most = if size == 0 { 0 } else { cache.segments as usize };
        Segments { runs: Vec::with_capacity(most), most, size }
    }

    /// How far beyond a request the head may read.
    pub(crate) fn read_ahead(&self) -> u64 {
        if self.most == 0 { 0 } else { self.size }
    }

    /// The end of the run that holds `sector`, or that ends just there; the run becomes the most recently used.
    pub(crate) fn touch(&mut self, sector: u64) -> Option<u64> {
        let at = self.runs.iter().rposition(|&(low, high)| low <= sector && sector <= high)?;
        let run = self.runs.remove(at);
        self.runs.push(run);
        Some(run.1)
    }

    /// The head has read on from `from` to `to`: the run that ends at `from` grows and loses its oldest sectors, or a new
    /// one begins.
    pub(crate) fn grow(&mut self, from: u64, to: u64) {
        if self.most == 0 || from >= to {
            return;
        }
        let low = match self.runs.iter().rposition(|&(_, high)| high == from) {
            Some(at) => self.runs.remove(at).0,
            None => from,
        };
        if self.runs.len() == self.most {
            self.runs.remove(0);
        }
        self.runs.push((low.max(to.saturating_sub(self.size)), to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_grow_slide_and_are_replaced() {
        let mut cache = Segments::new(Cache { segments: 2, segment_kib: 1 }); // two sectors each
        cache.grow(10, 11);
        cache.grow(11, 13);
        assert_eq!((cache.touch(10), cache.touch(11), cache.touch(13)), (None, Some(13), Some(13)));
        cache.grow(50, 51);
        cache.touch(12);
        cache.grow(90, 91);
        assert_eq!((cache.touch(12), cache.touch(50), cache.touch(90)), (Some(13), None, Some(91)));
    }

    #[test]
    fn nothing_is_kept_without_segments() {
        let mut cache = Segments::new(Cache::default());
        cache.grow(1, 2);
        assert_eq!((cache.touch(1), cache.read_ahead()), (None, 0));
    }
}

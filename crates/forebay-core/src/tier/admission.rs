//! Which fetched blocks are worth a write.
//!
//! What one scan reads is fetched once, so a block has to be fetched a second time before it is
//! written. That also keeps away what memory holds: it is not fetched again. While the tier is
//! full, a block has to be fetched more often than those that it would replace, as TinyLFU has it
//! (Einziger, Friedman and Manes, ACM Transactions on Storage 2017, §3): of a data set that is
//! larger than the tier and read round after round, the tier keeps one part, and reads it in each.

use super::{Admit, FileKey};
use crate::sketch::Sketch;

/// Chunks whose fetches are remembered, for each chunk that the tier holds. A round over a data set
/// of this many tiers is noticed.
const REMEMBERED: u64 = 8;

/// By how much a chunk's count has to exceed that of a victim: of chunks read round after round,
/// one is ahead of another by one fetch until the round ends.
const AHEAD: u32 = 1;

/// A count's fractions, as [`Admission::admits`] takes it.
pub(super) const SIXTEENTHS: u32 = 16;

#[derive(Clone, Debug)]
pub(super) struct Admission {
    rule: Admit,
    /// How often chunks were fetched.
    sketch: Sketch,
}

impl Admission {
    /// For a tier of so many chunks.
    pub(super) fn new(rule: Admit, chunks: u64) -> Admission {
        let remembered = if rule == Admit::All { 0 } else { chunks.saturating_mul(REMEMBERED) };
        Admission { rule, sketch: Sketch::new(u32::try_from(remembered).unwrap_or(u32::MAX)) }
    }

    /// A chunk was fetched, from the tier or from below.
    pub(super) fn referred(&mut self, file: FileKey, chunk: u32) {
        if self.rule != Admit::All {
            self.sketch.add(name(file, chunk));
        }
    }

    /// How often a chunk was fetched lately, 0 to 15.
    pub(super) fn count(&self, file: FileKey, chunk: u32) -> u32 {
        self.sketch.count(name(file, chunk)).into()
    }

    /// Whether a chunk is written that has just been fetched. `victim` is the mean count of those
    /// that it would replace, in sixteenths; `None` while there is room.
    pub(super) fn admits(&self, file: FileKey, chunk: u32, victim: Option<u32>) -> bool {
        let count = self.count(file, chunk);
        match (self.rule, victim) {
            (Admit::All, _) => true,
            (Admit::Second, _) | (Admit::Often, None) => count >= 2,
            (Admit::Often, Some(victim)) => count >= 2 && count * SIXTEENTHS > victim + AHEAD * SIXTEENTHS,
        }
    }

    pub(super) fn footprint(&self) -> usize {
        self.sketch.footprint()
    }
}

/// A chunk as one number.
fn name(file: FileKey, chunk: u32) -> u64 {
    file.0 ^ u64::from(chunk).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

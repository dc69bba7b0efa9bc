//! The segment that is being written, and the pieces that go to it in one write.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use forebay_core::tier::{Place, Tier};
use forebay_source::Segments;

use crate::layout::bytes;
use crate::table::Entry;

/// Blocks of the largest write.
pub(crate) const MOST: u32 = 256;

/// The segment that is being written.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) segment: u32,
    pub(crate) file: Arc<OwnedFd>,
    /// The pieces that are in it.
    pub(crate) entries: Vec<Entry>,
    /// The pieces from before that are not written over yet.
    pub(crate) before: Vec<Entry>,
    /// Since when it has pieces that its table on disk does not have.
    pub(crate) unsaved: Option<Duration>,
}

impl Open {
    /// A segment of which nothing is written yet, with the pieces from before.
    pub(crate) fn new(segment: u32, file: Arc<OwnedFd>, before: Vec<Entry>) -> Open {
        Open { segment, file, entries: Vec::new(), before, unsaved: None }
    }

    /// The pieces in it once nothing more is written to it: also those from before that `tier`
    /// still has.
    pub(crate) fn all(&mut self, tier: &Tier) -> Vec<Entry> {
        self.before.retain(|entry| tier.has(&entry.piece(self.segment)));
        self.entries.iter().chain(&self.before).copied().collect()
    }
}

/// Pieces next to each other, for one write.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) buffer: Segments,
    /// The place of the first.
    pub(crate) at: Place,
    /// How many blocks there are.
    pub(crate) blocks: u32,
    pub(crate) pieces: Vec<Entry>,
}

impl Batch {
    pub(crate) fn new() -> Batch {
        Batch { buffer: Segments::own(bytes(MOST)), at: Place::default(), blocks: 0, pieces: Vec::new() }
    }

    /// Whether a piece of so many blocks fits.
    pub(crate) fn fits(&self, blocks: u32) -> bool {
        self.blocks + blocks <= MOST
    }

    /// Adds a piece at the next place.
    pub(crate) fn put(&mut self, place: Place, entry: Entry, of: &[u8]) {
        if self.pieces.is_empty() {
            self.at = place;
        }
        self.buffer.write(bytes(self.blocks), of);
        self.blocks += u32::from(entry.len);
        self.pieces.push(entry);
    }

    /// Takes all pieces out.
    pub(crate) fn clear(&mut self) -> Vec<Entry> {
        self.blocks = 0;
        std::mem::take(&mut self.pieces)
    }
}

//! Where blocks live once they were referenced. CPEM §4.1 moves a page that is read from the
//! prefetch cache to the kernel's own list; a driver whose readers keep what they are given can
//! have that.

use super::Engine;
use crate::event::{Action, Actions};
use crate::frames::{FREE, flag};
use crate::index::Index;
use crate::replacement::Replacement;
use crate::types::{BlockKey, Extent};

/// What becomes of a block that was referenced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Referenced {
    /// Its frame is kept under the replacement policy.
    #[default]
    Kept,
    /// Whoever reads keeps it (the kernel, in its page cache): its frame is free once nobody reads
    /// from it, and frames hold only what is under way, or prefetched and unread. Such a block that
    /// is asked for again is a miss like any other: the reader's side has dropped it.
    HandedOn,
}

impl Referenced {
    /// How much of memory may be prefetched and unread where nothing else is kept, in per cent; the
    /// rest is for what readers miss.
    pub(crate) const ALL_BUT_A_TENTH: u8 = 90;

    /// The most frames, of `frames`, that all streams together should have prefetched and not yet
    /// read, without a prefetch cache. If frames are kept: a third. A block that was prefetched A
    /// blocks ahead waits while A others are used and as many arrive, all of them more recent than
    /// it, and up to A frames are being filled. With more than a third it would be thrown out just
    /// before its use (CPEM §2.3).
    pub(super) fn room(self, frames: u32) -> u32 {
        match self {
            Referenced::Kept => frames / 3,
            Referenced::HandedOn => (u64::from(frames) * u64::from(Referenced::ALL_BUT_A_TENTH) / 100) as u32,
        }
    }
}

impl<R: Replacement, I: Index> Engine<R, I> {
    /// Whether frames leave with their last reader.
    pub(super) fn hands_on(&self) -> bool {
        self.setup.referenced == Referenced::HandedOn
    }

    /// Frees the frames of `extent` that were referenced and that nobody reads from, if the
    /// driver's readers keep them.
    ///
    /// They are the first to be used again, lowest block first: so frames that a burst has not
    /// needed are never touched, memory is not held twice, and what a read freed is again a row of
    /// neighbours. They are not in the eviction history: when they are missed, their keeper has too
    /// little memory, and no ceiling of ours mends that.
    pub(super) fn hand_on(&mut self, extent: Extent, out: &mut Actions) {
        if !self.hands_on() {
            return;
        }
        for block in (extent.start..extent.end()).rev() {
            let key = BlockKey::new(extent.file, block);
            let Some(slot) = self.resident(key) else { continue };
            let frames = &self.directory.frames;
            if frames.pins(slot) == 0 && !frames.has(slot, flag::PREFETCHED | flag::ABSENT) {
                self.segments.remove(&mut self.directory, slot);
                self.directory.release(slot);
                self.directory.frames.move_to_front(slot, FREE);
                out.push(Action::Evict { frame: self.directory.frames.frame(slot) });
                self.leaves(key, out);
            }
        }
    }
}

//! What lies between the equal steps of a stream (`stream/gait.rs`): left out once it is known that
//! nobody reads it.
//!
//! ```text
//!     wanted   gap ≤ S_p   wanted   gap > S_p   wanted   gap
//!     ▓▓▓▓▓▓▓▓░░░░░░░░░░░░▓▓▓▓▓▓▓▓              ▓▓▓▓▓▓▓▓
//!     └──────── one fetch ────────┘             └ another ┘
//! ```
//!
//! To go around a gap costs the device a switch, to read through it a transfer: S_p says which is
//! less (CP §2). What is read through has its chance with the replacement policy as soon as it is
//! there, and no place among what was fetched ahead: a frame that is being filled, that nobody
//! holds, and that was not fetched ahead for anybody, is one of a gap. (So is one whose reader has
//! failed meanwhile; nobody waits for that either.)
//!
//! Others may want what this stream leaves out. So it is counted, file by file, what becomes of
//! blocks that were fetched ahead and that their stream has passed by; as long as it is not known
//! that hardly any is read, gaps are fetched as everything is.

use super::{Access, Engine};
use crate::event::Actions;
use crate::frames::{FETCHING, Slot, flag};
use crate::index::Index;
use crate::replacement::Replacement;
use crate::types::{BlockKey, Extent, StreamId};

impl<R: Replacement, I: Index> Engine<R, I> {
    /// If `block` of a stream lies in a gap that nobody reads: where the next step begins.
    pub(super) fn gap_at(&self, id: StreamId, block: u32) -> Option<u32> {
        let stream = self.streams.get(id).filter(|_| self.needs.gaps)?;
        self.prefetcher.gap_at(stream, self.files.get(stream.file)?, self.free_frames(), block)
    }

    /// Whether a gap takes no longer to read than a switch, and is preceded by a block that is
    /// fetched, too.
    pub(super) fn is_read_through(&self, gap: Extent) -> bool {
        let follows = self.runs.last().is_some_and(|run| run.file == gap.file && run.end() == gap.start);
        let entry = self.files.get(gap.file).filter(|_| follows);
        entry.is_some_and(|entry| gap.len <= self.competitive_depth(entry, gap.start))
    }

    /// A stream that goes on in equal steps has left out `gap`: what was fetched of it ahead is
    /// nobody's from now on.
    pub(super) fn leaves_out(&mut self, id: StreamId, gap: Extent) {
        if !self.needs.gaps || !self.streams.get(id).is_some_and(|stream| stream.gait.is_known()) {
            return;
        }
        for key in gap.keys() {
            let Some(slot) = self.resident(key) else { continue };
            let frames = &mut self.directory.frames;
            if frames.list(slot) != FETCHING && frames.has(slot, flag::PREFETCHED) && frames.owner(slot) == id {
                frames.set_owner(slot, StreamId::NONE);
            }
        }
    }

    /// A block that was fetched ahead of `owner` has been read by somebody, or goes unread. If it
    /// is nobody's, that tells about the gaps of its file.
    pub(super) fn learn_of_gap(&mut self, key: BlockKey, owner: StreamId, used: bool) {
        if owner == StreamId::NONE
            && let Some(file) = self.files.get_mut(key.file())
        {
            file.gaps.saw(used);
        }
    }

    /// Has the absent blocks of a gap fetched. `false` if there is no frame for one.
    pub(super) fn fetch_gap(
        &mut self,
        gap: Extent,
        apart: &mut bool,
        access: Option<Access>,
        out: &mut Actions,
    ) -> bool {
        for key in gap.keys() {
            if self.resident(key).is_some() {
                continue;
            }
            let class = self.class_of_prefetched(key, access);
            if self.assign(key, class, out).is_none() {
                return false;
            }
            self.append_to_piece(key, self.begins_unit(key), apart);
        }
        true
    }

    /// What has been fetched because it lies between two blocks that are wanted goes to the
    /// replacement policy. Says whether a frame is such.
    pub(super) fn passes_over(&mut self, slot: Slot) -> bool {
        let frames = &mut self.directory.frames;
        let in_gap = frames.pins(slot) == 0 && !frames.has(slot, flag::PREFETCHED);
        if !in_gap || !self.needs.gaps {
            return false;
        }
        frames.set_owner(slot, StreamId::NONE);
        frames.clear(slot, flag::ABSENT);
        frames.set(slot, flag::PREFETCHED);
        let key = frames.key(slot);
        if let Some(device) = self.files.get(key.file()).map(|file| file.device_of(key.block())) {
            self.devices[device.index()].counters.prefetched += 1;
        }
        self.give_up(slot);
        true
    }
}

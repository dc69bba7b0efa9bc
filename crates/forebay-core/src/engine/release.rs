//! A read that is done lets go of its frames, and so does a file that nobody will read again.

use super::Engine;
use crate::event::{Action, Actions};
use crate::index::Index;
use crate::inflight::Read;
use crate::replacement::Replacement;
use crate::types::{BlockKey, Extent, FileId};

impl<R: Replacement, I: Index> Engine<R, I> {
    /// A read no longer holds its frames.
    pub(super) fn release(&mut self, read: Read, out: &mut Actions) {
        if read.admitted {
            self.memory.let_go(read.extent);
            self.hand_on(read.extent, out);
        }
        self.storage.ends_read(read.extent.file);
        self.forget_if_idle(read.extent.file, out);
    }

    /// Frees the frames of `extent` that were referenced and that nobody reads from, if the
    /// driver's readers keep them.
    ///
    /// They are the first to be used again, lowest block first: so frames that a burst has not
    /// needed are never touched, memory is not held twice, and what a read freed is again a row of
    /// neighbours. They are not in the eviction history: when they are missed, their keeper has too
    /// little memory, and no ceiling of ours mends that.
    pub(super) fn hand_on(&mut self, extent: Extent, out: &mut Actions) {
        if !self.memory.hands_on() {
            return;
        }
        for block in (extent.start..extent.end()).rev() {
            let key = BlockKey::new(extent.file, block);
            if let Some(frame) = self.memory.hand_on(key) {
                out.push(Action::Evict { frame, unread: None });
                self.leaves(key, out);
            }
        }
    }

    /// Frees what is left of a forgotten file, once nothing of it is being read or fetched.
    pub(super) fn forget_if_idle(&mut self, file: FileId, out: &mut Actions) {
        let Some(entry) = self.storage.forgotten_and_idle(file) else { return };
        let (blocks, frames) = (entry.blocks, entry.frames);
        let mut held = false;
        if frames > 0 {
            // Whichever is shorter: the file, or the slab.
            if blocks <= self.memory.size() {
                for key in (Extent { file, start: 0, len: blocks }).keys() {
                    held |= !self.drop_block(key, out);
                }
            } else {
                for key in self.memory.blocks_of(file) {
                    held |= !self.drop_block(key, out);
                }
            }
        }
        if held {
            return self.lingering.push(file);
        }
        self.lookahead.forget(file);
        self.storage.remove(file);
        out.push(Action::Forgotten { file });
    }

    /// Frees what is left of forgotten files whose frames the driver held.
    pub(super) fn forget_lingering(&mut self, out: &mut Actions) {
        for file in core::mem::take(&mut self.lingering) {
            self.forget_if_idle(file, out);
        }
    }

    /// `false` if the driver holds the frame of a block, which stays then.
    fn drop_block(&mut self, key: BlockKey, out: &mut Actions) -> bool {
        if self.memory.is_pinned(key) {
            return false;
        }
        self.leaves_lists(key);
        if let Some(slot) = self.memory.drops(key) {
            self.book_release(slot, out);
        }
        true
    }
}

//! What leaves: the frames of a read that is done, of a file that nobody will read again, of blocks
//! that have to make room.

use super::Engine;
use crate::event::{Action, Actions};
use crate::frames::Slot;
use crate::history::Was;
use crate::index::Index;
use crate::inflight::Read;
use crate::replacement::Replacement;
use crate::types::{BlockKey, DeviceId, Extent, FileId};

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
                out.push(Action::Evict { frame });
                self.leaves(key, out);
            }
        }
    }

    /// Frees what is left of a forgotten file, once nothing of it is being read or fetched.
    pub(super) fn forget_if_idle(&mut self, file: FileId, out: &mut Actions) {
        let Some(entry) = self.storage.forgotten_and_idle(file) else { return };
        let (blocks, frames) = (entry.blocks, entry.frames);
        if frames > 0 {
            // Whichever is shorter: the file, or the slab.
            if blocks <= self.memory.size() {
                for key in (Extent { file, start: 0, len: blocks }).keys() {
                    self.drop_block(key, out);
                }
            } else {
                for key in self.memory.blocks_of(file) {
                    self.drop_block(key, out);
                }
            }
        }
        self.lookahead.forget(file);
        self.storage.remove(file);
        out.push(Action::Forgotten { file });
    }

    fn drop_block(&mut self, key: BlockKey, out: &mut Actions) {
        if let Some(slot) = self.memory.drops(key) {
            self.book_release(slot, out);
        }
    }

    /// Books a frame that was given up for want of room, and the second chances that were given on
    /// the way.
    pub(super) fn gives_up(&mut self, slot: Slot, out: &mut Actions) {
        while let Some(spared) = self.memory.take_spared() {
            self.lookahead.came_unread(spared.key, spared.owner);
        }
        let gone = self.memory.released();
        if gone.unused && !R::SPARES {
            self.lookahead.came_unread(gone.key, gone.owner);
        }
        self.book_release(slot, out);
    }

    /// Books what the frame released last held.
    pub(super) fn book_release(&mut self, slot: Slot, out: &mut Actions) {
        let gone = self.memory.released();
        out.push(Action::Evict { frame: self.memory.frame(slot) });
        let Some(device) = self.leaves(gone.key, out) else { return };
        self.memory.unread().went(gone.key, if gone.unused { Was::Unread } else { Was::Referenced });
        if gone.unused {
            self.storage.counters(device).wasted += 1;
            self.learn_of_gap(gone.key, gone.owner, false);
            self.lookahead.went_unread(gone.key, gone.owner);
        }
    }

    /// A frame no longer holds a block. Says on which device that lies.
    fn leaves(&mut self, key: BlockKey, out: &mut Actions) -> Option<DeviceId> {
        let left = self.storage.leaves_frame(key)?;
        if left.emptied {
            out.push(Action::Emptied { file: key.file() });
        }
        Some(left.device)
    }
}

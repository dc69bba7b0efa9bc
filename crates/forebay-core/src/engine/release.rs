//! What a read leaves behind, and what a file that nobody will read again.

use alloc::vec::Vec;

use super::Engine;
use crate::event::{Action, Actions};
use crate::frames::{Slot, UNREAD};
use crate::history::Was;
use crate::index::Index;
use crate::inflight::Read;
use crate::replacement::Replacement;
use crate::types::{BlockKey, DeviceId, Extent, FileId};

impl<R: Replacement, I: Index> Engine<R, I> {
    /// A read no longer holds its frames.
    pub(super) fn release(&mut self, read: Read, out: &mut Actions) {
        if read.admitted {
            self.unpin_all(read.extent);
            self.hand_on(read.extent, out);
        }
        if let Some(file) = self.files.get_mut(read.extent.file) {
            file.reads -= 1;
        }
        self.forget_if_idle(read.extent.file, out);
    }

    pub(super) fn unpin_all(&mut self, extent: Extent) {
        for key in extent.keys() {
            if let Some(slot) = self.resident(key) {
                self.unpin_slot(slot);
            }
        }
    }

    /// Frees what is left of a forgotten file, once nothing of it is being read or fetched.
    pub(super) fn forget_if_idle(&mut self, file: FileId, out: &mut Actions) {
        let Some(entry) = self.files.get(file).filter(|f| f.forgotten && f.reads == 0 && f.fetches == 0) else {
            return;
        };
        let (blocks, frames) = (entry.blocks, entry.frames);
        if frames > 0 {
            // Whichever is shorter: the file, or the slab.
            if blocks <= self.setup.frames {
                for key in (Extent { file, start: 0, len: blocks }).keys() {
                    self.drop_block(key, out);
                }
            } else {
                let held: Vec<BlockKey> =
                    self.directory.frames.keys_in_use().filter(|key| key.file() == file).collect();
                for key in held {
                    self.drop_block(key, out);
                }
            }
        }
        self.streams.forget(file);
        self.files.remove(file);
        out.push(Action::Forgotten { file });
    }

    pub(super) fn drop_block(&mut self, key: BlockKey, out: &mut Actions) {
        let Some(slot) = self.directory.find(key) else { return };
        let ghost = self.directory.frames.is_ghost(slot);
        if self.directory.frames.list(slot) == UNREAD {
            self.leave_prefetch_cache(slot);
        } else {
            self.segments.remove(&mut self.directory, slot);
        }
        self.directory.release(slot);
        if !ghost {
            self.book_release(slot, out);
        }
    }

    /// Books what the frame released last held.
    pub(super) fn book_release(&mut self, slot: Slot, out: &mut Actions) {
        let gone = self.directory.released();
        out.push(Action::Evict { frame: self.directory.frames.frame(slot) });
        let Some(device) = self.leaves(gone.key, out) else { return };
        if gone.unused {
            self.devices[device.index()].counters.wasted += 1;
            self.history.evicted(gone.key, Was::Unread);
            self.learn_of_gap(gone.key, gone.owner, false);
            if let Some(stream) = self.streams.get_mut(gone.owner).filter(|s| s.file == gone.key.file()) {
                stream.feedback.wasted += 1;
                self.streams.holds_no_more(gone.owner);
            }
        } else if self.reclaimer.is_some() {
            self.history.evicted(gone.key, Was::Referenced);
        }
    }

    /// A frame no longer holds a block. Says on which device that lies.
    pub(super) fn leaves(&mut self, key: BlockKey, out: &mut Actions) -> Option<DeviceId> {
        let file = self.files.get_mut(key.file())?;
        file.frames -= 1;
        if file.frames == 0 && file.is_closed() {
            out.push(Action::Emptied { file: key.file() });
        }
        let device = file.device_of(key.block());
        self.devices[device.index()].frames -= 1;
        Some(device)
    }
}

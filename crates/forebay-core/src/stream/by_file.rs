//! The streams of a file.

use super::{GONE, NOWHERE, Stream, Streams};
use crate::types::{FileId, StreamId};

/// The streams of one file.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfFile {
    /// The one that began last.
    first: u32,
    /// How many have begun; the number wraps.
    begun: u32,
}

impl OfFile {
    const NONE: OfFile = OfFile { first: NOWHERE, begun: 0 };
}

impl Streams {
    /// Forgets the streams of a file.
    pub fn forget(&mut self, file: FileId) {
        while let Some(id) = self.first_of(file) {
            self.unlink(id);
            self.unlink_file(id);
            self.table[id as usize].in_use = false;
            let slot = self.slot(StreamId(id));
            self.order.move_to_back(slot, GONE);
            self.asks_no_more(StreamId(id));
        }
        self.files.remove(file.0);
    }

    /// A file is closed: its streams are no longer active, unless they go on. `each` is told of
    /// those that had not come to the end.
    pub fn rest(&mut self, file: FileId, mut each: impl FnMut(&Stream)) {
        let mut at = self.first_of(file);
        while let Some(id) = at {
            let stream = &self.table[id as usize];
            if !stream.retired {
                each(stream);
            }
            self.retire(StreamId(id));
            at = Some(self.table[id as usize].file_next).filter(|&id| id != NOWHERE);
        }
    }

    /// How many streams have begun in a file; the number wraps.
    pub(super) fn begun(&self, file: FileId) -> u32 {
        self.files.get(file.0).map_or(0, |of_file| of_file.begun)
    }

    fn first_of(&self, file: FileId) -> Option<u32> {
        self.files.get(file.0).map(|of_file| of_file.first).filter(|&id| id != NOWHERE)
    }

    pub(super) fn link_file(&mut self, id: u32) {
        let file = self.table[id as usize].file;
        let OfFile { first: second, begun } = self.files.get(file.0).copied().unwrap_or(OfFile::NONE);
        self.files.insert(file.0, OfFile { first: id, begun: begun.wrapping_add(1) });
        self.table[id as usize].file_next = second;
        if let Some(second) = self.table.get_mut(second as usize) {
            second.file_prev = id;
        }
    }

    pub(super) fn unlink_file(&mut self, id: u32) {
        let Stream { file, file_prev, file_next, .. } = self.table[id as usize];
        if let Some(next) = self.table.get_mut(file_next as usize) {
            next.file_prev = file_prev;
        }
        match self.table.get_mut(file_prev as usize) {
            Some(prev) => prev.file_next = file_next,
            None => {
                if let Some(of_file) = self.files.get_mut(file.0) {
                    of_file.first = file_next;
                }
            }
        }
    }
}

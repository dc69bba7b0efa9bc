//! The content of a folder from before: its tables are read while the tier is in use already.
//!
//! Until a segment has been looked at, its blocks are misses and it is not written.

use std::cmp::Reverse;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::vec;

use crate::folder::Found;
use crate::layout::{SEGMENTS_A_FILE, file_of, segments_of};
use crate::store::Store;
use crate::writer::read_table;

/// Numbers of segments that are not believed: the count of all could not go on from them.
const TOO_LARGE: u64 = 1 << 62;

/// See the file's head.
pub struct Recovery {
    store: Arc<Store>,
    files: vec::IntoIter<Found>,
}

impl Recovery {
    /// Of these files, those that were written last first.
    pub(crate) fn new(store: Arc<Store>, mut files: Vec<Found>) -> Recovery {
        files.sort_by_key(|found| (Reverse(found.modified), found.number));
        Recovery { store, files: files.into_iter() }
    }

    /// Looks at all files, unless it is told to stop.
    pub(crate) fn run(mut self) {
        while self.round() {}
    }

    /// Looks at the segments of the next file. Returns whether to go on.
    pub fn round(&mut self) -> bool {
        let Some(Found { number, .. }) = self.files.next() else { return false };
        let store = &self.store;
        match store.disk.open(&store.folder.file(number)) {
            Ok(file) => {
                let file = Arc::new(file);
                store.state.lock().files[number as usize] = Some(Arc::clone(&file));
                segments_of(number).for_each(|segment| recover(store, &file, segment));
            }
            Err(error) => log::info!("{}: left alone: {error}", store.folder.file(number).display()),
        }
        store.waiting.recover(SEGMENTS_A_FILE)
    }
}

fn recover(store: &Store, file: &Arc<OwnedFd>, segment: u32) {
    let table = match read_table(store, file, segment) {
        Ok(table) => table.filter(|table| !table.entries.is_empty() && table.number < TOO_LARGE),
        // Nothing is written where nothing can be read.
        Err(error) => return log::info!("segment {segment} of {}: {error}", store.folder.dir.display()),
    };
    let mut state = store.state.lock();
    // The file may have been removed meanwhile, for want of room.
    let there = state.files[file_of(segment) as usize].as_ref();
    if there.is_none_or(|there| !Arc::ptr_eq(there, file)) {
        return;
    }
    match table {
        None => state.tier.grant(segment),
        Some(table) => {
            table.entries.iter().for_each(|entry| state.tier.restore(entry.piece(segment)));
            state.tier.restore_segment(segment, table.number);
            state.sealed(segment, table.number);
        }
    }
}

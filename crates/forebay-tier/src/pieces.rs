//! Reads of pieces, and whether their bytes are those that were written.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use forebay_core::tier::Run;
use forebay_source::Segments;
use forebay_source::io::Read;

use crate::disk::give_up_direct;
use crate::figures::count;
use crate::fingerprint::Fingerprint;
use crate::layout::{CHUNK_BLOCKS, byte_at, bytes};
use crate::store::{Lying, Store};

/// Reads that fail one after another until the tier is given up.
const PATIENCE: u32 = 16;

/// The most blocks that one read brings: 256 KiB. Checksums of one read are then made while the
/// disk brings the next. A disk gains little by longer reads.
const MOST: u32 = 4 * CHUNK_BLOCKS;

/// Called with the memory, and the blocks that are not in it.
pub(crate) type Then = Box<dyn FnOnce(Segments, Vec<Run>) + Send>;

/// Pieces that one read brings: one, or whole ones next to each other, in the file and on the disk.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) of: Fingerprint,
    pub(crate) pieces: Vec<Lying>,
}

impl Group {
    /// The pieces, put together as far as one read can bring them.
    pub(crate) fn of_all(of: Fingerprint, lying: Vec<Lying>) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for next in lying {
            match groups.last_mut().filter(|group| group.goes_on_with(&next)) {
                Some(group) => group.pieces.push(next),
                None => groups.push(Group { of, pieces: vec![next] }),
            }
        }
        groups
    }

    fn goes_on_with(&self, next: &Lying) -> bool {
        let Some(last) = self.pieces.last() else { return false };
        let (last, next) = (&last.found, &next.found);
        let (at, to) = (last.piece.place, next.piece.place);
        let whole = last.part == last.piece.run && next.part == next.piece.run;
        let short = self.blocks() + next.part.len <= MOST;
        let beside = at.segment == to.segment && at.block + last.piece.run.len == to.block;
        short && whole && beside && last.part.end() == next.part.start
    }

    /// The first block that is wanted.
    pub(crate) fn start(&self) -> u32 {
        self.pieces.first().map_or(0, |lying| lying.found.part.start)
    }

    /// How many blocks are wanted.
    pub(crate) fn blocks(&self) -> u32 {
        self.pieces.iter().map(|lying| lying.found.part.len).sum()
    }

    fn parts(&self) -> Vec<Run> {
        self.pieces.iter().map(|lying| lying.found.part).collect()
    }

    /// Reads them into memory for exactly the wanted blocks.
    pub(crate) fn read(self, store: &Arc<Store>, into: Segments, urgent: bool, then: Then) {
        let Some(first) = self.pieces.first() else { return then(into, Vec::new()) };
        let (piece, part) = (first.found.piece, first.found.part);
        let Some(file) = first.file.clone() else {
            let missing = self.parts();
            return then(into, missing);
        };
        let (keeper, read) = (Arc::clone(store), Arc::clone(&file));
        let start = move |buffer: Segments, done: Then| {
            let wanted = buffer.len();
            let judge = move |buffer: Segments, outcome| {
                let missing = self.judge(&keeper, &read, &buffer, outcome);
                done(buffer, missing);
            };
            Read::new(file, byte_at(piece.place), buffer, wanted, urgent, Box::new(judge))
        };
        let read = if part == piece.run {
            start(into, then)
        } else {
            let copy = move |buffer: Segments, missing: Vec<Run>| {
                let mut into = into;
                let from = bytes(part.start - piece.run.start);
                let mut at = 0;
                for bytes in buffer.bytes_in(from..from + bytes(part.len)) {
                    into.write(at, bytes);
                    at += bytes.len();
                }
                then(into, missing);
            };
            start(Segments::own(bytes(piece.run.len)), Box::new(copy))
        };
        store.reader().read(read);
    }

    /// The blocks that did not come as they were written.
    fn judge(&self, store: &Store, file: &OwnedFd, buffer: &Segments, outcome: io::Result<usize>) -> Vec<Run> {
        let filled = match outcome {
            Ok(filled) => filled,
            Err(error) => {
                self.failed(store, file, &error);
                return self.parts();
            }
        };
        store.ends.failed.store(0, Ordering::Relaxed);
        count(&store.counters.read_bytes, filled);
        let mut from = 0;
        let right: Vec<bool> = (self.pieces.iter())
            .map(|lying| {
                let (run, sum) = (lying.found.piece.run, lying.found.piece.sum);
                let to = from + bytes(run.len);
                let within = std::mem::replace(&mut from, to)..to;
                to <= filled && self.of.sum(run.start, buffer.bytes_in(within)) == sum
            })
            .collect();
        let (mut missing, mut state) = (Vec::new(), store.state.lock());
        for (lying, right) in self.pieces.iter().zip(right) {
            // If its segment was begun anew meanwhile, right bytes would be right by chance.
            let still = state.has(lying);
            if right && still {
                count(&store.counters.hit_bytes, bytes(lying.found.part.len));
                continue;
            }
            missing.push(lying.found.part);
            count(&store.counters.damaged, usize::from(still));
            state.forget(lying);
        }
        missing
    }

    fn failed(&self, store: &Store, file: &OwnedFd, error: &io::Error) {
        if error.raw_os_error() == Some(libc::EINVAL) && give_up_direct(file) {
            return;
        }
        count(&store.counters.read_errors, 1);
        self.pieces.iter().for_each(|lying| store.state.lock().forget(lying));
        if store.ends.failed.fetch_add(1, Ordering::Relaxed) + 1 >= PATIENCE {
            store.end_reads(&format!("{PATIENCE} reads failed one after another, the last one since: {error}"));
        }
    }
}

//! Where the pieces of a tier are: a hash of chunks, and a list for each segment.
//!
//! A piece takes 32 bytes and its place in the table four to eight.

use alloc::vec;
use alloc::vec::Vec;

use super::{FileKey, Piece, Place, Run};

/// A piece. Its chunk is that of its first block.
#[derive(Clone, Copy, Debug)]
struct Entry {
    file: [u32; 2],
    start: u32,
    segment: u32,
    /// The first block in the segment.
    block: u16,
    len: u8,
    sum: u32,
    /// The next entry in its chain of the table, or of the free ones.
    next: u32,
    /// The next entry of its segment.
    beside: u32,
}

impl Entry {
    fn file(&self) -> FileKey {
        FileKey(u64::from(self.file[0]) << 32 | u64::from(self.file[1]))
    }

    fn piece(&self) -> Piece {
        let Entry { start, segment, block, len, sum, .. } = *self;
        let run = Run { file: self.file(), start, len: len.into() };
        Piece { run, place: Place { segment, block: block.into() }, sum }
    }
}

/// All chains name entries by their number from one on; zero ends them. So the tables begin as
/// zeros, which take no memory until they are written.
#[derive(Clone, Debug)]
pub(super) struct Index {
    entries: Vec<Entry>,
    /// The first entry of each chain; a power of two of them.
    heads: Vec<u32>,
    /// The first entry of each segment.
    segments: Vec<u32>,
    /// The first entry that was removed.
    free: u32,
    len: u32,
    most: u32,
}

impl Index {
    /// For at most so many pieces in so many segments.
    pub(super) fn new(most: u32, segments: u32) -> Index {
        Index {
            entries: Vec::with_capacity(most as usize),
            heads: vec![0; (most as usize).next_power_of_two()],
            segments: vec![0; segments as usize],
            free: 0,
            len: 0,
            most,
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// The chain of a chunk.
    fn chain(&self, file: FileKey, chunk: u32) -> usize {
        let mixed = (file.0 ^ u64::from(chunk).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 32)) as usize & (self.heads.len() - 1)
    }

    /// The longest piece that has a block of this chunk.
    pub(super) fn find(&self, file: FileKey, chunk: u32, block: u32) -> Option<Piece> {
        let (mut at, mut longest) = (self.heads[self.chain(file, chunk)], None::<(u32, u8)>);
        while at != 0 {
            let entry = &self.entries[at as usize - 1];
            let has = entry.file() == file && entry.start <= block && block - entry.start < entry.len.into();
            if has && longest.is_none_or(|(_, len)| len < entry.len) {
                longest = Some((at, entry.len));
            }
            at = entry.next;
        }
        Some(self.entry(longest?.0)?.piece())
    }

    /// Whether a piece of this chunk is there.
    pub(super) fn has(&self, chunk: u32, piece: &Piece) -> bool {
        let first = self.heads[self.chain(piece.run.file, chunk)];
        let mut chain = core::iter::successors(self.entry(first), |entry| self.entry(entry.next));
        chain.any(|entry| entry.piece() == *piece)
    }

    /// Adds a piece of a chunk, unless there are too many, or it is empty or longer than a piece
    /// may be.
    pub(super) fn insert(&mut self, chunk: u32, piece: Piece) {
        let (Ok(len @ 1..), Ok(block)) = (u8::try_from(piece.run.len), u16::try_from(piece.place.block)) else {
            return;
        };
        let chain = self.chain(piece.run.file, chunk);
        let segment = piece.place.segment as usize;
        if self.len >= self.most || segment >= self.segments.len() {
            return;
        }
        let entry = Entry {
            file: [(piece.run.file.0 >> 32) as u32, piece.run.file.0 as u32],
            start: piece.run.start,
            segment: piece.place.segment,
            block,
            len,
            sum: piece.sum,
            next: self.heads[chain],
            beside: self.segments[segment],
        };
        let at = self.put(entry);
        self.heads[chain] = at;
        self.segments[segment] = at;
        self.len += 1;
    }

    /// The number of a new entry.
    fn put(&mut self, entry: Entry) -> u32 {
        if self.free == 0 {
            self.entries.push(entry);
            return self.entries.len() as u32;
        }
        let at = self.free;
        self.free = self.entries[at as usize - 1].next;
        self.entries[at as usize - 1] = entry;
        at
    }

    /// Takes all pieces out of a segment.
    pub(super) fn drain(&mut self, segment: u32, chunk_blocks: u32) {
        self.overwrite(Place { segment, block: 0 }, u32::MAX, chunk_blocks);
    }

    /// Takes the pieces out of a segment of which one of so many blocks is written over.
    pub(super) fn overwrite(&mut self, place: Place, blocks: u32, chunk_blocks: u32) {
        let Some(&first) = self.segments.get(place.segment as usize) else { return };
        let (mut before, mut at) = (0, first);
        while at != 0 {
            let (beside, piece) = (self.entries[at as usize - 1].beside, self.entries[at as usize - 1].piece());
            let (start, end) = (piece.place.block, piece.place.block + piece.run.len);
            if start < place.block.saturating_add(blocks) && place.block < end {
                self.leave(before, at);
                self.unchain(at, self.chain(piece.run.file, piece.run.start / chunk_blocks));
            } else {
                before = at;
            }
            at = beside;
        }
    }

    /// Takes an entry out of the list of its segment, in which it follows `before`.
    fn leave(&mut self, before: u32, at: u32) {
        let Entry { beside, segment, .. } = self.entries[at as usize - 1];
        match before {
            0 => self.segments[segment as usize] = beside,
            before => self.entries[before as usize - 1].beside = beside,
        }
    }

    /// Removes a piece, if it is there.
    pub(super) fn remove(&mut self, chunk: u32, piece: &Piece) {
        let segment = piece.place.segment as usize;
        let (mut before, mut at) = (0, self.segments.get(segment).copied().unwrap_or(0));
        while at != 0 && self.entries[at as usize - 1].piece() != *piece {
            (before, at) = (at, self.entries[at as usize - 1].beside);
        }
        if at == 0 {
            return;
        }
        self.leave(before, at);
        self.unchain(at, self.chain(piece.run.file, chunk));
    }

    /// Takes an entry out of its chain of the table, and frees it.
    fn unchain(&mut self, at: u32, chain: usize) {
        let next = self.entries[at as usize - 1].next;
        let mut before = self.heads[chain];
        if before == at {
            self.heads[chain] = next;
        } else {
            while self.entries[before as usize - 1].next != at {
                before = self.entries[before as usize - 1].next;
            }
            self.entries[before as usize - 1].next = next;
        }
        self.entries[at as usize - 1].next = self.free;
        self.free = at;
        self.len -= 1;
    }

    /// The pieces of a segment.
    pub(super) fn of_segment(&self, segment: u32) -> impl Iterator<Item = Piece> {
        let first = self.segments.get(segment as usize).copied().unwrap_or(0);
        let entries = core::iter::successors(self.entry(first), |entry| self.entry(entry.beside));
        entries.map(Entry::piece)
    }

    fn entry(&self, at: u32) -> Option<&Entry> {
        self.entries.get((at as usize).checked_sub(1)?)
    }

    pub(super) fn footprint(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + (self.heads.len() + self.segments.len()) * size_of::<u32>()
    }
}

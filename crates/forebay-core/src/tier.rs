//! The disk tier: what a local disk keeps of what memory gave up, and what it does not take.
//!
//! A tier is a level below memory (SCM §5.3) whose blocks outlive the process. This is its policy:
//! where a block is, whether a fetched block is worth a write, and which segment is given up. It
//! moves no bytes; the simulator and the store on disk ask the same rules.
//!
//! ```text
//!   fetch ──▶ look: pieces that the tier has │ what is missing ──▶ source
//!                                            │
//!   the missing part arrived ──▶ offer: pieces that are worth a write
//!                    each piece ──▶ reserve: a place in the open segment; then insert
//!                    no place   ──▶ turn: the open segment is sealed, another one opened
//! ```
//!
//! The unit of admission is the piece: blocks next to each other within one chunk of a file. The
//! unit of eviction is the segment, which is written from its beginning to its end, so that a disk
//! sees large writes one after another.

mod admission;
mod ghosts;
mod index;
mod segments;

use alloc::vec::Vec;

use admission::{Admission, Compared};
use index::Index;
use segments::Segments;

pub use segments::{Sealed, Turn};

/// A file version, by a number that stands for it: the driver's hash of source, name and version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FileKey(pub u64);

/// Blocks of a file next to each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Run {
    /// The file version.
    pub file: FileKey,
    /// The first block.
    pub start: u32,
    /// How many blocks.
    pub len: u32,
}

impl Run {
    /// The block after the last.
    pub fn end(&self) -> u32 {
        self.start + self.len
    }

    /// The blocks of it in `start..end`.
    fn within(&self, start: u32, end: u32) -> Run {
        let start = start.max(self.start);
        Run { start, len: end.min(self.end()).saturating_sub(start), ..*self }
    }
}

/// Where a piece lies: so many blocks from the beginning of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Place {
    /// The segment.
    pub segment: u32,
    /// The first block in it.
    pub block: u32,
}

/// A piece that the tier has: blocks of one chunk, at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Piece {
    /// The blocks.
    pub run: Run,
    /// The place of the first.
    pub place: Place,
    /// A word of the driver's, kept with the piece: the checksum of its bytes.
    pub sum: u32,
}

/// A piece that has blocks that a fetch asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// The whole piece, which its checksum is of.
    pub piece: Piece,
    /// The blocks of it that are to be read.
    pub part: Run,
}

/// The size of a tier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// How many segments.
    pub segments: u32,
    /// Blocks of data in a segment.
    pub segment_blocks: u32,
    /// Blocks in a chunk, a power of two, 1 to 128: the largest piece.
    pub chunk_blocks: u32,
    /// The most pieces, which bounds the memory that the index takes.
    pub pieces: u32,
    /// The rules of admission and eviction.
    pub rules: Rules,
}

/// The rules of admission and eviction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// Which fetched blocks are written.
    pub admit: Admit,
    /// Which segment is given up.
    pub evict: Evict,
}

/// Which fetched blocks are written to a tier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Admit {
    /// All, as most peers do.
    All,
    /// Those that were fetched before.
    Second,
    /// Those that were fetched before, and while the tier is full, more often than those that they
    /// would replace. The first sixteenth of the tier takes everything.
    #[default]
    Often,
}

/// Which segment a full tier gives up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Evict {
    /// The one that was written first.
    Fifo,
    /// The one that was read longest ago.
    #[default]
    Lru,
}

/// The counters of a tier, in blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Blocks that fetches asked for.
    pub asked: u64,
    /// Of these: found here.
    pub found: u64,
    /// Blocks that were written.
    pub written: u64,
}

/// The policy of a tier, and its index. See the module's head.
#[derive(Clone, Debug)]
pub struct Tier {
    setup: Setup,
    index: Index,
    segments: Segments,
    admission: Admission,
    counts: Counts,
}

impl Tier {
    /// An empty tier.
    pub fn new(setup: Setup) -> Tier {
        let chunk_blocks = setup.chunk_blocks.max(1);
        let chunks = u64::from(setup.segments) * u64::from(setup.segment_blocks / chunk_blocks);
        Tier {
            setup,
            index: Index::new(setup.pieces, setup.segments),
            segments: Segments::new(setup.segments, setup.segment_blocks),
            admission: Admission::new(setup.rules.admit, chunks),
            counts: Counts::default(),
        }
    }

    /// The setup.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The counters until now.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How many pieces it has.
    pub fn pieces(&self) -> u32 {
        self.index.len()
    }

    /// The bytes that policy and index take.
    pub fn footprint(&self) -> usize {
        self.index.footprint() + self.segments.footprint() + self.admission.footprint()
    }

    /// A fetch asks for `run`. Appends the pieces from which the driver is to read, in the order of
    /// their blocks, and returns what only the source has: one run, since a second request to a
    /// source costs more than the blocks between. It is empty if the tier has everything.
    pub fn look(&mut self, run: Run, found: &mut Vec<Found>) -> Run {
        self.counts.asked += u64::from(run.len);
        self.segments.asked(run.len);
        let (from, mut start, mut end) = (found.len(), run.start, run.end());
        while start < end {
            let Some(next) = self.take(run.within(start, end), start) else { break };
            start = next.part.end();
            found.push(next);
        }
        let head = found.len();
        while start < end {
            let Some(next) = self.take(run.within(start, end), end - 1) else { break };
            end = next.part.start;
            found.push(next);
        }
        found[head..].reverse();
        let missing = Run { start, len: end - start, ..run };
        found[from..].iter().for_each(|found| self.admission.fetched(found.piece.run));
        parts(missing, self.setup.chunk_blocks).for_each(|part| self.admission.fetched(part));
        missing
    }

    /// The longest piece that has `block`, clipped to a run, which counts as read.
    fn take(&mut self, run: Run, block: u32) -> Option<Found> {
        let piece = self.index.find(run.file, self.chunk(block), block)?;
        let part = piece.run.within(run.start, run.end());
        self.counts.found += u64::from(part.len);
        self.segments.read(piece.place.segment);
        Some(Found { piece, part })
    }

    /// Blocks that were fetched ahead were given up before they were read.
    pub fn unread(&mut self, run: Run) {
        // A piece counts by its first block.
        (run.start..run.end()).for_each(|start| self.admission.unread(Run { start, ..run }));
    }

    /// The missing run has come. Appends the pieces of it that are worth a write.
    pub fn offer(&mut self, run: Run, worth: &mut Vec<Run>) {
        let (admission, index) = (&self.admission, &self.index);
        let mean = |segment| admission.mean(index.of_segment(segment).map(|piece| piece.run));
        let compared = if self.segments.has_room(self.setup.chunk_blocks) {
            Compared::Room
        } else {
            match self.segments.victim_mean(self.setup.rules.evict, mean) {
                Some(mean) => Compared::Victim(mean),
                None => return,
            }
        };
        let chunk_blocks = self.setup.chunk_blocks;
        // A piece between two that were missing was fetched with them.
        let there = |part: Run| {
            let piece = index.find(part.file, part.start / chunk_blocks, part.start);
            piece.is_some_and(|piece| piece.run.end() >= part.end())
        };
        let often = self.setup.rules.admit == Admit::Often;
        let mut at_first = if often { self.segments.room_at_first() } else { 0 };
        worth.extend(parts(run, chunk_blocks).filter(|&part| {
            let admitted = u64::from(part.len) <= at_first || admission.admits(part, compared);
            let taken = !there(part) && admitted;
            at_first = at_first.saturating_sub(if taken { part.len.into() } else { 0 });
            taken
        }));
    }

    /// Takes room for so many blocks in the open segment. The tier forgets the blocks that lay
    /// there. `None` if the segment has not enough, and for the first piece of all: then it is time
    /// for a [`turn`](Tier::turn).
    pub fn reserve(&mut self, blocks: u32) -> Option<Place> {
        let place = self.segments.reserve(blocks)?;
        self.index.overwrite(place, blocks, self.setup.chunk_blocks);
        Some(place)
    }

    /// Seals the open segment and opens another one, if need be the victim. Its pieces stay until
    /// they are written over. `None` if there is no segment to be had.
    pub fn turn(&mut self) -> Option<Turn> {
        let full = self.index.len() + self.setup.segment_blocks > self.setup.pieces;
        self.segments.turn(self.setup.rules.evict, full)
    }

    /// A piece that was offered has been written.
    pub fn insert(&mut self, piece: Piece) {
        self.counts.written += u64::from(piece.run.len);
        self.restore(piece);
    }

    /// A piece is on disk. It is not entered if the index is full.
    pub fn restore(&mut self, piece: Piece) {
        let chunk = self.chunk(piece.run.start);
        self.index.insert(chunk, piece);
    }

    /// A segment was sealed as the `number`th of all, before this tier was opened.
    pub fn restore_segment(&mut self, segment: u32, number: u64) {
        self.segments.restore(segment, number);
    }

    /// A piece turned out to be damaged: it is no longer here.
    pub fn forget(&mut self, piece: &Piece) {
        self.index.remove(self.chunk(piece.run.start), piece);
    }

    /// Whether a piece is still where it was.
    pub fn has(&self, piece: &Piece) -> bool {
        self.index.has(self.chunk(piece.run.start), piece)
    }

    /// All pieces of a segment.
    pub fn of_segment(&self, segment: u32) -> impl Iterator<Item = Piece> {
        self.index.of_segment(segment)
    }

    /// Gives up a segment for good: nothing is there, and nothing will be written there until
    /// [`grant`](Tier::grant). For a disk that gets full.
    pub fn withdraw(&mut self, segment: u32) {
        self.index.drain(segment, self.setup.chunk_blocks);
        self.segments.withdraw(segment);
    }

    /// A segment that was withdrawn, or never there, may be written.
    pub fn grant(&mut self, segment: u32) {
        self.segments.grant(segment);
    }

    fn chunk(&self, block: u32) -> u32 {
        block / self.setup.chunk_blocks
    }
}

/// A run by its chunks.
fn parts(run: Run, chunk_blocks: u32) -> impl Iterator<Item = Run> {
    let chunks = run.start / chunk_blocks..if run.len == 0 { 0 } else { run.end().div_ceil(chunk_blocks) };
    chunks.map(move |chunk| run.within(chunk * chunk_blocks, chunk.saturating_add(1).saturating_mul(chunk_blocks)))
}

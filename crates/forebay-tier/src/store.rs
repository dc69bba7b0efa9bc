//! The tier in one folder, as its readers, its writer and its recovery share it.

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use forebay_core::tier::{Found, Run, Setup, Tier};
use forebay_source::Segments;
use forebay_source::io::Reader;
use parking_lot::Mutex;

use crate::disk::{Clock, Disk, Host};
use crate::figures::{Counters, Figures, count};
use crate::fingerprint::Fingerprint;
use crate::folder::Folder;
use crate::layout::{
    BESIDE, CHUNK_BLOCKS, FILE, FILE_ROOM, SEGMENT_BLOCKS, SEGMENTS_A_FILE, bytes, file_of, segments_of,
};
use crate::options::Options;
use crate::waiting::{Item, Refused, Waiting};

/// The share of the tier's bytes that its index may take: one five-hundredth.
const INDEX_SHARE: u64 = 500;

/// See the file's head.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) options: Options,
    pub(crate) folder: Folder,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) clock: Arc<dyn Clock>,
    reader: Reading,
    pub(crate) state: Mutex<State>,
    pub(crate) waiting: Waiting,
    pub(crate) counters: Counters,
    pub(crate) ends: Ends,
}

/// The process's reader, which has nothing to show.
struct Reading(Arc<dyn Reader>);

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

/// The state under the lock.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) tier: Tier,
    /// The files of segments, by number.
    pub(crate) files: Vec<Option<Arc<OwnedFd>>>,
    /// How often each segment was begun or given up.
    turns: Vec<u32>,
    /// Each segment's number among those that were sealed; zero if it was not.
    numbers: Vec<u64>,
    /// Files that the file system has no room for.
    pub(crate) withheld: Vec<u32>,
    /// Whether the log has said that the file system has too little room.
    pub(crate) told_of_room: bool,
}

/// Why a tier does nothing more. The first reason stays.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    writes: End,
    reads: End,
    /// Reads that failed one after another.
    pub(crate) failed: AtomicU32,
}

#[derive(Debug, Default)]
struct End {
    over: AtomicBool,
    reason: Mutex<Option<String>>,
}

/// A piece that the tier has, and where it was when that was found out.
#[derive(Clone, Debug)]
pub(crate) struct Lying {
    pub(crate) found: Found,
    pub(crate) file: Option<Arc<OwnedFd>>,
    /// The segment's turns at that time.
    turn: u32,
}

impl End {
    /// Returns whether this is news.
    fn end(&self, reason: String) -> bool {
        let mut kept = self.reason.lock();
        let news = kept.is_none();
        kept.get_or_insert(reason);
        self.over.store(true, Ordering::Relaxed);
        news
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

impl Ends {
    /// Whether pieces are still written.
    pub(crate) fn writes(&self) -> bool {
        !self.writes.is_over()
    }

    /// Whether pieces are still read.
    pub(crate) fn reads(&self) -> bool {
        !self.reads.is_over()
    }
}

impl State {
    pub(crate) fn new(tier: Tier) -> State {
        let segments = tier.setup().segments as usize;
        let files = vec![None; segments / SEGMENTS_A_FILE as usize];
        let (turns, numbers) = (vec![0; segments], vec![0; segments]);
        State { tier, files, turns, numbers, withheld: Vec::new(), told_of_room: false }
    }

    /// A segment is written anew, or given up. What is in it goes, or stays until it is written
    /// over.
    pub(crate) fn begins(&mut self, segment: u32) {
        self.turns[segment as usize] = self.turns[segment as usize].wrapping_add(1);
        self.numbers[segment as usize] = 0;
    }

    /// A segment has its number.
    pub(crate) fn sealed(&mut self, segment: u32, number: u64) {
        self.numbers[segment as usize] = number;
    }

    /// The number that the next segment gets.
    pub(crate) fn next_number(&self) -> u64 {
        self.numbers.iter().max().map_or(1, |highest| highest + 1)
    }

    /// Nothing is in a file any more, and nothing will be written to it until it is granted.
    pub(crate) fn withdraw(&mut self, file: u32) {
        for segment in segments_of(file) {
            self.begins(segment);
            self.tier.withdraw(segment);
        }
        self.files[file as usize] = None;
    }

    /// A file's segments may be written.
    pub(crate) fn grant(&mut self, file: u32) {
        segments_of(file).for_each(|segment| self.tier.grant(segment));
    }

    /// The file that is worth least: its segments are the oldest ones. `open` is taken last.
    pub(crate) fn oldest(&self, open: Option<u32>) -> Option<u32> {
        let files = (0..).zip(&self.files).filter(|(_, file)| file.is_some()).map(|(number, _)| number);
        let newest = |&file: &u32| {
            let numbers = segments_of(file).map(|segment| self.numbers[segment as usize]);
            (Some(file) == open, numbers.max())
        };
        files.min_by_key(newest)
    }

    fn lying(&self, found: Found) -> Lying {
        let segment = found.piece.place.segment;
        let file = self.files[file_of(segment) as usize].clone();
        Lying { found, file, turn: self.turns[segment as usize] }
    }

    /// Whether a piece is still where it was: neither was its segment given up since, nor has
    /// another piece its place.
    pub(crate) fn has(&self, lying: &Lying) -> bool {
        let Lying { found, turn, .. } = lying;
        self.turns[found.piece.place.segment as usize] == *turn && self.tier.has(&found.piece)
    }

    /// Forgets a piece that turned out to be wrong.
    pub(crate) fn forget(&mut self, lying: &Lying) {
        if self.has(lying) {
            self.tier.forget(&lying.found.piece);
        }
    }

    /// Bytes of memory.
    pub(crate) fn footprint(&self) -> usize {
        let each = size_of::<u32>() + size_of::<u64>();
        self.tier.footprint() + self.turns.len() * each + self.files.len() * size_of::<Option<Arc<OwnedFd>>>()
    }
}

/// How many files a tier of so many bytes has.
pub(crate) fn files_in(size: u64) -> u32 {
    let most = u32::MAX / SEGMENTS_A_FILE;
    u32::try_from(size.saturating_sub(BESIDE) / FILE_ROOM).map_or(most, |files| files.min(most))
}

/// A tier's policy, whose index takes no more than its share of memory.
pub(crate) fn policy(options: &Options) -> Tier {
    let files = files_in(options.size);
    let segments = files * SEGMENTS_A_FILE;
    let setup = |pieces| Setup {
        segments,
        segment_blocks: SEGMENT_BLOCKS,
        chunk_blocks: CHUNK_BLOCKS,
        pieces,
        rules: options.rules,
    };
    // Memory beside that of pieces. Each piece takes an entry of 32 bytes, and four to
    // eight in a table whose length is a power of two.
    let beside = State::new(Tier::new(setup(1))).footprint() as u64;
    let rest = (u64::from(files) * FILE / INDEX_SHARE).saturating_sub(beside);
    let table = |pieces: u64| pieces.next_power_of_two() * 4;
    let most = [rest / 36, rest / 40].into_iter().find(|&pieces| pieces * 32 + table(pieces) <= rest);
    // The counts of admission may leave too little. There is room for whole chunks in any case, and
    // for a segment of small pieces beside them: with less, free segments would not be used.
    let least = u64::from(segments) * u64::from(SEGMENT_BLOCKS / CHUNK_BLOCKS) + u64::from(SEGMENT_BLOCKS);
    let pieces = most.unwrap_or(0).max(least);
    Tier::new(setup(u32::try_from(pieces).unwrap_or(u32::MAX / 2)))
}

impl Store {
    pub(crate) fn new(options: Options, folder: Folder, host: &Host, reader: Arc<dyn Reader>) -> Store {
        let state = Mutex::new(State::new(policy(&options)));
        let waiting = Waiting::new(options.writes);
        let (counters, ends) = (Counters::default(), Ends::default());
        let (disk, clock) = (Arc::clone(&host.disk), Arc::clone(&host.clock));
        Store { options, folder, disk, clock, reader: Reading(reader), state, waiting, counters, ends }
    }

    /// A fetch asks for blocks: the pieces that are here, in order, and what only the source has.
    pub(crate) fn look(&self, run: Run) -> (Vec<Lying>, Run) {
        if !self.ends.reads() {
            return (Vec::new(), run);
        }
        let mut found = Vec::new();
        let mut state = self.state.lock();
        let missing = state.tier.look(run, &mut found);
        (found.into_iter().map(|found| state.lying(found)).collect(), missing)
    }

    /// The source has brought blocks, which are at the beginning of `from`: those that are worth it
    /// are written later. `len` bytes of them are the file's; what follows is as good as zeros.
    pub(crate) fn offer(&self, of: Fingerprint, run: Run, from: &Segments, len: usize) {
        if !self.ends.writes() || run.len == 0 {
            return;
        }
        let mut worth = Vec::new();
        self.state.lock().tier.offer(run, &mut worth);
        let now = self.clock.now();
        for part in worth {
            match self.waiting.admit(part, now) {
                Ok(()) => self.waiting.push(copied(of, part, run.start, from, len)),
                Err(Refused::Budget) => count(&self.counters.over_budget_bytes, bytes(part.len)),
                Err(Refused::Room) => count(&self.counters.no_room_bytes, bytes(part.len)),
                Err(Refused::There) => {}
            }
        }
    }

    /// Nothing more is written.
    pub(crate) fn end_writes(&self, reason: &str) {
        self.waiting.clear();
        if self.ends.writes.end(reason.to_owned()) && self.ends.reads() {
            log::warn!("{}: the disk tier writes no more: {reason}", self.folder.dir.display());
        }
    }

    /// Nothing more is read, nor written.
    pub(crate) fn end_reads(&self, reason: &str) {
        if self.ends.reads.end(reason.to_owned()) {
            log::warn!("{}: the disk tier is off: {reason}", self.folder.dir.display());
        }
        self.end_writes(reason);
    }

    /// The tier is closed, and says nothing.
    pub(crate) fn end(&self) {
        self.ends.reads.end("closed".to_owned());
        self.ends.writes.end("closed".to_owned());
    }

    /// Reads files for readers.
    pub(crate) fn reader(&self) -> &Arc<dyn Reader> {
        &self.reader.0
    }

    pub(crate) fn footprint(&self) -> usize {
        self.state.lock().footprint()
    }

    pub(crate) fn figures(&self) -> Figures {
        let (pieces, files, withheld_files) = {
            let state = self.state.lock();
            let files = state.files.iter().flatten().count() as u64;
            (state.tier.pieces().into(), files, state.withheld.len() as u64)
        };
        let (recovered_segments, segments_before) = self.waiting.recovered();
        Figures {
            pieces,
            files,
            withheld_files,
            size_bytes: self.options.size,
            disk_bytes: files * FILE,
            recovered_segments,
            segments_before,
            folder: self.options.dir.clone(),
            no_writes: self.ends.writes.reason.lock().clone(),
            no_reads: self.ends.reads.reason.lock().clone(),
            ..self.counters.figures()
        }
    }
}

/// A piece to be written: `part` of blocks from `start` on.
fn copied(of: Fingerprint, part: Run, start: u32, from: &Segments, len: usize) -> Item {
    let first = bytes(part.start - start);
    let within = first..(first + bytes(part.len)).min(len);
    let mut copy = Vec::with_capacity(bytes(part.len));
    from.bytes_in(within).for_each(|part| copy.extend_from_slice(part));
    copy.resize(bytes(part.len), 0);
    Item { of, run: part, bytes: copy }
}

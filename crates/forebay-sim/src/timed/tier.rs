//! A disk tier between the last level and the devices: the policy's rules, over a modelled disk.
//!
//! A fetch reads what the tier has from the tier's disk, and the rest from its device, at once.
//! Blocks from the device are offered. Writes take their time on the tier's disk; a piece can be
//! read as soon as its write has begun.

use forebay_core::tier::{self, FileKey, Found, Piece, Place, Run, Tier};
use forebay_core::{BlockKey, IoId};
use forebay_device::Request;

use super::error::Error;
use super::outcome::{DeviceFigures, TierFigures};
use super::setup::{Setup, TierSetup};

/// Bytes in a chunk, the largest piece.
const CHUNK: u64 = 64 << 10;
/// Bytes of data in a segment, unless the tier is so small that it has fewer than [`SEGMENTS`].
const SEGMENT: u64 = 8 << 20;
/// The fewest segments of a tier.
const SEGMENTS: u64 = 16;
/// The share of a tier that its index may take, and what a piece takes, in bytes.
const INDEX_SHARE: u64 = 1000;
const PIECE_BYTES: u64 = 40;
/// The largest write, in bytes.
const WRITE: u64 = 1 << 20;

/// The tier of a simulation.
pub(super) struct Tiered {
    tier: Tier,
    block: u64,
    /// Fetches under way, by number.
    under_way: Vec<Parts>,
    found: Vec<Found>,
    worth: Vec<Run>,
    /// The counters when counting began.
    before: tier::Counts,
}

/// A fetch in parts.
#[derive(Clone, Copy, Default)]
struct Parts {
    /// The part that its device brings.
    missing: Run,
    /// How many requests are not answered.
    open: u32,
    /// Whether the tier has a part of it.
    found: bool,
}

/// The requests of one fetch.
pub(super) struct Requests {
    /// The blocks that the device brings; none if the tier has all.
    pub(super) missing: Run,
    /// Reads of the tier's disk.
    pub(super) reads: Vec<Request>,
}

impl Tiered {
    /// An empty tier.
    pub(super) fn new(setup: &TierSetup, block_bytes: u32) -> Result<Tiered, Error> {
        let block = u64::from(block_bytes);
        let chunk = CHUNK.max(block);
        let segment = SEGMENT.min((setup.bytes / SEGMENTS).max(1).next_power_of_two() / 2).max(chunk);
        let segments = u32::try_from(setup.bytes / segment).unwrap_or(u32::MAX);
        if segments < 2 {
            return Err(Error::Setup(format!("a disk tier has at least {} bytes", 2 * chunk)));
        }
        let pieces = (setup.bytes / INDEX_SHARE / PIECE_BYTES).max(4 * segment / block);
        let policy = tier::Setup {
            segments,
            segment_blocks: (segment / block) as u32,
            chunk_blocks: (chunk / block) as u32,
            pieces: u32::try_from(pieces).unwrap_or(u32::MAX - 1),
            rules: setup.rules,
        };
        Ok(Tiered {
            tier: Tier::new(policy),
            block,
            under_way: Vec::new(),
            found: Vec::new(),
            worth: Vec::new(),
            before: tier::Counts::default(),
        })
    }

    /// A fetch of blocks of a file.
    pub(super) fn fetch(&mut self, io: IoId, run: Run) -> Requests {
        self.found.clear();
        let missing = self.tier.look(run, &mut self.found);
        let mut reads: Vec<Request> = Vec::new();
        for found in &self.found {
            let Piece { run, place, .. } = found.piece;
            let start = self.byte(place) + u64::from(found.part.start - run.start) * self.block;
            join(&mut reads, Request::read(start, u64::from(found.part.len) * self.block));
        }
        if io.index() >= self.under_way.len() {
            self.under_way.resize(io.index() + 1, Parts::default());
        }
        let open = reads.len() as u32 + u32::from(missing.len > 0);
        self.under_way[io.index()] = Parts { missing, open, found: !reads.is_empty() };
        Requests { missing, reads }
    }

    /// Whether the device alone brings a fetch.
    pub(super) fn is_missing(&self, io: IoId) -> bool {
        !self.under_way[io.index()].found
    }

    /// A block that was fetched ahead was given up unread.
    pub(super) fn unread(&mut self, key: BlockKey) {
        self.tier.unread(run(key.file().0, key.block(), key.block() + 1));
    }

    /// The blocks of a fetch that its device brings.
    pub(super) fn missing(&self, io: IoId) -> Run {
        self.under_way[io.index()].missing
    }

    /// A request of a fetch is answered. Whether it was the last one.
    pub(super) fn answered(&mut self, io: IoId) -> bool {
        let parts = &mut self.under_way[io.index()];
        parts.open -= 1;
        parts.open == 0
    }

    /// A device has brought the missing blocks of a fetch: the writes to the tier's disk that
    /// follow.
    pub(super) fn brought(&mut self, io: IoId) -> Vec<Request> {
        let mut worth = std::mem::take(&mut self.worth);
        self.tier.offer(self.under_way[io.index()].missing, &mut worth);
        let mut requests = Vec::new();
        for run in worth.drain(..) {
            if let Some(place) = self.place(run.len) {
                self.tier.insert(Piece { run, place, sum: 0 });
                join(&mut requests, Request::write(self.byte(place), u64::from(run.len) * self.block));
            }
        }
        self.worth = worth;
        requests
    }

    /// A place for so many blocks, for which another segment is opened if need be.
    fn place(&mut self, blocks: u32) -> Option<Place> {
        if let Some(place) = self.tier.reserve(blocks) {
            return Some(place);
        }
        self.tier.turn()?;
        self.tier.reserve(blocks)
    }

    fn byte(&self, place: Place) -> u64 {
        let blocks = u64::from(place.segment) * u64::from(self.tier.setup().segment_blocks) + u64::from(place.block);
        blocks * self.block
    }

    /// Counting begins.
    pub(super) fn clear(&mut self) {
        self.before = self.tier.counts();
    }

    /// The figures since then.
    pub(super) fn figures(&self, disk: &DeviceFigures) -> TierFigures {
        let (now, before) = (self.tier.counts(), self.before);
        let bytes = |now: u64, before: u64| (now - before) * self.block;
        TierFigures {
            device: disk.device.clone(),
            fetched_bytes: bytes(now.asked, before.asked),
            found_bytes: bytes(now.found, before.found),
            written_bytes: bytes(now.written, before.written),
        }
    }
}

/// Adds a request of the same kind, to the last one if it goes on from there.
fn join(requests: &mut Vec<Request>, next: Request) {
    match requests.last_mut() {
        Some(last) if last.start + last.len == next.start && last.len + next.len <= WRITE => {
            last.len += next.len;
        }
        _ => requests.push(next),
    }
}

/// The blocks of a file that a fetch asks for.
pub(super) fn run(file: u32, first: u32, end: u32) -> Run {
    Run { file: FileKey(file.into()), start: first, len: end - first }
}

/// The tier of a setup, if it has one.
pub(super) fn of(setup: &Setup) -> Result<Option<Tiered>, Error> {
    setup.tier.as_ref().map(|tier| Tiered::new(tier, setup.block_bytes)).transpose()
}

//! Misses in a file for which there is room: what lies around them is loaded (past the papers, by the argument of CP §2).
//!
//! Who reads a file at random has no stream, and nothing is fetched ahead for him: of what he does not want the cache would be full before he
//! came back. That is no reason while frames are free, and more of them than blocks of his file are absent. What is left is the time of the
//! device, and that is bounded: nothing is loaded twice. So a miss fetches its neighbourhood, and that is the larger the more misses say that
//! the file is wanted:
//!
//! - the first one in a region the 128 KiB around it, as any kernel would, if streams of the file go nowhere;
//! - the second one in a region of S_p, what the device transfers in the time of one switch, the rest of that: the wager of CP §2, in which
//!   what is fetched in vain takes no longer than the switches that were paid for;
//! - once half of the file is there, all that is absent within 8 MiB: what is left of the file takes no longer than what was read of it.
//!
//! A store at which requests go on side by side, and of which a switch takes longer than those 128 KiB, is waited for, not worked for: there it is
//! bytes that cost, and a miss loads what takes a sixteenth of the switch. So a miss is answered as soon as one that loads nothing, and of
//! what is read by the page no more than that is fetched. What is left of the file comes once it is a sixth.

use super::prefetch::Turn;
use super::{Access, Engine, MAX_PIECE_BYTES};
use crate::event::Actions;
use crate::files::File;
use crate::index::Index;
use crate::inflight::Read;
use crate::prefetch::Plan;
use crate::replacement::Replacement;
use crate::types::{BlockKey, Extent, StreamId};

/// What a first miss loads, in bytes.
const WINDOW: u32 = 128 << 10;

/// At a store that is waited for, the part of a switch that what a miss loads may take, …
const SHARE: u32 = 16;
/// … and how many times as much of a file must be there as is loaded of it unasked.
const THERE: u32 = 5;

/// What is loaded near misses, in blocks.
#[derive(Clone, Copy)]
struct Wagers {
    /// Around the first one in a region.
    first: u32,
    /// The region of which the second one loads the rest.
    region: u32,
    /// As much comes in one fetch.
    piece: u32,
    /// What is absent is loaded if so many times as much is there.
    there: u32,
}

impl<R: Replacement, I: Index> Engine<R, I> {
    /// Fetches the neighbourhood in which a read has missed, if its stream's plan would bring less. Whether it did.
    pub(super) fn load_near(
        &mut self,
        id: StreamId,
        read: &Read,
        (missed, turn, plan): (u32, Turn, Option<Plan>),
        (access, out): (Option<Access>, &mut Actions),
    ) -> bool {
        // Of many random readers most are behind where some stream is already.
        if !matches!(turn, Turn::Begins | Turn::Lags) || !self.setup.prefetch.loads_near() || !self.queue.is_empty() {
            return false;
        }
        let Some((region, piece)) = self.neighbourhood(read.extent, missed) else { return false };
        let planned = plan.map_or(0, |plan| plan.piece.saturating_mul(plan.pieces));
        if region.end().saturating_sub(missed) <= planned {
            return false;
        }
        // In pieces, since whoever wants a block waits for all of its piece.
        let pieces = |rest: u32| Plan { piece: piece.min(rest), pieces: rest.div_ceil(piece), ..Plan::NOTHING };
        // What lies behind comes with the demand.
        self.fetch_ahead(id, region.file, missed, pieces(region.end() - missed), (access, &mut *out));
        let before = read.extent.start.saturating_sub(region.start);
        self.fetch_ahead(id, region.file, region.start, pieces(before), (access, out));
        true
    }

    /// What is to be loaded around a missed block, and in pieces of how many; `None` if not all of its file has room in free
    /// frames, or nobody knows yet whether it is read at random.
    fn neighbourhood(&self, read: Extent, missed: u32) -> Option<(Extent, u32)> {
        let file = self.files.get(read.file)?;
        let absent = file.blocks.saturating_sub(file.frames);
        if absent > self.free_frames() {
            return None;
        }
        let around = |size: u32| {
            let start = missed - missed % size;
            Extent::between(read.file, start, start.saturating_add(size).min(file.blocks))
        };
        let Wagers { first, region, piece, there } = self.wagers(file, missed)?;
        if absent.saturating_mul(there) <= file.frames {
            return Some((around((MAX_PIECE_BYTES / self.setup.block_bytes).max(piece)), piece));
        }
        let region = around(region);
        match self.is_known_in(region, read) {
            true => Some((region, piece)),
            false => file.is_random().then(|| (around(first), piece)),
        }
    }

    /// What misses may load; `None` if nothing.
    fn wagers(&self, file: &File, missed: u32) -> Option<Wagers> {
        let window = (WINDOW / self.setup.block_bytes).max(1);
        let depth = self.competitive_depth(file, missed);
        let device = &self.devices[file.device_of(missed).index()];
        let channels = device.cost.channels.max(1);
        if channels > 1 && depth > window {
            let first = 1 << (depth / SHARE).clamp(1, window).ilog2();
            return Some(Wagers { first, region: first, piece: depth, there: THERE });
        }
        // Of n requests at once of a size S each is C + S / R_tr under way. What is short is no longer time but the rate of all channels
        // together, c · R_tr, once n · S / (C + S / R_tr) is more than that: beyond S_p · c / (n − c).
        let more = device.under_way.saturating_sub(channels);
        if channels == 1 || more <= channels {
            let region = depth.max(window);
            return Some(Wagers { first: window, region, piece: region, there: 1 });
        }
        let most = u32::try_from(u64::from(depth) * u64::from(channels) / u64::from(more)).unwrap_or(depth);
        (most > 1).then(|| Wagers { first: window.min(most), region: most, piece: most, there: 1 })
    }

    /// Whether a block of a region was fetched before this read.
    fn is_known_in(&self, region: Extent, read: Extent) -> bool {
        let before = Extent::between(region.file, region.start, read.start.max(region.start));
        let behind = Extent::between(region.file, read.end().min(region.end()), region.end());
        let is_there = |key: BlockKey| self.resident(key).is_some();
        before.keys().chain(behind.keys()).any(is_there)
    }
}

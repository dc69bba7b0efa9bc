//! Misses in a file for which there is room: what lies around them is loaded (past the papers, by
//! the argument of CP §2).
//!
//! Who reads a file at random has no stream, and nothing is fetched ahead for him: of what he does
//! not want the cache would be full before he came back. That is no reason while frames are free,
//! and more of them than blocks of his file are absent. What is left is the time of the device, and
//! that is bounded: nothing is loaded twice. So a miss fetches its neighbourhood, and that is the
//! larger the more misses say that the file is wanted:
//!
//! - the first one in a region the 128 KiB around it, as any kernel would, if streams of the file
//!   go nowhere;
//! - the second one in a region of S_p, what the device transfers in the time of one switch, the
//!   rest of that: the wager of CP §2, in which what is fetched in vain takes no longer than the
//!   switches that were paid for;
//! - once half of the file is there, all that is absent within 8 MiB: what is left of the file
//!   takes no longer than what was read of it.
//!
//! A store at which requests go on side by side, and of which a switch takes longer than those 128
//! KiB, is waited for, not worked for: there it is bytes that cost, and a miss loads what takes a
//! sixteenth of the switch. So a miss is answered as soon as one that loads nothing, and of what is
//! read by the page no more than that is fetched. What is left of the file comes once it is a
//! sixth.

use crate::seams::{MAX_PIECE_BYTES, Miss, Near};
use crate::types::{BlockKey, Extent};

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

/// What is to be loaded around a missed block; `None` if not all of its file has room in free
/// frames, or nobody knows yet whether it is read at random.
pub(super) fn near(miss: &Miss<'_>) -> Option<Near> {
    let file = miss.file;
    let absent = file.blocks.saturating_sub(file.frames);
    if absent > miss.free {
        return None;
    }
    let around = |size: u32| {
        let start = miss.block - miss.block % size;
        Extent::between(miss.read.file, start, start.saturating_add(size).min(file.blocks))
    };
    let Wagers { first, region, piece, there } = wagers(miss)?;
    if absent.saturating_mul(there) <= file.frames {
        return Some(Near { region: around((MAX_PIECE_BYTES / miss.block_bytes).max(piece)), piece });
    }
    let region = around(region);
    match is_known_in(region, miss) {
        true => Some(Near { region, piece }),
        false => file.is_random().then(|| Near { region: around(first), piece }),
    }
}

/// What misses may load; `None` if nothing.
fn wagers(miss: &Miss<'_>) -> Option<Wagers> {
    let window = (WINDOW / miss.block_bytes).max(1);
    let depth = miss.competitive_depth;
    let channels = miss.device.channels.max(1);
    if channels > 1 && depth > window {
        let first = 1 << (depth / SHARE).clamp(1, window).ilog2();
        return Some(Wagers { first, region: first, piece: depth, there: THERE });
    }
    // Of n requests at once of a size S each is C + S / R_tr under way. What is short is no longer
    // time but the rate of all channels together, c · R_tr, once n · S / (C + S / R_tr) is more
    // than that: beyond S_p · c / (n − c).
    let more = miss.under_way.saturating_sub(channels);
    if channels == 1 || more <= channels {
        let region = depth.max(window);
        return Some(Wagers { first: window, region, piece: region, there: 1 });
    }
    let most = u32::try_from(u64::from(depth) * u64::from(channels) / u64::from(more)).unwrap_or(depth);
    (most > 1).then(|| Wagers { first: window.min(most), region: most, piece: most, there: 1 })
}

/// Whether a block of a region was fetched before this read.
fn is_known_in(region: Extent, miss: &Miss<'_>) -> bool {
    let before = Extent::between(region.file, region.start, miss.read.start.max(region.start));
    let behind = Extent::between(region.file, miss.read.end().min(region.end()), region.end());
    let is_there = |key: BlockKey| (miss.is_there)(key);
    before.keys().chain(behind.keys()).any(is_there)
}

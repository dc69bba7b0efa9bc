//! Misses in a file that has room in free frames: the blocks around them are loaded (past the
//! papers, by the argument of CP §2).
//!
//! A random reader of a file has no stream, and nothing is fetched ahead for it: unwanted blocks
//! would fill the cache before the reader came back. That is no reason while more frames are free
//! than blocks of the file are absent. Then only the time of the device counts, and that is
//! bounded: nothing is loaded twice. So a miss fetches its neighbourhood, which is the larger the
//! more misses there were:
//!
//! - the first miss in a region loads the 128 KiB around it, as any kernel would, if streams of the
//!   file go nowhere;
//! - the second miss in a region of S_p (as much as the device transfers in the time of one switch)
//!   loads the rest of it: the wager of CP §2, in which blocks fetched in vain take no longer than
//!   the switches that were paid for;
//! - once half of the file is there, a miss loads all absent blocks within 8 MiB: the rest of the
//!   file takes no longer than the part that was read.
//!
//! A store that serves requests side by side, and whose switch takes longer than those 128 KiB,
//! makes readers wait but has little work: there bytes cost. A miss loads as much as takes a
//! sixteenth of the switch, and no region. So it is answered nearly as soon as one that loads
//! nothing, and no more comes until half of the file is there.

use crate::seams::{MAX_PIECE_BYTES, Miss, Near};
use crate::types::{BlockKey, Extent};

/// The bytes that a first miss loads.
const WINDOW: u32 = 128 << 10;

/// At such a store, the part of a switch that the load of a miss may take.
const SHARE: u32 = 16;

/// How much is loaded near misses, in blocks.
#[derive(Clone, Copy)]
struct Wagers {
    /// Around the first one in a region.
    first: u32,
    /// The region of which the second one loads the rest.
    region: u32,
    /// The blocks of one fetch.
    piece: u32,
}

/// The blocks to load around a missed one; `None` if not all of its file has room in free frames,
/// or if it is not known yet whether the file is read at random.
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
    let Wagers { first, region, piece } = wagers(miss)?;
    if absent <= file.frames {
        return Some(Near { region: around((MAX_PIECE_BYTES / miss.block_bytes).max(piece)), piece });
    }
    let region = around(region);
    match is_known_in(region, miss) {
        true => Some(Near { region, piece }),
        false => file.is_random().then(|| Near { region: around(first), piece }),
    }
}

/// The loads of misses; `None` if there are none.
fn wagers(miss: &Miss<'_>) -> Option<Wagers> {
    let window = (WINDOW / miss.block_bytes).max(1);
    let depth = miss.competitive_depth;
    let channels = miss.device.channels.max(1);
    if channels > 1 && depth > window {
        let first = 1 << (depth / SHARE).clamp(1, window).ilog2();
        return Some(Wagers { first, region: first, piece: depth });
    }
    // Each of n requests of a size S takes C + S / R_tr. The limit is no longer time but the rate
    // of all channels together, c · R_tr, once n · S / (C + S / R_tr) is more than that: beyond S =
    // S_p · c / (n − c).
    let more = miss.under_way.saturating_sub(channels);
    if channels == 1 || more <= channels {
        let region = depth.max(window);
        return Some(Wagers { first: window, region, piece: region });
    }
    let most = u32::try_from(u64::from(depth) * u64::from(channels) / u64::from(more)).unwrap_or(depth);
    (most > 1).then(|| Wagers { first: window.min(most), region: most, piece: most })
}

/// Whether a block of a region was fetched before this read.
fn is_known_in(region: Extent, miss: &Miss<'_>) -> bool {
    let before = Extent::between(region.file, region.start, miss.read.start.max(region.start));
    let behind = Extent::between(region.file, miss.read.end().min(region.end()), region.end());
    let is_there = |key: BlockKey| (miss.is_there)(key);
    before.keys().chain(behind.keys()).any(is_there)
}

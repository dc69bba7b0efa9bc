//! The two lists of SARC: sequential blocks and random ones, each in its own LRU list, sized by the
//! worth of a frame more.

use super::arc::share;
use super::{Class, Replacement};
use crate::directory::{Directory, Layout};
use crate::frames::{ListId, Slot, flag};
use crate::slab::Slab;

/// ΔL, the bottom of a list, is this part of the cache.
const BOTTOM: u32 = 50;

/// Above this ratio a hit in the bottom of SEQ alone is reason enough to let SEQ grow.
const LARGE_RATIO: i64 = 20;

/// One frame of the desired size, which moves by fractions of that.
const ONE: i64 = 1 << 16;

/// Gill and Modha, "SARC: Sequential Prefetching in Adaptive Replacement Cache" (USENIX 2005), its
/// cache management.
///
/// SEQ has the blocks that were prefetched for a sequential stream and those that such a stream
/// misses; RANDOM has all others. The engine says which is which
/// ([`SEQUENTIAL`](flag::SEQUENTIAL)).
///
/// ```text
///          MRU                                LRU
///   SEQ     ├──────────────────────────┼── ΔL ──┤ ▶ victim if |SEQ| > desired
///   RANDOM  ├────────────────┼── ΔL ──┤           ▶ victim if not
/// ```
///
/// "We design a locally adaptive algorithm that starts from any given cache partitioning and
/// gradually and dynamically tweaks it". A frame more in RANDOM is worth the hits in its bottom. A
/// frame more in SEQ saves 2 · s / L sequential misses, if s happened while SEQ had L frames. The
/// interval of measurement is that between two hits in the bottom of RANDOM, so the ratio 2 · s ·
/// ΔL / L is compared with 1. With every frame that is given up the desired size moves by half of
/// `adapt`, which is ratio − 1 within ±1.
///
/// "Every track in cache has a time stamp that is updated with the current time whenever the track
/// is placed at the MRU position of either list". A block is in the bottom ΔL of a list if its age
/// is, in proportion to the ages at both ends. That takes no second pointer into the list, and is
/// exact where blocks come in evenly. Time is counted in blocks placed at an MRU position.
///
/// A prefetched group behind an older one that is not read yet would outlive it, though that is
/// wanted first ("an anomaly akin to Belady's anomaly"). So when a group is prefetched
/// asynchronously, the unread blocks of its stream are moved to the MRU position, below it.
///
/// The text leaves open how large ΔL is ("a small constant fraction of the cache size"); here it is
/// a fiftieth. It leaves open how to choose while a list is shorter than ΔL, where nothing can be
/// measured. Here, as in programs written from the paper's figures, the older one of both LRU
/// blocks goes. It leaves open which ratio is large: 20, as there. The free queue is a batch of
/// victims there, and one at a time here. A block stays in its list until it goes. The desired size
/// is bounded by the cache, the paper's is not.
///
/// If no block is marked as sequential, as in a simulation without time, all are random, and it is
/// LRU.
///
/// With labels (SCM §4.2) a reference that no reader wants moves blocks, but is neither a
/// sequential miss nor a hit in a bottom.
#[derive(Clone, Debug)]
pub struct SarcLists {
    seq: ListId,
    random: ListId,
    /// The size that SEQ should have, in parts of [`ONE`]. Zero: not known yet.
    desired: i64,
    /// Twice the step of the desired size with a victim, −[`ONE`] to [`ONE`].
    adapt: i64,
    /// Sequential misses since the last hit in the bottom of RANDOM.
    seq_misses: u32,
    frames: u32,
    /// How many blocks were placed at an MRU position.
    now: u64,
}

impl Replacement for SarcLists {
    /// SEQ and RANDOM, in this order.
    const LISTS: u8 = 2;
    const MOVES: bool = true;
    const SORTS: bool = true;
    /// A time stamp.
    const BYTES_BESIDE: u32 = 8;

    fn new(first_list: u8, frames: u32) -> SarcLists {
        SarcLists {
            seq: ListId(first_list),
            random: ListId(first_list + 1),
            desired: 0,
            adapt: 0,
            seq_misses: 0,
            frames,
            now: 0,
        }
    }

    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let list = directory.frames.list(slot);
        if self.is_in_bottom(directory, slot) {
            let ratio = self.ratio(directory);
            if list == self.random {
                // A hit in the bottom of RANDOM: adapt = max { −1, min { ratio − 1, 1 } }, and the
                // interval ends.
                self.adapt = (ratio - ONE).clamp(-ONE, ONE);
                self.seq_misses = 0;
            } else if ratio > LARGE_RATIO * ONE {
                // A hit in the bottom of SEQ while RANDOM is hardly hit: SEQ grows at once.
                self.adapt = ONE;
            }
        }
        self.place(directory, slot, list);
    }

    fn passed<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let list = directory.frames.list(slot);
        self.place(directory, slot, list);
    }

    fn renew<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        if directory.frames.list(slot) == self.seq {
            self.place(directory, slot, self.seq);
        }
    }

    fn sequential_miss(&mut self) {
        self.seq_misses = self.seq_misses.saturating_add(1);
    }

    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, _class: Class) -> Option<Slot> {
        let slot = self.choose(directory)?;
        directory.release(slot);
        // if desiredSeqListSize > 0, desiredSeqListSize += adapt / 2; else it is |SEQ|
        let most = i64::from(self.frames) * ONE;
        self.desired = match self.desired {
            0 => i64::from(directory.frames.len(self.seq)) * ONE,
            desired => desired + self.adapt / 2,
        };
        self.desired = self.desired.clamp(0, most);
        Some(slot)
    }

    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, _class: Class) {
        let list = if directory.frames.has(slot, flag::SEQUENTIAL) { self.seq } else { self.random };
        self.place(directory, slot, list);
    }

    fn resize(&mut self, frames: u32) {
        // The desired size keeps its share.
        let whole = share((self.desired / ONE) as u32, self.frames, frames);
        self.desired = i64::from(whole) * ONE;
        self.frames = frames;
    }
}

impl SarcLists {
    /// The size that SEQ should have, in frames, rounded down.
    pub fn desired(&self) -> u32 {
        (self.desired / ONE) as u32
    }

    /// ΔL.
    fn bottom(&self) -> u32 {
        (self.frames / BOTTOM).max(1)
    }

    /// 2 · seqMiss · ΔL / |SEQ|, in parts of [`ONE`].
    fn ratio<I: Layout>(&self, directory: &Directory<I>) -> i64 {
        let length = u128::from(directory.frames.len(self.seq).max(1));
        let misses = u128::from(self.seq_misses) * u128::from(self.bottom()) * 2;
        (misses * ONE as u128 / length).min(i64::MAX as u128) as i64
    }

    /// Whether a block is in the bottom ΔL of its list, by its time stamp.
    fn is_in_bottom<I: Layout>(&self, directory: &Directory<I>, slot: Slot) -> bool {
        let frames = &directory.frames;
        let list = frames.list(slot);
        let (Some(newest), Some(oldest)) = (frames.front(list), frames.back(list)) else { return false };
        let [at, newest, oldest] = [slot, newest, oldest].map(|slot| u128::from(frames.note(slot)));
        // x − LRU ≤ ΔL / |list| · (MRU − LRU)
        at.saturating_sub(oldest) * u128::from(frames.len(list))
            <= u128::from(self.bottom()) * newest.saturating_sub(oldest)
    }

    /// Puts a block at the MRU position of a list.
    fn place<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, list: ListId) {
        self.now += 1;
        directory.frames.set_note(slot, self.now);
        directory.frames.move_to_front(slot, list);
    }

    /// The block that goes: the LRU one of the list whose turn it is, or of the other one if
    /// readers hold all of that.
    fn choose<I: Layout>(&self, directory: &Directory<I>) -> Option<Slot> {
        let frames = &directory.frames;
        let [seq, random] = [self.seq, self.random].map(|list| frames.unpinned_from_back(list));
        let (Some(seq), Some(random)) = (seq, random) else { return seq.or(random) };
        let [seq_len, random_len] = [self.seq, self.random].map(|list| frames.len(list));
        let from_seq = if seq_len < self.bottom() || random_len < self.bottom() {
            frames.note(seq) < frames.note(random)
        } else {
            i64::from(seq_len) * ONE > self.desired
        };
        Some(if from_seq { seq } else { random })
    }
}

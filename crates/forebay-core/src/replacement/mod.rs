//! Replacement: which resident frame to give up. One algorithm a file.
//!
//! A policy owns a range of the slab's lists and a few scalars. A block's life, as a policy sees
//! it:
//!
//! ```text
//!   miss(ghost?) ── class ──▶ [victim(class) …] ── fetch ──▶ insert(class) ── hit* ──▶ victim │ remove
//! ```
//!
//! `miss` is where a policy learns from its ghosts; it says by a *class* (0 to 15, its own code)
//! where the block shall go when it arrives. `victim` is asked only when no frame is free. In a
//! simulation without time the arrows follow each other at once, and every policy then is its
//! paper's algorithm to the letter.
//!
//! A policy is one segment of a slab that others may share, and its size changes while it runs. It
//! may be asked for more victims than it inserts, or insert without being asked for one; whatever
//! size it was told last (`resize`), it keeps to that many `ghosts`, from the next insertion on.
//!
//! To add a policy: a file here with its two lines below, a line in [`registry!`](crate::presets),
//! and its naive twin under `tests/all/model`.
//!
//! ```
//! use forebay_core::directory::{Directory, Layout};
//! use forebay_core::frames::{FETCHING, FIRST_POLICY_LIST, ListId, Slot};
//! use forebay_core::index::Hashed;
//! use forebay_core::replacement::{Class, Replacement};
//! use forebay_core::slab::Slab;
//! use forebay_core::{BlockKey, FileId};
//!
//! /// Last in, first out.
//! struct Lifo(ListId);
//!
//! impl Replacement for Lifo {
//!     const LISTS: u8 = 1;
//!
//!     fn new(first_list: u8, _frames: u32) -> Lifo {
//!         Lifo(ListId(first_list))
//!     }
//!
//!     fn hit<I: Layout>(&mut self, _directory: &mut Directory<I>, _slot: Slot) {}
//!
//!     fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, _class: Class) -> Option<Slot> {
//!         let slot = directory.frames.unpinned_from_front(self.0)?;
//!         directory.release(slot);
//!         Some(slot)
//!     }
//!
//!     fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, _class: Class) {
//!         directory.frames.move_to_front(slot, self.0);
//!     }
//! }
//!
//! // Two frames; blocks 0, 1 and 2 pass through them.
//! let mut directory: Directory<Hashed> = Directory::new(FIRST_POLICY_LIST + Lifo::LISTS, 2, Lifo::ghosts(2));
//! let mut lifo = Lifo::new(FIRST_POLICY_LIST, 2);
//! let key = |block| BlockKey::new(FileId(7), block);
//! for block in 0..3 {
//!     let class = lifo.miss(&mut directory, None);
//!     let slot = directory.assign(key(block), FETCHING).or_else(|| {
//!         lifo.victim(&mut directory, class)?;
//!         directory.assign(key(block), FETCHING)
//!     });
//!     lifo.insert(&mut directory, slot.expect("no reader holds a frame"), class);
//! }
//! assert!(directory.find(key(0)).is_some() && directory.find(key(2)).is_some());
//! assert_eq!(directory.find(key(1)), None);
//! ```

use crate::directory::{Directory, Layout};
use crate::frames::Slot;

mod arc;
mod car;
mod clock;
mod fifo;
mod ghosts;
mod gill_lru;
mod landlord;
mod lirs;
mod lru;
mod mru;
mod s3_fifo;
mod sarc_lists;
mod sieve;
mod two_q;
mod w_tiny_lfu;

pub use arc::Arc;
pub use car::Car;
pub use clock::Clock;
pub use fifo::Fifo;
pub use gill_lru::GillLru;
pub use landlord::Landlord;
pub use lirs::Lirs;
pub use lru::Lru;
pub use mru::Mru;
pub use s3_fifo::S3Fifo;
pub use sarc_lists::SarcLists;
pub use sieve::Sieve;
pub use two_q::TwoQ;
pub use w_tiny_lfu::WTinyLfu;

/// A class of admission, chosen by `miss`, handed to `victim` and `insert`: the policy's own code,
/// 0 to 15.
pub type Class = u8;
/// The part of a [`Class`] that a policy sees, and that is kept.
pub(crate) const CLASS: Class = 0x0f;
/// The mark beside the class, from miss to victim, of a block that the default policy remembers.
pub(crate) const REMEMBERED: Class = 0x10;
/// The class with which a victim is chosen for another partition's block: none of the policy's own.
pub(crate) const OUTSIDE: Class = 0x20;

/// All frames of a segment, in a [`balance`](Replacement::balance).
pub const ALL: u32 = 1 << 16;

/// A replacement policy over the frames of one segment.
pub trait Replacement {
    /// How many lists of the slab it needs.
    const LISTS: u8;

    /// How many of them, the last ones, hold its ghosts and nothing else; the others hold frames,
    /// and no ghosts.
    const GHOST_LISTS: u8 = 0;

    /// Whether a hit moves a frame, and so touches its neighbours in a linked list: worth knowing
    /// for a replay that sees references ahead.
    const MOVES: bool = false;

    /// The bits of the counts that it keeps by frame, if its lists may be [logs](crate::logs) in a
    /// replay without time: it moves blocks to fronts, takes them from backs, and keeps no
    /// [note](crate::slab::Slab::note).
    const LOGGED: Option<u32> = None;

    /// The most bytes that it takes for each frame and each ghost beside the slab, in a budget that
    /// is divided beforehand.
    const BYTES_BESIDE: u32 = 0;

    /// Whether it keeps sequential blocks apart: then the engine flags them
    /// ([`SEQUENTIAL`](crate::frames::flag::SEQUENTIAL)), and calls
    /// [`sequential_miss`](Self::sequential_miss), [`passed`](Self::passed) and
    /// [`renew`](Self::renew).
    const SORTS: bool = false;

    /// Whether a prefetched, unreferenced frame gets a second chance before it goes. The policy
    /// says so by [`Directory::spare`], from within [`victim`](Self::victim).
    const SPARES: bool = false;

    /// How many ghosts it remembers beside `frames` frames.
    fn ghosts(frames: u32) -> u32 {
        let _ = frames;
        0
    }

    /// A policy that owns the lists `first_list .. first_list + LISTS` and at most `frames` frames.
    fn new(first_list: u8, frames: u32) -> Self;

    /// A resident frame is referenced.
    fn hit<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot);

    /// A frame that was prefetched is referenced for the first time. This is its first reference,
    /// not a second.
    fn first_use<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        self.hit(directory, slot);
    }

    /// A block that is not resident is wanted; `ghost` is the slot that remembers it, if any. The
    /// policy takes what it needs from the ghost; afterwards the engine releases it.
    fn miss<I: Layout>(&mut self, directory: &mut Directory<I>, ghost: Option<Slot>) -> Class {
        let _ = (directory, ghost);
        0
    }

    /// [`miss`](Self::miss) of a prefetched block. It may never be read, so a policy that learns
    /// from ghosts may put that off until [`comes_back`](Self::comes_back).
    fn recalls<I: Layout>(&mut self, directory: &mut Directory<I>, ghost: Option<Slot>) -> Class {
        self.miss(directory, ghost)
    }

    /// A block that was prefetched into this class is about to be inserted, since a reader reads
    /// it.
    fn comes_back<I: Layout>(&mut self, directory: &Directory<I>, class: Class) {
        let _ = (directory, class);
    }

    /// Makes a frame free for a block of class `class`: releases one that no reader holds, as
    /// itself or to a ghost, and returns its slot. `None` if every frame is held.
    fn victim<I: Layout>(&mut self, directory: &mut Directory<I>, class: Class) -> Option<Slot>;

    /// A fetched frame becomes resident: the policy links it into one of its lists.
    fn insert<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, class: Class);

    /// A resident frame is referenced by a level above whose readers have not asked for it (SCM
    /// §4.2).
    fn passed<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        self.hit(directory, slot);
    }

    /// A stream has missed a block that lies on its way: one miss a read, and only of wanted
    /// blocks.
    fn sequential_miss(&mut self) {}

    /// More is being prefetched behind an unreferenced frame of the same stream.
    fn renew<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let _ = (directory, slot);
    }

    /// The time that fetching the frame took, in nanoseconds a block. Called before `insert`, and
    /// not at all where nothing takes time.
    fn costs<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot, nanoseconds: u64) {
        let _ = (directory, slot, nanoseconds);
    }

    /// The segment is to have this many frames from now on. It may have more for a while, or fewer.
    fn resize(&mut self, frames: u32) {
        let _ = frames;
    }

    /// The balance between the kinds of blocks that it keeps apart: the part of its frames that one
    /// kind should have, in parts of [`ALL`].
    fn balance(&self) -> u32 {
        0
    }

    /// Other rules have placed and used its frames for a while, so that its lists tell nothing:
    /// each block now counts as used once, and the balance is this. No slot is released.
    fn begin_anew<I: Layout>(&mut self, directory: &mut Directory<I>, balance: u32) {
        let _ = (directory, balance);
    }

    /// The bytes that it takes beside the slab and itself.
    fn footprint(&self) -> usize {
        0
    }

    /// A resident frame goes for reasons that are not the policy's: forget it. The caller releases
    /// it afterwards. Only policies that keep more than list membership (a hand) need this.
    fn remove<I: Layout>(&mut self, directory: &mut Directory<I>, slot: Slot) {
        let _ = (directory, slot);
    }
}

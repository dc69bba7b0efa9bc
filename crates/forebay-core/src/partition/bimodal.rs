//! Everything as one loop: of the blocks that are new few stay (past AMP).
//!
//! Where several contexts go around in the same blocks, as queries of a database do in its tables, partitions pull these to and fro: each takes over
//! what another one's round has left, or the default policy gets them and lets them go. None of the contexts has a rhythm of its own either, so
//! that sweeps come too early. Taken together it is one loop that is too long, and of such a one as much is hit as stays:
//!
//! ```text
//!              used since the last victim was, or one of 32
//!   missed ──┬────────────────────────────────────────────────▶ default policy ──▶ victim
//!            │                                        hit ▲
//!            └──▶ a queue of a fiftieth of the frames ────┴───▶ first victims
//! ```
//!
//! - That one of 32 is admitted whatever it is (bimodal insertion: Qureshi et al., ISCA 2007, §4) lets what is kept change with time.
//! - That a block is admitted which was missed before, and since then than when the default policy's last victim was used last, is what LIRS goes by
//!   (Jiang and Zhang, SIGMETRICS 2002, §3.1): of the two it is the one that comes back sooner. Where what is kept is of no use any more its
//!   victims are old, and whatever is missed twice replaces it. In a loop everything that stays was used since.
//!
//! When blocks were missed is kept by hash, an entry for each: one that is taken by another block is forgotten.

use alloc::vec;
use alloc::vec::Vec;

use super::Random;
use crate::context::hash;
use crate::frames::Slot;
use crate::types::BlockKey;

/// One block that is new of so many stays.
const ONE_IN: u64 = 32;
/// The queue has one frame of so many.
const QUEUE: u32 = 50;

/// Virtual time, the end of it: what is compared is how long ago something was.
type Moment = u32;

/// Which new blocks stay.
#[derive(Clone, Debug)]
pub(super) struct Bimodal {
    /// Whether every frame was used once: until then all of them stay.
    filled: bool,
    /// How long the queue is.
    queue: u32,
    now: Moment,
    /// When the block of each slot was used last.
    used: Vec<Moment>,
    /// Blocks that were missed, and when.
    missed: Vec<(BlockKey, Moment)>,
    /// When the default policy's last victim was used last.
    victim: Moment,
}

impl Bimodal {
    /// Of so many frames.
    pub(super) fn new(frames: u32) -> Bimodal {
        let mut bimodal = Bimodal { filled: false, queue: 0, now: 0, used: Vec::new(), missed: Vec::new(), victim: 0 };
        bimodal.resize(frames);
        bimodal
    }

    /// There are so many frames from now on. If they are more, they are empty.
    pub(super) fn resize(&mut self, frames: u32) {
        self.filled &= frames / QUEUE <= self.queue;
        self.queue = frames / QUEUE;
        let entries = frames.next_power_of_two() as usize;
        if self.missed.len() < entries {
            self.missed = vec![(BlockKey::default(), 0); entries];
        }
    }

    /// It is this time.
    #[inline(always)]
    pub(super) fn set_time(&mut self, now: u64) {
        self.now = now as Moment;
    }

    /// The block of a slot is used.
    #[inline(always)]
    pub(super) fn used(&mut self, slot: Slot) {
        let at = slot as usize;
        if at >= self.used.len() {
            self.used.resize(at + 1, self.now);
        }
        self.used[at] = self.now;
    }

    /// There was no free frame.
    pub(super) fn fill(&mut self) {
        self.filled = true;
    }

    /// The default policy has given up the block of a slot.
    pub(super) fn given_up(&mut self, slot: Slot) {
        self.victim = self.used.get(slot as usize).copied().unwrap_or(self.now);
    }

    /// Whether a block that is missed comes to the default policy.
    pub(super) fn admits(&mut self, key: BlockKey, random: &mut Random) -> bool {
        let at = hash(key.raw()) as usize & (self.missed.len() - 1);
        let (was, when) = core::mem::replace(&mut self.missed[at], (key, self.now));
        let ago = |moment: Moment| self.now.wrapping_sub(moment);
        let soon = was == key && ago(when) < ago(self.victim);
        !self.filled || soon || random.below(ONE_IN) == 0
    }

    /// So many frames of the queue are not free yet.
    pub(super) fn queue(&self) -> u32 {
        self.queue
    }

    /// The bytes that it takes.
    pub(super) fn footprint(&self) -> usize {
        size_of::<Bimodal>()
            + self.used.capacity() * size_of::<Moment>()
            + self.missed.capacity() * size_of::<(BlockKey, Moment)>()
    }
}

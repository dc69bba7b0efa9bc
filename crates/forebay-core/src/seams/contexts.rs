//! The seam of contexts: where blocks go, by who asks for them (AMP §3).

use alloc::vec::Vec;

use crate::hint::{Hint, Learnt, Rhythm};
use crate::types::{BlockKey, ContextId};

/// AMP §3.3: "up to a fixed number, e.g 10".
pub const MOST_PARTITIONS: u8 = 10;

/// By what accesses are told apart (AMP §2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum By {
    /// By program context: AMP, PCC.
    Context,
    /// By file: UBM.
    File,
    /// By handler, a process or a thread: DEAR.
    Handler,
}

/// Where blocks of a context go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Place {
    /// To the default partition.
    #[default]
    Default,
    /// "One-shot blocks get dropped immediately after use."
    Dropped,
    /// To the MRU partition of this number, below [`MOST_PARTITIONS`].
    Loop(u8),
}

/// What the cache manager is told of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// Where the block goes.
    pub place: Place,
    /// The loop of that partition, if it is one.
    pub rhythm: Rhythm,
    /// Virtual time: accesses to the cache so far, this one included.
    pub now: u64,
}

/// What is said of an access, and of those after it: they are the same but for their time, as long
/// as the same one asks, for blocks that are in nobody's sample, before a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// What is said.
    pub access: Access,
    /// Blocks whose hash is below this are in a sample.
    pub sample: u64,
    /// The virtual time from which on it has to be asked again.
    pub due: u64,
}

impl Standing {
    /// Whatever comes next is asked.
    pub const NOTHING: Standing = Standing {
        access: Access { place: Place::Default, rhythm: Rhythm { size: 0, time: 0, deviation: 0 }, now: 0 },
        sample: u64::MAX,
        due: 0,
    };
}

/// The loops of a partition of the cache, to which blocks may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loops {
    /// How many there can be, at most [`MOST_PARTITIONS`].
    pub most: u8,
    /// Of the draws of which of them gives up a block.
    pub seed: u32,
}

/// Who tells contexts apart, and which of them have partitions. Called on most misses and on few
/// hits: what it says [stands](Standing) for those that it need not hear of.
pub trait Contexts: Send {
    /// By what it tells them apart: the number that it is given is that of a context, a file or a
    /// handler.
    fn by(&self) -> By;

    /// `whose` accesses a block, at this virtual time. All accesses since the last one of which it
    /// heard were that one's, and as it said.
    fn accessed(&mut self, whose: u32, key: BlockKey, now: u64) -> Standing;

    /// An earlier run learnt this of a context; what was measured in this one stands.
    fn hinted(&mut self, _context: ContextId, _hint: Hint, _now: u64) {}

    /// What the next run could use, in the order of contexts.
    fn hints(&self) -> Vec<(ContextId, Hint)> {
        Vec::new()
    }

    /// What is known of each, in the order of their numbers, as of this virtual time.
    fn learnt(&self, now: u64) -> Vec<Learnt>;

    /// The bytes that it takes.
    fn footprint(&self) -> usize;
}

//! The seam of contexts: a block goes to a part of the cache by its context (AMP §3).

use alloc::vec::Vec;

use crate::hint::{Hint, Learnt, Rhythm};
use crate::types::{BlockKey, ContextId};

/// AMP §3.3: "up to a fixed number, e.g 10".
pub const MOST_PARTITIONS: u8 = 10;

/// The key that tells accesses apart (AMP §2.2).
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

/// An access, as the cache manager is told of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// Where the block goes.
    pub place: Place,
    /// The loop of that partition, if it is one.
    pub rhythm: Rhythm,
    /// Virtual time: accesses to the cache so far, this one included.
    pub now: u64,
}

/// The answer to an access. It also holds for later accesses of the same context to blocks outside
/// the sample, until `due`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The answer.
    pub access: Access,
    /// Blocks whose hash is below this are in a sample.
    pub sample: u64,
    /// The virtual time at which the answer expires.
    pub due: u64,
}

impl Standing {
    /// An answer that holds for no later access.
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
    /// The seed of the draws of a loop that gives up a block.
    pub seed: u32,
}

/// The detector of program contexts: it tells them apart and says which of them have partitions.
/// The engine calls it on most misses and on few hits: its answer [stands](Standing) for the rest.
pub trait Contexts: Send {
    /// The key that tells accesses apart: `whose` is the number of a context, a file or a handler.
    fn by(&self) -> By;

    /// `whose` accesses a block, at this virtual time. The answer of the last call covered all
    /// accesses since that call.
    fn accessed(&mut self, whose: u32, key: BlockKey, now: u64) -> Standing;

    /// An earlier run learnt this of a context; measurements of this run prevail over it.
    fn hinted(&mut self, _context: ContextId, _hint: Hint, _now: u64) {}

    /// Hints for the next run, in the order of contexts.
    fn hints(&self) -> Vec<(ContextId, Hint)> {
        Vec::new()
    }

    /// The knowledge of each context at virtual time `now`, in the order of their numbers.
    fn learnt(&self, now: u64) -> Vec<Learnt>;

    /// The bytes that it takes.
    fn footprint(&self) -> usize;
}

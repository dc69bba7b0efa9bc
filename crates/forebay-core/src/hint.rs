//! The knowledge of a program context (its pattern, its loop, the length of its streams), and the
//! part of it that outlives a run.

/// Parts of a distribution that outlive a run.
pub(crate) const OCTILES: usize = 8;
/// A [`Usual`] that outlives a run counts at most this many streams.
pub(crate) const STREAMS: u8 = 16;

/// The part of habits that outlives a run, small enough for an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Usual {
    /// How many streams it goes by, 16 at most; zero: nothing is known.
    pub streams: u8,
    /// This many of them went beyond their first read.
    pub go_on: u8,
    /// Whether files are read whole.
    pub whole: bool,
    /// Blocks of those that went on: the middles of the eighths of the distribution, ascending;
    /// zero if none did.
    pub octiles: [u32; OCTILES],
}

impl Usual {
    /// Nothing is known.
    pub const UNKNOWN: Usual = Usual { streams: 0, go_on: 0, whole: false, octiles: [0; OCTILES] };
}

/// How a context accesses blocks (AMP §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Pattern {
    /// "One-time accesses."
    OneShot,
    /// "Repeated accesses to a series of blocks in the same or roughly the same order", consecutive
    /// or not.
    Looping,
    /// "Blocks accessed recently are more likely to be accessed in the future."
    Clustered,
    /// "None of the above", or nothing is known yet.
    Other,
}

/// A loop, as far as it is known (AMP Fig. 4). Virtual time is the number of accesses to the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rhythm {
    /// loop_size: blocks of each round, on average.
    pub size: u32,
    /// loop_time: how long each round takes, on average.
    pub time: u64,
    /// Its standard deviation.
    pub deviation: u64,
}

/// An earlier run's knowledge of a context, to be used from the first access on (AMP §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Hint {
    /// The pattern.
    pub pattern: Pattern,
    /// The loop, if it is one.
    pub rhythm: Rhythm,
    /// How long its streams usually are.
    #[cfg_attr(feature = "serde", serde(default))]
    pub usual: Usual,
}

impl Hint {
    /// Nothing was learnt.
    pub const NOTHING: Hint =
        Hint { pattern: Pattern::Other, rhythm: Rhythm { size: 0, time: 0, deviation: 0 }, usual: Usual::UNKNOWN };

    /// A pattern, and the loop if it is one.
    pub fn of(pattern: Pattern, rhythm: Rhythm) -> Hint {
        Hint { pattern, rhythm, ..Hint::NOTHING }
    }

    /// Whether it says nothing.
    pub fn is_nothing(&self) -> bool {
        self.pattern == Pattern::Other && self.usual == Usual::UNKNOWN
    }
}

/// The knowledge of a context, as a list shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Learnt {
    /// The context, the file or the handler.
    pub id: u32,
    /// The pattern.
    pub pattern: Pattern,
    /// R̄ of the period under way, in 65,536ths, if any block was accessed again.
    pub recency: Option<u32>,
    /// Accesses, since the context is known.
    pub accesses: u64,
    /// Blocks, as far as one can tell from the sample.
    pub blocks: u64,
    /// The loop, if it is one.
    pub rhythm: Rhythm,
    /// The number of its partition.
    pub partition: Option<u8>,
}

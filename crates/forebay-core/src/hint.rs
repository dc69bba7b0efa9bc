//! What of the streams of a program context outlives a run.

/// Parts of a distribution that outlive a run.
pub(crate) const OCTILES: usize = 8;
/// What outlives a run says how many of so many streams went on.
pub(crate) const STREAMS: u8 = 16;

/// What of habits outlives a run, small enough for an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Usual {
    /// How many streams it goes by, 16 at most; zero: nothing is known.
    pub streams: u8,
    /// So many of them went beyond their first read.
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

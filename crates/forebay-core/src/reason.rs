//! Why a piece or a trigger distance has its size. The code that decides says so, and the stream
//! keeps it for [`explain`](crate::explain).
//!
//! A size starts from a first number; bounds then apply one after the other. [`Size`] remembers
//! which of them held:
//!
//! ```text
//!   S_p ─▶ at least a request ─▶ at most the share of memory ─▶ at most twice the last piece ─▶ 34 blocks, since slow start goes on
//! ```

/// The rule that fixed a size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[repr(u8)]
pub enum Reason {
    /// The window that every stream begins with.
    FirstWindow,
    /// That window, which shrinks as long as streams of the file do not go on.
    Nowhere,
    /// Slow start: pieces double, and no more is ahead than three times the blocks read so far.
    SlowStart,
    /// C_switch · R_tr of the device.
    Competitive,
    /// The largest piece that there is.
    Largest,
    /// The mean length of the device's streams.
    MeanLength,
    /// The blocks of the stream read so far: it may go on for as long again.
    ReadSoFar,
    /// The block where the stream's readers are known to stop.
    KnownEnd,
    /// How far streams of its context, or of its device, usually go, by the odds.
    Odds,
    /// Blocks ahead bring no more hits on its device than the cache would have without them.
    NoGain,
    /// Its reader skips so much that reading the gaps takes longer than a switch past each.
    Sparse,
    /// More would save no switch, since hardly any other stream uses the device.
    Undisturbed,
    /// The stream's share of the room for blocks ahead.
    Memory,
    /// The size of its reader's requests.
    Request,
    /// The policy's own number.
    Policy,
    /// The number that the stream has learnt: larger when readers wait, smaller when blocks go
    /// unread.
    Learnt,
    /// A window that doubles whenever its reader has taken all that arrived, as far as memory
    /// allows.
    CaughtUp,
    /// A window that grows by one read with each read in order.
    ByRead,
    /// The next piece is due when less than half of the window is left.
    HalfWindow,
    /// The next piece is due when the reader enters the latest.
    AheadWindow,
    /// As many pieces are under way as the device serves at once for each stream.
    Channels,
    /// The same part of a total for all streams.
    Even,
    /// The stream's part of a total by its rate.
    EqualTime,
    /// The blocks read while a piece is under way, and a part of a total by how irregular the
    /// stream is.
    EqualSafety,
    /// A piece is due at every access.
    EveryAccess,
    /// None: nothing was fetched ahead.
    #[default]
    #[cfg_attr(feature = "serde", serde(other))]
    Nothing,
}

/// Why a piece and a trigger distance have their sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Why {
    /// The piece.
    pub piece: Reason,
    /// The distance.
    pub distance: Reason,
}

/// A number of blocks, and its reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    /// How many.
    pub blocks: u32,
    /// Why.
    pub reason: Reason,
}

impl Size {
    /// This many blocks, for this reason.
    pub fn new(blocks: u32, reason: Reason) -> Size {
        Size { blocks, reason }
    }

    /// At most `blocks`. If that bound holds, its reason replaces the old one.
    #[must_use]
    pub fn at_most(self, blocks: u32, reason: Reason) -> Size {
        if blocks < self.blocks { Size { blocks, reason } } else { self }
    }

    /// At least `blocks`. If that bound holds, its reason replaces the old one.
    #[must_use]
    pub fn at_least(self, blocks: u32, reason: Reason) -> Size {
        if blocks > self.blocks { Size { blocks, reason } } else { self }
    }
}

//! Why a piece or a trigger distance is as large as it is: said by the code that decides, and kept
//! with the stream for whoever asks ([`explain`](crate::explain)).
//!
//! A size is what first comes to mind and then bounds, one after the other. [`Size`] remembers
//! which of them was the one that held:
//!
//! ```text
//!   S_p ─▶ at least a request ─▶ at most the share of memory ─▶ at most twice the last piece ─▶ 34 blocks, since slow start goes on
//! ```

/// What made a size what it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[repr(u8)]
pub enum Reason {
    /// The window that every stream begins with.
    FirstWindow,
    /// That window, which shrinks as long as streams of the file go nowhere.
    Nowhere,
    /// What a stream has shown so far bounds it: pieces double, and no more is ahead than three
    /// times what was read.
    SlowStart,
    /// C_switch · R_tr of the device.
    Competitive,
    /// The largest piece that there is.
    Largest,
    /// The mean length of the device's streams.
    MeanLength,
    /// What was read of the stream already: as long it may go on.
    ReadSoFar,
    /// Where the stream's readers are known to stop.
    KnownEnd,
    /// How far streams of its context, or of its device, usually go, by the odds.
    Odds,
    /// Its reader skips so much that to read through it would take longer than to go around.
    Sparse,
    /// More would save no switch, since hardly anybody else uses the device.
    Undisturbed,
    /// The stream's part of what memory allows all of them.
    Memory,
    /// As much as its reader asks for at a time.
    Request,
    /// The policy's own number.
    Policy,
    /// What the stream has learnt.
    Learnt,
    /// The next piece is due when the reader enters the latest.
    AheadWindow,
    /// As many pieces are under way as the device serves at once for each stream.
    Channels,
    /// What is read while a piece is on its way.
    Demand,
    /// The same part of a total for all streams.
    Even,
    /// The stream's part of a total by its rate.
    EqualTime,
    /// What is read while a piece is on its way, and a part of a total by how irregular the stream
    /// is.
    EqualSafety,
    /// A piece is due at every access.
    EveryAccess,
    /// None: nothing was fetched ahead.
    #[default]
    #[cfg_attr(feature = "serde", serde(other))]
    Nothing,
}

/// Why a piece and a trigger distance are as large as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Why {
    /// The piece.
    pub piece: Reason,
    /// The distance.
    pub distance: Reason,
}

/// A number of blocks, and what made it that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    /// How many.
    pub blocks: u32,
    /// Why.
    pub reason: Reason,
}

impl Size {
    /// So many, for this reason.
    pub fn new(blocks: u32, reason: Reason) -> Size {
        Size { blocks, reason }
    }

    /// No more than so many: if that is fewer, for that reason.
    #[must_use]
    pub fn at_most(self, blocks: u32, reason: Reason) -> Size {
        if blocks < self.blocks { Size { blocks, reason } } else { self }
    }

    /// No fewer than so many: if that is more, for that reason.
    #[must_use]
    pub fn at_least(self, blocks: u32, reason: Reason) -> Size {
        if blocks > self.blocks { Size { blocks, reason } } else { self }
    }
}

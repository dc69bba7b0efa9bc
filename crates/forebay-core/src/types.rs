//! The nouns that every part of Forebay shares: time, names of things, ranges of blocks.

use core::fmt;

/// A moment, in nanoseconds since the driver's start. The core never reads a clock: drivers pass
/// moments in, real ones (the live engine) or virtual ones (the simulator).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Instant(pub u64);

impl Instant {
    /// Nanoseconds from `earlier` to `self`, zero if `earlier` is later.
    pub fn since(self, earlier: Instant) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The moment `nanos` later.
    #[must_use]
    pub fn plus(self, nanos: u64) -> Instant {
        Instant(self.0.saturating_add(nanos))
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(pub $inner);

        impl $name {
            /// The id as an index into a table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// One version of one file, chosen by the driver. A file that changed is another `FileId`, so
    /// that versions never mix.
    FileId,
    u32
);
id!(
    /// A device, in the order in which the driver described them to the core.
    DeviceId,
    u16
);
id!(
    /// The program context of an access (AMP); zero where unknown.
    ContextId,
    u32
);
id!(
    /// The reader: a thread id live, a request handler in a simulation.
    HandlerId,
    u32
);
id!(
    /// A read that the driver waits for; chosen by the driver, reused after its `Done`.
    ReadId,
    u32
);
id!(
    /// A fetch under way; chosen by the core, reused after it arrived or failed.
    IoId,
    u32
);
id!(
    /// A stream of sequential accesses; reused once the stream is forgotten.
    StreamId,
    u32
);
id!(
    /// A told list, chosen by the driver.
    ToldId,
    u32
);
id!(
    /// A frame with a buffer, counted from zero: the driver's buffer number.
    FrameId,
    u32
);

impl StreamId {
    /// No stream: the owner of a frame that was not prefetched.
    pub const NONE: StreamId = StreamId(u32::MAX);
    /// No stream, but a told list: the owner of a frame that was fetched for one.
    pub const TOLD: StreamId = StreamId(u32::MAX - 1);
}

/// A block's name: its file and its number within the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BlockKey(u64);

impl BlockKey {
    /// The block `block` of `file`.
    pub const fn new(file: FileId, block: u32) -> BlockKey {
        BlockKey((file.0 as u64) << 32 | block as u64)
    }

    /// The block's file.
    pub fn file(self) -> FileId {
        FileId((self.0 >> 32) as u32)
    }

    /// The block's number within its file.
    pub fn block(self) -> u32 {
        self.0 as u32
    }

    /// The name as one number, file above block.
    pub fn raw(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for BlockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file().0, self.block())
    }
}

/// `len` blocks of `file` from `start`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Extent {
    /// The file.
    pub file: FileId,
    /// The first block.
    pub start: u32,
    /// How many blocks.
    pub len: u32,
}

impl Extent {
    /// The blocks `start..end` of `file`; empty if `end` is not beyond `start`.
    pub fn between(file: FileId, start: u32, end: u32) -> Extent {
        Extent { file, start, len: end.saturating_sub(start) }
    }

    /// The block after the last.
    pub fn end(self) -> u32 {
        self.start + self.len
    }

    /// Whether there is no block in it.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Whether a block of its file is in it.
    pub fn has(self, block: u32) -> bool {
        block >= self.start && block - self.start < self.len
    }

    /// The part of it that lies in `start..end`.
    pub fn within(self, start: u32, end: u32) -> Extent {
        Extent::between(self.file, self.start.max(start), self.start.saturating_add(self.len).min(end))
    }

    /// The names of its blocks, in order.
    pub fn keys(self) -> impl Iterator<Item = BlockKey> {
        (self.start..self.end()).map(move |block| BlockKey::new(self.file, block))
    }
}

/// The origin of a request for a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Caller {
    /// The thread.
    pub handler: HandlerId,
    /// The place in its program.
    pub context: ContextId,
}

//! The parts of a trace.

use forebay_core::Instant;

/// The kind of request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Operation {
    /// Bytes were read.
    #[default]
    Read,
    /// Bytes were written.
    Write,
}

/// One request: a range of bytes of one file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Request {
    /// When it came, nanoseconds since the trace began; zero throughout if the trace has no times.
    pub at: Instant,
    /// The file, device or object, as the trace names it; names that are no numbers are numbered in
    /// order of appearance.
    pub file: u64,
    /// The first byte.
    pub offset: u64,
    /// How many bytes; at least one.
    pub len: u32,
    /// The asker: a thread, or a task of a server. Requests of one handler follow each other. Zero
    /// where unknown.
    pub handler: u32,
    /// The program context. Zero where unknown.
    pub context: u32,
    /// Read or written.
    pub operation: Operation,
}

/// Whether the requests of a trace are ranges or objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Ranges of bytes in files or devices. They are split into blocks; `block_bytes` is the block
    /// that the trace's format suggests, which the user may overrule.
    Ranges {
        /// Bytes in a block.
        block_bytes: u32,
    },
    /// Whole objects: a request is one access to one object (`file`) of any size.
    Objects,
}

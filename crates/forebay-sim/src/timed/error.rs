//! The faults of a timed simulation.

use forebay_trace::WorkloadError;

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] forebay_trace::Error),
    /// A device cannot be built.
    #[error(transparent)]
    Device(#[from] forebay_device::Error),
    /// The setup makes no sense.
    #[error("{0}")]
    Setup(String),
    /// The handlers leave no memory to the cache.
    #[error(
        "{handlers} handlers of {private_bytes} bytes each leave less than a block of the {memory_bytes} bytes of memory; \
         give more memory, or fewer handlers"
    )]
    NoMemory {
        /// How many handlers there are.
        handlers: u32,
        /// The bytes that each of them takes.
        private_bytes: u64,
        /// All memory of the level.
        memory_bytes: u64,
    },
    /// The files do not fit where they are to lie.
    #[error(
        "the files need {needed} bytes on device {device} (`{name}`), which has {capacity}; \
         take a larger device, or spread the files over several"
    )]
    DeviceFull {
        /// Which device, counted from zero.
        device: usize,
        /// Its description's name.
        name: String,
        /// Bytes of the files, rounded up to blocks.
        needed: u64,
        /// Its size in bytes.
        capacity: u64,
    },
    /// A block of a file has no number.
    #[error(
        "file {file} of the trace is {bytes} bytes long, more than 2^32 blocks of {block_bytes} bytes; use larger blocks"
    )]
    FileTooLong {
        /// The file, as the trace names it.
        file: u64,
        /// Its length.
        bytes: u64,
        /// Bytes in a block.
        block_bytes: u32,
    },
    /// An open loop over a trace without times.
    #[error("the trace has no times, and an open loop needs them; run it in a closed loop")]
    NoTimes,
    /// The run ended within its warm-up.
    #[error("the run is over before its warm-up is; warm up for less, or take a longer trace")]
    AllWarmUp,
    /// There is nothing to simulate.
    #[error("the trace has no requests")]
    Empty,
    /// More requests or files than are numbered.
    #[error("the trace has more than 2^31 {0}; cut it in pieces")]
    TooMany(&'static str),
    /// The observer ended the run.
    #[error("stopped before the end")]
    Stopped,
}

impl From<WorkloadError> for Error {
    fn from(error: WorkloadError) -> Error {
        match error {
            WorkloadError::Trace(error) => Error::Trace(error),
            WorkloadError::Empty => Error::Empty,
            WorkloadError::TooMany(what) => Error::TooMany(what),
        }
    }
}

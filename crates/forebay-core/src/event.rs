//! What goes into the core and what comes out of it.
//!
//! Both are plain values of fixed size, so that a run can be recorded event by event and replayed:
//! the same events give the same actions, to the bit.

use alloc::vec::Vec;

use crate::hint::Hint;
use crate::types::{ContextId, DeviceId, Extent, FileId, FrameId, HandlerId, Instant, IoId, ReadId};

/// Something that happened, and when. Events reach the core in the order of `at`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Event {
    /// The moment.
    pub at: Instant,
    /// What happened.
    pub kind: EventKind,
}

/// The kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum EventKind {
    /// A file (one version of it) can be read from now on. `bytes` is its length.
    Open {
        /// A number that names no other file, small: the core keeps a table by it.
        file: FileId,
        /// Where it lies.
        device: DeviceId,
        /// Its length in bytes.
        bytes: u64,
    },
    /// Blocks `start..start + len` of a file lie on its device from byte `at_byte`. Sent after
    /// `Open`, in the order of `start`, for as much of the file as the driver knows; what it
    /// doesn't know counts as following what it does.
    Placed {
        /// The run of blocks.
        extent: Extent,
        /// Its first byte on the device.
        at_byte: u64,
    },
    /// A file is striped (RAID-0): its block b lies on device d + (b / unit) mod devices, where d
    /// is that of `Open`, and there is the device's own block b / (unit · devices) · unit + b mod
    /// unit of the file. Sent directly after `Open`. A [`Placed`](Self::Placed) of it speaks of
    /// devices' own blocks, and of all devices alike. No fetch spans two devices.
    Striped {
        /// The file.
        file: FileId,
        /// The blocks of a stripe unit, at least 1.
        unit: u32,
        /// Over how many devices, at least 1.
        devices: u16,
    },
    /// A reader wants bytes. Answered by [`Action::Ready`] or [`Action::Error`] with the same
    /// `read`.
    Read {
        /// A number that no other unfinished read has, small: the core keeps a table by it.
        read: ReadId,
        /// Who reads.
        handler: HandlerId,
        /// From which program context.
        context: ContextId,
        /// Of which file.
        file: FileId,
        /// From which byte; beyond the end of the file there is nothing, and the read is ready at
        /// once.
        offset: u64,
        /// How many bytes. At most [`Core::max_read`](crate::Core::max_read) blocks; the driver
        /// splits longer reads.
        len: u32,
    },
    /// The read that comes next is a request of a level above, whose readers wait for `demand`
    /// alone and have read `hits` since its last (SCM §4.2). Sent directly before that read.
    /// Without it readers wait for all of what is read.
    Labelled {
        /// The read.
        read: ReadId,
        /// The part that readers wait for; empty for a pure prefetch.
        demand: Extent,
        /// What they found in the level above; empty if nothing is known of that.
        hits: Extent,
    },
    /// What an earlier run learnt of a program context. Without contexts in the policy it says
    /// nothing.
    Hinted {
        /// The context.
        context: ContextId,
        /// What was learnt.
        hint: Hint,
    },
    /// The reader has copied what a `Ready` offered; its frames may be evicted again.
    Done {
        /// The read.
        read: ReadId,
    },
    /// A fetch brought all of its blocks.
    Arrived {
        /// The fetch.
        io: IoId,
    },
    /// A fetch brought its first `valid` blocks; the next one cannot be read, or was called off
    /// ([`Action::CallOff`]).
    Failed {
        /// The fetch.
        io: IoId,
        /// How many blocks from the start of its extent did arrive.
        valid: u32,
        /// The driver's word for what went wrong (an errno), handed on to the readers concerned; or
        /// [`CALLED_OFF`].
        error: i32,
    },
    /// So many have the file open, where that changed and is not zero ([`Close`](Self::Close) says
    /// that). A driver that doesn't say it has every file that is read open once.
    Handles {
        /// The file.
        file: FileId,
        /// How many.
        handles: u32,
    },
    /// Nobody has the file open any more; its blocks stay. Its streams no longer count as active,
    /// since N_stream is about the number of open files (CPEM §4.2). What is under way for it and
    /// no reader waits for is called off.
    Close {
        /// The file.
        file: FileId,
    },
    /// Nobody will read this version of a file again. Once its reads are done and its fetches over,
    /// its frames are freed and [`Action::Forgotten`] follows; after that its number may name
    /// another file. Better not: what is remembered of blocks that are gone goes by the number
    /// ([`numbered`](crate::numbered)).
    Forget {
        /// The file.
        file: FileId,
    },
    /// A handler was seen running (CPEM §4.1). Reads say so themselves.
    Ran {
        /// The handler.
        handler: HandlerId,
    },
    /// A handler is gone (CPEM §4.1).
    Exited {
        /// The handler.
        handler: HandlerId,
    },
    /// The moment that [`Core::deadline`](crate::Core::deadline) asked for has come.
    Tick,
}

/// Why something is fetched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Cause {
    /// A reader waits for all of it.
    Demand,
    /// A reader waits for a part of it.
    Mixed,
    /// Nobody waits for it yet.
    Prefetch,
}

/// The error of a fetch that failed because it was called off (ECANCELED).
pub const CALLED_OFF: i32 = 125;

/// What the driver is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Action {
    /// Bring these blocks into their frames ([`Core::frame`](crate::Core::frame)), then say
    /// `Arrived` or `Failed`.
    Fetch {
        /// The fetch.
        io: IoId,
        /// Which blocks.
        extent: Extent,
        /// Why.
        cause: Cause,
        /// The part that readers wait for, from its beginning; empty for a pure prefetch. Of a read
        /// that came with a label it is what is wanted above, so that labels go through all levels.
        /// This is the label of SCM §4.2.
        demand: Extent,
        /// What of its stream was read, here and above, and the level below was not told yet.
        hits: Extent,
        /// On which device; all of it.
        device: DeviceId,
    },
    /// Nobody needs this fetch any more: if the device has not begun with it, it is not worth a
    /// visit (C_waste, CP Eq. 3). A wish. The driver answers the fetch as ever, with `Arrived` or
    /// `Failed`; one that it did call off failed with [`CALLED_OFF`] and costs nobody anything.
    /// Readers that have joined it meanwhile have it fetched anew.
    CallOff {
        /// The fetch.
        io: IoId,
    },
    /// Everything that the read wants is in frames, which stay until its `Done`.
    Ready {
        /// The read.
        read: ReadId,
    },
    /// The read cannot be had. It is over; no `Done` follows.
    Error {
        /// The read.
        read: ReadId,
        /// What the driver said in `Failed`.
        error: i32,
    },
    /// No block is left of a file that nobody has open. There is no better one to forget.
    Emptied {
        /// The file.
        file: FileId,
    },
    /// Nothing of the file is left; its number is free.
    Forgotten {
        /// The file.
        file: FileId,
    },
    /// The frame's block is gone and the frame free for another.
    Evict {
        /// The frame.
        frame: FrameId,
    },
}

/// The buffer that the core appends its actions to. The caller owns it and clears it.
pub type Actions = Vec<Action>;

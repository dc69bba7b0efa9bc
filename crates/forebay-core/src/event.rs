//! The events that go into the core, and the actions that come out of it.
//!
//! Both are plain values of fixed size, so that a run can be recorded event by event and replayed:
//! the same events give the same actions, to the bit.

use alloc::vec::Vec;

use crate::hint::Hint;
use crate::types::{BlockKey, ContextId, DeviceId, Extent, FileId, FrameId, HandlerId, Instant, IoId, ReadId, ToldId};

/// Something that happened, and when. Events reach the core in the order of `at`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Event {
    /// The moment.
    pub at: Instant,
    /// The kind of event, and its details.
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
    /// `Open`, in the order of `start`, for as much of the file as the driver knows. Unknown blocks
    /// count as following the known ones.
    Placed {
        /// The run of blocks.
        extent: Extent,
        /// Its first byte on the device.
        at_byte: u64,
    },
    /// A file is striped (RAID-0). Its block b lies on device d + (b / unit) mod devices, where d
    /// is that of `Open`. There it is the device's own block b / (unit · devices) · unit + b mod
    /// unit of the file. Sent directly after `Open`. A [`Placed`](Self::Placed) of it names
    /// devices' own blocks, the same on all devices. No fetch spans two devices.
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
        /// The reader.
        handler: HandlerId,
        /// Its program context.
        context: ContextId,
        /// The file.
        file: FileId,
        /// The first byte. A read beyond the end of the file is ready at once, without bytes.
        offset: u64,
        /// How many bytes. At most [`Core::max_read`](crate::Core::max_read) blocks; the driver
        /// splits longer reads.
        len: u32,
    },
    /// The next read is a request of a level above. Its readers wait for `demand` alone, and have
    /// read `hits` since its last request (SCM §4.2). Sent directly before that read. Without it,
    /// readers wait for all blocks of the read.
    Labelled {
        /// The read.
        read: ReadId,
        /// The part that readers wait for; empty for a pure prefetch.
        demand: Extent,
        /// Blocks that they found in the level above; empty if none are known.
        hits: Extent,
    },
    /// An earlier run learnt this of a program context. Policies without contexts ignore it.
    Hinted {
        /// The context.
        context: ContextId,
        /// The knowledge.
        hint: Hint,
    },
    /// The reader has copied the bytes that a `Ready` offered; their frames may be evicted again.
    Done {
        /// The read.
        read: ReadId,
    },
    /// A fetch is about to arrive from a disk tier, which keeps its blocks: they are cheap to miss.
    Near {
        /// The fetch.
        io: IoId,
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
    /// The number of open handles of the file, where that changed and is not zero
    /// ([`Close`](Self::Close) says zero). If a driver never says it, every file that is read
    /// counts as open once.
    Handles {
        /// The file.
        file: FileId,
        /// How many.
        handles: u32,
    },
    /// The file is closed; its blocks stay. Its streams no longer count as active, since N_stream
    /// is about the number of open files (CPEM §4.2). The core calls off its fetches that no reader
    /// waits for.
    Close {
        /// The file.
        file: FileId,
    },
    /// No reader will read this version of a file again. Once its reads are done and its fetches
    /// over, its frames are freed and [`Action::Forgotten`] follows; after that its number may name
    /// another file. A driver had better not reuse it: ghosts and histories remember evicted blocks
    /// by that number ([`numbered`](crate::numbered)).
    Forget {
        /// The file.
        file: FileId,
    },
    /// A handler was seen running (CPEM §4.1). A read implies it.
    Ran {
        /// The handler.
        handler: HandlerId,
    },
    /// A handler is gone (CPEM §4.1).
    Exited {
        /// The handler.
        handler: HandlerId,
    },
    /// A list names blocks of a file, behind those that it names already: its readers will want
    /// them in that order. The core looks ahead for them instead of for their streams. The driver
    /// tells as much of a list as there is room for ([`Core::told_room`](crate::Core::told_room)),
    /// and more as its readers go on. Behind the last of several extents it sends a
    /// [`Tick`](Self::Tick): then it is looked which of them are fetched. Of a file that the core
    /// does not know nothing is told.
    Told {
        /// The list. The first extent begins it.
        list: ToldId,
        /// The blocks.
        extent: Extent,
    },
    /// A list is over: nobody follows it any more, or another order replaces it.
    Untold {
        /// The list.
        list: ToldId,
    },
    /// A device without places turned out to cost this; until now another cost was assumed.
    Measured {
        /// The device.
        device: DeviceId,
        /// The time to the first byte of a request, nanoseconds.
        first_byte: u64,
        /// Bytes a second on each channel.
        rate: u64,
        /// How many requests it serves at once.
        channels: u32,
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
    /// No reader waits for it yet.
    Prefetch,
    /// No reader waits for it yet, and a told list names it.
    Hint,
}

/// The error of a fetch that failed because it was called off (ECANCELED).
pub const CALLED_OFF: i32 = 125;

/// An order to the driver.
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
        /// The part that readers wait for, from its beginning; empty for a pure prefetch. For a
        /// labelled read, it is the part wanted above, so that labels go through all levels. This
        /// is the label of SCM §4.2.
        demand: Extent,
        /// Blocks of its stream that were read, here and above, and that the level below was not
        /// told of yet.
        hits: Extent,
        /// The device that has all of it.
        device: DeviceId,
    },
    /// No reader needs this fetch any more: if the device has not begun with it, it is not worth a
    /// visit (C_waste, CP Eq. 3). It is a wish: the driver still answers the fetch with `Arrived`
    /// or `Failed`. A fetch that it did call off fails with [`CALLED_OFF`], which no reader gets as
    /// an error. If readers have joined it meanwhile, the core fetches their blocks anew.
    CallOff {
        /// The fetch.
        io: IoId,
    },
    /// All blocks of the read are in frames, which stay until its `Done`.
    Ready {
        /// The read.
        read: ReadId,
    },
    /// The read failed. It is over; no `Done` follows.
    Error {
        /// The read.
        read: ReadId,
        /// The error of the driver's `Failed`.
        error: i32,
    },
    /// A closed file has no block left, so it is the best one to forget.
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
        /// The block, if it was fetched ahead and no reader has asked for it.
        #[cfg_attr(feature = "serde", serde(default))]
        unread: Option<BlockKey>,
    },
}

/// The buffer that the core appends its actions to. The caller owns it and clears it.
pub type Actions = Vec<Action>;

//! The seam of looking ahead: how much is fetched for a stream, and when.
//!
//! A prefetcher sees one stream at one access ([`Sight`]) and answers with pieces that follow each
//! other from [`Sight::from`] on ([`Plan`]). The engine skips blocks that are there already and
//! joins demand and prefetch of one extent into one fetch. A prefetcher is told how much memory the
//! stream may use; the kernels' own policies, the baselines, do not ask.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::placement::Tally;
use crate::counters::Counters;
use crate::demand::Supply;
use crate::device::DeviceCost;
use crate::explain::Elsewhere;
use crate::files::{File, INITIAL_WINDOW};
use crate::hint::Usual;
use crate::reason::{Reason, Size, Why};
use crate::stream::Stream;
use crate::types::{BlockKey, ContextId, DeviceId, Extent, FileId, HandlerId, StreamId};

/// The largest piece, in bytes. A piece arrives as a whole, so a larger one would keep its reader
/// waiting. A store whose latency is worth more bytes has several connections, and several pieces
/// under way.
pub const MAX_PIECE_BYTES: u32 = 8 << 20;

/// The needs of a prefetcher, asked once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// Whether it ever fetches blocks before a reader asks for them.
    pub looks_ahead: bool,
    /// To see every reference, not only misses and first references.
    pub every_reference: bool,
    /// To have an access a little behind a stream's position taken for a late part of a large read,
    /// which tells nothing. For policies of block caches, which know no streams, it is an access
    /// like any other (except to a block that two requests share in part).
    pub late_parts: bool,
    /// To have demand counted, in slots of this many nanoseconds.
    pub demand: Option<u64>,
    /// A stream is sequential once readers wanted this many blocks one after another, for a
    /// replacement policy that keeps sequential blocks apart.
    pub sequential: u32,
    /// To be told of streams that are left behind or were silent for long, and of contexts.
    pub endings: bool,
    /// To know how often a stream is interrupted.
    pub company: bool,
    /// To be asked for blocks near a miss.
    pub near: bool,
    /// To be asked what a reader will read elsewhere, on devices that serve at least so many
    /// requests at once.
    pub elsewhere: Option<u32>,
}

/// The threshold of SARC (SCM §5.3): "a default threshold of 4 contiguous blocks".
pub(crate) const SEQUENTIAL: u32 = 4;

impl Default for Needs {
    fn default() -> Needs {
        Needs {
            looks_ahead: true,
            every_reference: false,
            late_parts: true,
            demand: None,
            sequential: SEQUENTIAL,
            endings: false,
            company: false,
            near: false,
            elsewhere: None,
        }
    }
}

/// How much to fetch for streams, and when. The engine calls it where a read misses or is the first
/// to refer to a prefetched block; on other hits only if it asks for that
/// ([`Needs::every_reference`]).
pub trait Prefetcher: Send {
    /// Its needs.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Plans a fetch from [`Sight::from`] on. For a missed read the first piece contains the missed
    /// blocks.
    fn plan(&mut self, sight: &Sight<'_>) -> Plan;

    /// A place of the table now belongs to another stream.
    fn takes_place(&mut self, _stream: StreamId) {}

    /// A stream has begun, and its first plan follows. Returns how many blocks its reader may skip
    /// and still go on with it, even without blocks ahead.
    fn begins(&mut self, _begun: &Begun<'_>) -> u32 {
        0
    }

    /// A stream has gone on, perhaps to the end of its file.
    fn goes_on(&mut self, _stream: &Stream, _at_end: bool) {}

    /// A stream is over: its file, of `blocks` blocks, is closed.
    fn is_closed(&mut self, _stream: &Stream, _blocks: u32) {}

    /// A stream is over: it was silent for long, or has to make room. If [`Needs::endings`].
    fn is_over(&mut self, _stream: &Stream, _blocks: u32) {}

    /// The reader of a stream of one read began to read elsewhere in its file. If
    /// [`Needs::endings`].
    fn is_left(&mut self, _stream: &Stream) {}

    /// An earlier run learnt this of the streams of a context.
    fn hinted(&mut self, _context: ContextId, _usual: Usual) {}

    /// Adds the knowledge of contexts that the next run can use.
    fn learnt(&self, _out: &mut BTreeMap<ContextId, Usual>) {}

    /// The blocks around a missed one to load beyond the plan, if any. If [`Needs::near`].
    fn near(&self, _miss: &Miss<'_>) -> Option<Near> {
        None
    }

    /// Appends what the reader will read next elsewhere, in its order: each a fetch of its own. If
    /// [`Needs::elsewhere`].
    fn elsewhere(&mut self, _visit: &Visit<'_>, _next: &mut Vec<Extent>) {}

    /// A read has gone on with a stream.
    fn heard(&mut self, _stream: StreamId, _heard: &Heard) {}

    /// Blocks `first..end` were asked for together, ahead of a stream.
    fn asked(&mut self, _stream: StreamId, _first: u32, _end: u32) {}

    /// A fetch for a stream, from block `first` on, has arrived; readers have waited for `awaited`
    /// of its prefetched blocks, at least one.
    fn waited(&mut self, _stream: StreamId, _first: u32, _awaited: u32) {}

    /// A fetch of a device is over. `counters` has the fate of the device's blocks so far, `tally`
    /// how a sample of its partition's references fares.
    fn served(&mut self, _device: DeviceId, _counters: &Counters, _tally: Tally) {}

    /// A block that was fetched for a stream came to the end of the replacement policy's list
    /// unread.
    fn came_unread(&mut self, _stream: StreamId, _block: u32) {}

    /// The blocks asked for a stream from `block` on do not come.
    fn lost(&mut self, _stream: StreamId, _block: u32) {}

    /// The mean length of streams of this device and context, if it goes by that.
    fn mean_length(&self, _device: DeviceId, _context: ContextId) -> Option<u32> {
        None
    }

    /// The block up to which a stream is expected to go, if it goes by that.
    fn expected_end(&self, _stream: StreamId) -> Option<u32> {
        None
    }

    /// The places elsewhere that a reader of a file is expected to read, for `explain`.
    fn explain_elsewhere(&self, _handler: HandlerId, _file: FileId) -> Option<Elsewhere> {
        None
    }

    /// The bytes that it takes.
    fn footprint(&self) -> usize {
        0
    }
}

/// A stream that begins.
#[derive(Clone, Copy, Debug)]
pub struct Begun<'a> {
    /// Its place.
    pub id: StreamId,
    /// The stream.
    pub stream: &'a Stream,
    /// How many blocks its file has.
    pub blocks: u32,
    /// How many its first read asks for.
    pub request: u32,
    /// C_switch · R_tr where it begins, at least 1.
    pub competitive_depth: u32,
}

/// A read, as it is told of its stream, in blocks.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// The blocks that are read.
    pub extent: Extent,
    /// Those of them that readers want.
    pub demand: Extent,
    /// Blocks that they found in the level above.
    pub hits: Extent,
    /// Whether it missed, as the furthest read of its stream.
    pub missed: bool,
}

/// A miss and its surroundings.
#[derive(Clone, Copy)]
pub struct Miss<'a> {
    /// The read.
    pub read: Extent,
    /// The first block that it missed.
    pub block: u32,
    /// Its file.
    pub file: &'a File,
    /// The device on which the block lies.
    pub device: &'a DeviceCost,
    /// Fetches that are under way there.
    pub under_way: u32,
    /// C_switch · R_tr there, in blocks, at least 1.
    pub competitive_depth: u32,
    /// Free frames, and those that told lists give.
    pub free: u32,
    /// The bytes of a block.
    pub block_bytes: u32,
    /// Whether a block is resident or under way.
    pub is_there: &'a dyn Fn(BlockKey) -> bool,
}

/// A reader at a place. Everything in blocks.
#[derive(Clone, Copy)]
pub struct Visit<'a> {
    /// The reader.
    pub handler: HandlerId,
    /// The blocks that it reads.
    pub read: Extent,
    /// Whether one of them must be fetched for it.
    pub missed: bool,
    /// How many its file has.
    pub blocks: u32,
    /// The device that it reads from.
    pub device: DeviceId,
    /// How many requests the device serves at once.
    pub channels: u32,
    /// How many blocks all readers together may have ahead.
    pub room: u32,
    /// C_switch · R_tr where it reads, at least 1: more at a place is the business of its stream.
    pub piece: u32,
    /// Whether its stream goes on, perhaps through gaps, and is fetched ahead.
    pub in_stream: bool,
    /// How many blocks a file has, if it is open.
    pub length: &'a dyn Fn(FileId) -> Option<u32>,
}

impl Visit<'_> {
    /// How many small fetches are under way at most. While one of them waits for its first byte,
    /// the device has transfer to spare: four for each channel use most of it.
    pub fn abreast(&self) -> u32 {
        self.channels.saturating_mul(4)
    }
}

/// The blocks to load around a miss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Near {
    /// The blocks.
    pub region: Extent,
    /// How many come in one fetch: a reader of one block waits for its whole piece.
    pub piece: u32,
}

/// A stream at the moment of an access, and its surroundings. Everything in blocks.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The stream's place.
    pub id: StreamId,
    /// The stream; its `next` is already the block after the access.
    pub stream: &'a Stream,
    /// How many blocks the access asks for.
    pub request: u32,
    /// Whether readers want any of it. A prefetch of a level above may trigger a fetch, but "the
    /// lower-level trigger distance and prefetch degree will not be affected" (SCM §4.2).
    pub adapts: bool,
    /// The first block of the access that must be fetched for the reader, if any must.
    pub missed: Option<u32>,
    /// Whether the stream begins with this access.
    pub fresh: bool,
    /// Whether the missed block had been fetched before, and was given up.
    pub lost: bool,
    /// The window that a stream of this file begins with (slow start).
    pub initial_window: u32,
    /// C_switch · R_tr at the place of the next fetch, at least 1.
    pub competitive_depth: u32,
    /// The same, if each block also pays for the memory that it takes.
    pub worth_a_switch: u32,
    /// The same for a switch over a gap of the stream, as long as its gaps are in the mean.
    pub over_gap: u32,
    /// How often, in parts of [`ALWAYS`](crate::devices::ALWAYS), another stream uses the device
    /// between two pieces of a stream, so that the second one pays a switch. If
    /// [`Needs::company`]; otherwise always.
    pub interrupted: u32,
    /// How many blocks all streams together may have ahead.
    pub room: u32,
    /// How many blocks the stream may have ahead: its share of the room for all streams, at least
    /// 1.
    pub share: u32,
    /// How many blocks a piece may have: Ŝp of CPEM §4.2, or the part of `share` that leaves room
    /// for the next piece; at least 1.
    pub longest_piece: u32,
    /// Whether nearly none of the file's streams goes on.
    pub is_random: bool,
    /// How many the file has.
    pub blocks: u32,
    /// How many of the device's channels have nothing to do.
    pub idle: u32,
    /// How many, in 1/256, the device transfers while the reader works on one.
    pub own_time: u64,
    /// How many, in 1/256, the device transfers before readers usually need it again, if known.
    pub respite: Option<u64>,
    /// The most that a piece may have, whatever memory there is.
    pub most: u32,
    /// How many requests the device serves at once.
    pub channels: u32,
    /// How many streams are active on all devices, at least 1.
    pub active: u32,
    /// The stream's demand among the others', if that is counted.
    pub supply: Supply,
}

impl Sight<'_> {
    /// Where fetching goes on: at the end of the fetched blocks, or at the miss, where fetched
    /// blocks were lost or skipped.
    pub fn from(&self) -> u32 {
        self.missed.unwrap_or(self.stream.ahead)
    }

    /// Whether memory is so short that a piece holds hardly more than one request of a stream that
    /// has gone on a few times. Blocks ahead then save a switch only if they hold the whole next
    /// request.
    pub fn is_short(&self) -> bool {
        self.stream.steps > 2 && self.longest_piece <= self.request.saturating_add(self.request / 4)
    }

    /// The piece on a miss then: the request, and as many whole requests more as come nearest to
    /// the share. There is no other piece: if one were fetched earlier, the few frames that the
    /// latest has left free would cost a switch of their own.
    pub fn short_piece(&self) -> u32 {
        let more = self.share.saturating_add(self.request / 2) / self.request.max(1);
        self.request.saturating_mul(more.saturating_add(1))
    }

    /// The stream's part of the device's channels.
    pub fn lanes(&self) -> u32 {
        self.channels / self.active
    }

    /// The size of the next piece. If this access may change it, `grown` gives it from the size of
    /// the latest.
    pub fn next_piece(&self, grown: impl Fn(u32) -> u32) -> u32 {
        if self.adapts || self.stream.piece == 0 { grown(self.stream.piece) } else { self.stream.piece }
    }

    /// The window of a stream that begins, at most `depth`.
    pub fn first_window(&self, depth: Size) -> Size {
        let shrunk = self.initial_window < INITIAL_WINDOW;
        let reason = if shrunk { Reason::Nowhere } else { Reason::FirstWindow };
        depth.at_most(self.initial_window, reason)
    }

    /// Slow start: twice the latest piece, "until it reaches the desired" size.
    pub fn slow_start(&self, depth: Size) -> Size {
        depth.at_most(self.next_piece(|piece| piece.max(INITIAL_WINDOW / 2) * 2), Reason::SlowStart)
    }

    /// Whether the access has entered the latest piece, which Linux calls the ahead window (CPEM
    /// §2.2).
    pub fn in_ahead_window(&self) -> bool {
        self.stream.remaining() < self.stream.piece
    }
}

/// The answer of a prefetcher: this many pieces, side by side, from [`Sight::from`] on. A plan
/// leaves out no block between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// The size of a piece; each piece is one fetch.
    pub piece: u32,
    /// How many pieces.
    pub pieces: u32,
    /// The trigger distance that this went by, if the policy has one.
    pub distance: u32,
    /// Why the piece and the distance have their sizes.
    pub why: Why,
}

impl Plan {
    /// Nothing beyond the reader's request.
    pub const NOTHING: Plan =
        Plan { piece: 0, pieces: 0, distance: 0, why: Why { piece: Reason::Nothing, distance: Reason::Nothing } };

    /// One piece.
    pub fn one(piece: u32) -> Plan {
        Plan { piece, pieces: u32::from(piece > 0), ..Plan::NOTHING }
    }

    /// One piece of this size for a stream that begins. The next one is due when the reader enters
    /// it.
    pub fn first(window: Size) -> Plan {
        Plan::one(window.blocks).because(window.reason, Reason::AheadWindow)
    }

    /// Adds why the piece and the distance have their sizes.
    #[must_use]
    pub fn because(self, piece: Reason, distance: Reason) -> Plan {
        Plan { why: Why { piece, distance }, ..self }
    }
}

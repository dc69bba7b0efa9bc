//! Why a cache acts as it does at one moment: by stream, by device, by partition, and for the
//! prefetch cache.
//!
//! Nothing here decides. Reasons are those that the deciding code gave ([`Reason`]), figures are
//! those that it would go by now. Sizes are in blocks and times in nanoseconds unless a name says
//! otherwise. [`Core::explain`](crate::Core::explain) answers.

use alloc::vec::Vec;

use crate::counters::Counters;
use crate::hint::{Learnt, Pattern};
use crate::reason::{Reason, Why};
use crate::share::{Change, Prospect, State};
use crate::stream::Feedback;
use crate::walk::Walk;

/// A cache, explained.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Explanation {
    /// Bytes in a block.
    pub block_bytes: u32,
    /// Frames in all.
    pub frames: u32,
    /// Free frames.
    pub free: u32,
    /// The room for blocks ahead of all streams.
    pub ahead: Ahead,
    /// How many streams there are.
    pub stream_count: u32,
    /// As many of them as were asked for: first those that readers go on with, then by their last
    /// read, the latest first.
    pub streams: Vec<Stream>,
    /// The devices, by number.
    pub devices: Vec<Device>,
    /// The partitions, by device; the whole cache if it is not divided.
    pub partitions: Vec<Partition>,
    /// How many epochs of the division are over, if there is one.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub epochs: Option<u64>,
    /// The prefetch cache, if there is one.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub prefetch_cache: Option<Cache>,
    /// The contexts that are known, by number.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub contexts: Vec<Context>,
}

/// How many blocks all streams together may have prefetched and not yet read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Ahead {
    /// Whether the policy fetches nothing ahead; the other figures then are those of a policy that
    /// would.
    pub off: bool,
    /// The room, in blocks.
    pub room: u32,
    /// Whether the room is the ceiling of a prefetch cache; else it is a part of the frames.
    pub by_ceiling: bool,
    /// Blocks of the room beyond that ceiling, since no other block needs twice as many frames.
    pub spare: u32,
    /// Blocks of the room beyond that ceiling, since this room has the fewest switches and misses.
    pub ordered: u32,
    /// How many streams, or open files, share the room.
    pub streams: u32,
    /// One stream's part of it.
    pub share: u32,
    /// The largest piece within that share.
    pub longest_piece: u32,
}

/// A stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Stream {
    /// Its file.
    pub file: u32,
    /// Its device.
    pub device: u16,
    /// The handler of the last read.
    pub handler: u32,
    /// The context of the last read.
    pub context: u32,
    /// The pattern of the context, if contexts are told apart.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub pattern: Option<Pattern>,
    /// Whether it counts among those that share memory.
    pub active: bool,
    /// The first block that was read.
    pub first: u32,
    /// The block after the furthest one that was read.
    pub next: u32,
    /// The block after the furthest one that was fetched.
    pub ahead: u32,
    /// How often it went on.
    pub steps: u32,
    /// Nanoseconds since it was read.
    pub idle: u64,
    /// How fast it was read when it was read last, bytes a second; zero if that is not measured
    /// yet.
    pub rate: u64,
    /// The size of the latest piece.
    pub piece: u32,
    /// How many blocks are unread when the next piece is due; with an ahead window, the piece.
    pub distance: u32,
    /// Why the piece and the distance have their sizes.
    pub why: Why,
    /// C_switch · R_tr at the place of its next fetch.
    pub competitive_depth: u32,
    /// The mean length of the device's streams, if the policy goes by that.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub mean_length: Option<u32>,
    /// The block at which its readers are known to stop.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub wanted_end: Option<u32>,
    /// The places that its reader is expected to read elsewhere, if they are known.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub elsewhere: Option<Elsewhere>,
    /// Prefetched blocks that were there when they were read. Blocks that were fetched
    /// [`elsewhere`](Self::elsewhere) are in no stream's counts, but in their device's.
    pub used: u32,
    /// Those still under way when they were read.
    pub late: u32,
    /// Those given up unread.
    pub wasted: u32,
    /// Those of them that were missed soon after.
    pub thrashed: u32,
}

impl Stream {
    /// Blocks fetched or under way that were not read yet.
    pub fn remaining(&self) -> u32 {
        self.ahead.saturating_sub(self.next)
    }

    /// A stream that is `active` or not, in these words.
    pub(crate) fn of(stream: &crate::stream::Stream, active: bool) -> Stream {
        let Feedback { used, late, wasted, thrashed } = stream.feedback;
        Stream {
            file: stream.file.0,
            device: stream.device.0,
            handler: stream.handler.0,
            context: stream.context.0,
            active,
            first: stream.first,
            next: stream.next,
            ahead: stream.ahead,
            steps: stream.steps,
            piece: stream.piece,
            distance: if stream.why.distance == Reason::AheadWindow { stream.piece } else { stream.distance },
            why: stream.why,
            used,
            late,
            wasted,
            thrashed,
            ..Stream::default()
        }
    }
}

/// The next places of a reader that lie not behind what it has read but elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Elsewhere {
    /// It moves through its file in steps that are mostly equal.
    Steps {
        /// Blocks from the beginning of a step to that of the next one.
        stride: i32,
        /// Blocks that it reads of each.
        run: u32,
        /// How many steps are fetched ahead.
        ahead: u32,
    },
    /// It goes the way that a reader went before.
    Sequel {
        /// How many places are fetched ahead.
        ahead: u32,
    },
}

/// A device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Device {
    /// The mean seek distance, bytes.
    pub seek_distance: u64,
    /// The cost of a switch over that distance.
    pub switch_cost: u64,
    /// Its transfer rate at its beginning, bytes a second.
    pub transfer_rate: u64,
    /// C_switch · R_tr at its beginning, in blocks.
    pub competitive_depth: u32,
    /// How many requests it serves at once.
    pub channels: u32,
    /// How long a fetch with a prefetched part takes.
    pub lead_time: u64,
    /// Fetches under way.
    pub under_way: u32,
    /// The mean length of its streams, if the policy goes by that and there were a few.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub mean_length: Option<u32>,
    /// Prefetched blocks: used, late, wasted, thrashed.
    pub feedback: [u64; 4],
}

impl Device {
    pub(crate) fn of(device: &crate::devices::Device, block_bytes: u32, mean_length: Option<u32>) -> Device {
        let Counters { used, late, wasted, thrashed, .. } = device.counters;
        let depth = device.cost.competitive_depth(device.seek_distance, 0) / u64::from(block_bytes);
        Device {
            seek_distance: device.seek_distance,
            switch_cost: device.cost.switch_cost(device.seek_distance),
            transfer_rate: device.cost.transfer_rate(0),
            competitive_depth: u32::try_from(depth).unwrap_or(u32::MAX).max(1),
            channels: device.cost.channels,
            lead_time: device.lead_time,
            under_way: device.under_way,
            mean_length,
            feedback: [used, late, wasted, thrashed],
        }
    }
}

/// How long a sample of references would have waited lately in small caches, with and without
/// partitions for program contexts, in block transfers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Duel {
    /// With them.
    pub with: u64,
    /// Without.
    pub without: u64,
    /// Without, if only few new blocks stay; `None` if that is not measured.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub few: Option<u64>,
    /// Whether they are off for now, since they did not pay.
    pub lost: bool,
    /// Whether only few new blocks stay.
    #[cfg_attr(feature = "serde", serde(default))]
    pub whole: bool,
}

/// A partition: of a device, or the whole cache.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Partition {
    /// The size that it is meant to have.
    pub size: u32,
    /// The sizes of its parts, if program contexts have some: the default policy's frames, one-shot
    /// blocks, then each loop by its number.
    pub held: u32,
    /// Where program contexts have parts of it: the default policy's frames, one-shot blocks, then
    /// each loop by its number.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub parts: Vec<u32>,
    /// Whether these parts pay, if that is measured.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub duel: Option<Duel>,
    /// The figures of a division, if the partition is one device's.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub share: Option<Share>,
}

/// The figures that the division goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Share {
    /// For how long readers waited for its device in the last epoch.
    pub wait: u64,
    /// The same relative to the mean of all devices, in thousandths.
    pub relative: u32,
    /// Its state by that wait.
    pub state: State,
    /// The saving of its next block, and that of its last one, if known.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub prospect: Option<Prospect>,
    /// How its size changed last.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub change: Option<Change>,
}

/// The prefetch cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Cache {
    /// How many pages it may have.
    pub ceiling: u32,
    /// How many it has, those under way included.
    pub unread: u32,
    /// The step by which the ceiling moves.
    pub unit: u32,
    /// The direction of the ceiling, and why.
    pub walk: Walk,
}

/// A context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Context {
    /// Its number.
    pub context: u32,
    /// Its pattern.
    pub pattern: Pattern,
    /// R̄, in 65,536ths, if any block was accessed again.
    pub recency: Option<u32>,
    /// Accesses.
    pub accesses: u64,
    /// Blocks of a round, if it is a loop.
    pub loop_blocks: u32,
    /// The number of its part of each partition, if it has one.
    pub part: Option<u8>,
}

impl From<Learnt> for Context {
    fn from(learnt: Learnt) -> Context {
        Context {
            context: learnt.id,
            pattern: learnt.pattern,
            recency: learnt.recency,
            accesses: learnt.accesses,
            loop_blocks: learnt.rhythm.size,
            part: learnt.partition,
        }
    }
}

//! The counters of a running engine, as `forebay stats` shows them.

use forebay_core::Learnt;
use forebay_core::Pattern;
use forebay_core::demand::SCALE;
use forebay_core::papers::amp::recency::ONE;
use forebay_core::share::Share;
use forebay_core::stream::Stream;
use forebay_core::{Core, Counters, Instant, Referenced, StreamId};
use forebay_source::{BLOCK, TierFigures};
use serde::{Deserialize, Serialize};

use crate::contexts::hints::Origin;
use crate::engine::Engine;

pub use forebay_core::share::State;

/// Contexts that are listed, those with the most accesses.
const CONTEXTS: usize = 40;

/// Streams that are listed, the most recently read ones: as many as a 64 KiB attribute holds.
const LISTED: usize = 150;

/// A snapshot of an engine. Counts are of blocks unless they say bytes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stats {
    /// The policy's name.
    pub policy: String,
    /// The fate of blocks that were read.
    #[serde(default)]
    pub referenced: Referenced,
    /// The budget.
    pub memory_bytes: u64,
    /// Bytes of bookkeeping in the core.
    pub bookkeeping_bytes: u64,
    /// Bytes in a block.
    pub block_bytes: u64,
    /// Frames in all.
    pub frames: u64,
    /// Frames that hold nothing.
    pub frames_free: u64,
    /// Counts over all devices.
    #[serde(flatten)]
    pub counts: Counts,
    /// Streams read within the last seconds that have gone on at least once.
    pub active_streams: u64,
    /// The prefetch cache, if the policy has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefetch_cache: Option<PrefetchCacheStats>,
    /// How often the sizes of partitions were looked at, if the policy has a partition for each
    /// device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epochs: Option<u64>,
    /// The number of program contexts that the policy knows (files or handlers, if it tells those
    /// apart). It may exceed the number listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_count: Option<u64>,
    /// The contexts with the most accesses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<ContextStats>,
    /// The number of devices. It exceeds the number listed if an attribute cannot hold them all.
    #[serde(default)]
    pub device_count: u64,
    /// The devices.
    pub devices: Vec<DeviceStats>,
    /// The disk tiers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierFigures>,
    /// The streams, the most recently read first.
    pub streams: Vec<StreamStats>,
}

/// Counts of blocks by their fate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Counts {
    /// References to resident blocks.
    pub hits: u64,
    /// References to absent blocks.
    pub misses: u64,
    /// References to blocks that another reader's demand was bringing.
    pub joined: u64,
    /// Prefetched blocks that were first referenced after their arrival.
    pub used: u64,
    /// Prefetched blocks that were first referenced before their arrival.
    pub late: u64,
    /// Prefetched blocks given up unreferenced.
    pub wasted: u64,
    /// Wasted blocks wanted after all.
    pub thrashed: u64,
    /// Prefetched blocks that the device was spared, since their file was closed.
    pub called_off: u64,
    /// Prefetched blocks that a told list names.
    #[serde(default)]
    pub hinted: u64,
    /// Of these: used or late.
    #[serde(default)]
    pub hints_used: u64,
    /// Of these: wasted.
    #[serde(default)]
    pub hints_wasted: u64,
    /// Bytes that arrived.
    pub fetched_bytes: u64,
    /// Bytes asked for before a reader did.
    pub prefetched_bytes: u64,
    /// Fetches asked for.
    pub fetches: u64,
    /// Fetches that failed, and not because they were called off.
    pub errors: u64,
}

/// The prefetch cache (CPEM §4), in blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PrefetchCacheStats {
    /// Prefetched blocks that no reader has read, those under way included.
    pub unread: u64,
    /// Unread blocks that are under way.
    pub under_way: u64,
    /// The ceiling of these blocks.
    pub ceiling: u64,
    /// The adjustment unit: the step by which the ceiling moves.
    pub unit: u64,
    /// Blocks given up before they were read and then wanted after all.
    pub thrashed: u64,
}

/// One device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DeviceStats {
    /// Its name.
    pub name: String,
    /// Counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// Time of a switch at the present mean seek distance, microseconds.
    pub switch_cost_us: f64,
    /// The transfer rate at its beginning, in MB (10^6 bytes) a second.
    pub transfer_mb_s: f64,
    /// The competitive depth at the present mean seek distance.
    pub depth_bytes: u64,
    /// Requests it serves at once.
    pub channels: u32,
    /// Fetches under way.
    pub in_flight: u32,
    /// How long a fetch takes that looks ahead, as measured, microseconds; zero before the first
    /// (SCM §3.2: the lead time).
    #[serde(default)]
    pub lead_time_us: f64,
    /// Its partition, if the policy has one for each device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<PartitionStats>,
}

/// A device's partition of the cache (SAC §3.1).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PartitionStats {
    /// The size that it is meant to have, in bytes.
    pub size_bytes: u64,
    /// Its actual size: bytes of frames that hold the device's blocks, read or not, or are being
    /// filled with them.
    pub held_bytes: u64,
    /// For how long readers waited for its device in the last epoch, in milliseconds, summed over
    /// fetches.
    pub wait_ms: f64,
    /// The same relative to the mean of all devices.
    pub relative_wait: f64,
    /// The state that follows from that.
    pub state: State,
}

/// The policy's knowledge of a context (AMP §3.1).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ContextStats {
    /// Its number: of a program context, a file or a handler.
    pub context: u32,
    /// Its pattern.
    pub pattern: Pattern,
    /// The mean reference recency R̄ of the period under way, 0 to 1, if any block was accessed
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recency: Option<f64>,
    /// Accesses to blocks.
    pub accesses: u64,
    /// Different blocks, estimated.
    pub blocks: u64,
    /// For a loop: blocks of a round.
    pub loop_blocks: u32,
    /// For a loop: accesses to the cache from one round to the next, the mean.
    pub loop_accesses: u64,
    /// Their standard deviation.
    pub loop_deviation: u64,
    /// The number of its partition, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<u8>,
    /// Its identity from one mount to the next, in hexadecimal; empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The program, file or handler that it stands for.
    #[serde(flatten)]
    pub origin: Origin,
}

/// One stream.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StreamStats {
    /// The number of its file.
    pub file: u32,
    /// The path of its file, as far as the mount knows it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The number of its device.
    pub device: u16,
    /// The handler that read last.
    pub handler: u32,
    /// Where it is, in bytes.
    pub position: u64,
    /// The size of its latest piece, in blocks.
    pub depth_blocks: u32,
    /// Blocks fetched or under way and not read.
    pub ahead_blocks: u32,
    /// Bytes a second.
    pub rate_bytes: u64,
    /// The deviation of that rate from slot to slot, if the policy measures it (SCM §4.1.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation_bytes: Option<u64>,
    /// The trigger distance at which its latest piece was fetched, in blocks, if the policy has one
    /// (SCM §2.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance_blocks: Option<u32>,
    /// Prefetched blocks used, late, wasted and thrashed.
    pub feedback: [u32; 4],
    /// Milliseconds since it was read.
    pub idle_ms: u64,
}

impl Stats {
    /// As JSON, on one line.
    pub fn to_json(&self) -> String {
        // Numbers, strings and lists alone: all have a form in JSON. (A NaN becomes null.)
        serde_json::to_string(self).unwrap_or_default()
    }

    /// As JSON in at most this many bytes. Surplus streams are left out, the idlest first, then
    /// contexts, those with the fewest accesses first, then devices, the last first.
    pub fn to_json_within(mut self, bytes: usize) -> String {
        loop {
            let json = self.to_json();
            if json.len() <= bytes {
                return json;
            }
            if !self.streams.is_empty() {
                self.streams.truncate(self.streams.len() * 3 / 4);
            } else if !self.contexts.is_empty() {
                self.contexts.truncate(self.contexts.len() * 3 / 4);
            } else if !self.devices.is_empty() {
                self.devices.truncate(self.devices.len() * 3 / 4);
            } else {
                return json;
            }
        }
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.joined += other.joined;
        self.used += other.used;
        self.late += other.late;
        self.wasted += other.wasted;
        self.thrashed += other.thrashed;
        self.called_off += other.called_off;
        self.hinted += other.hinted;
        self.hints_used += other.hints_used;
        self.hints_wasted += other.hints_wasted;
        self.fetched_bytes += other.fetched_bytes;
        self.prefetched_bytes += other.prefetched_bytes;
        self.fetches += other.fetches;
        self.errors += other.errors;
    }
}

impl From<Counters> for Counts {
    fn from(counters: Counters) -> Counts {
        let block = BLOCK as u64;
        Counts {
            hits: counters.hits,
            misses: counters.misses,
            joined: counters.joined,
            used: counters.used,
            late: counters.late,
            wasted: counters.wasted,
            thrashed: counters.thrashed,
            called_off: counters.called_off,
            hinted: counters.hinted,
            hints_used: counters.hints_used,
            hints_wasted: counters.hints_wasted,
            fetched_bytes: counters.fetched * block,
            prefetched_bytes: counters.prefetched * block,
            fetches: counters.fetches,
            errors: counters.failures,
        }
    }
}

impl Engine {
    /// A snapshot. `names` are the devices' names, in order.
    pub fn stats(&self, names: &[String]) -> Stats {
        self.with_core(|policy, memory_bytes, now, core| {
            let mut streams: Vec<_> = core.streams().iter().collect();
            streams.sort_by_key(|(_, stream)| std::cmp::Reverse(stream.last));
            let listed = streams.into_iter().take(LISTED);
            Stats {
                contexts: core.contexts().map(|callers| most_accessed(callers.learnt())).unwrap_or_default(),
                streams: listed.map(|(id, stream)| stream_stats(core, now, id, stream)).collect(),
                ..self.totals_of(core, policy, memory_bytes, names)
            }
        })
    }

    /// A snapshot without streams and contexts, which are many.
    pub(crate) fn totals(&self, names: &[String]) -> Stats {
        self.with_core(|policy, memory_bytes, _, core| self.totals_of(core, policy, memory_bytes, names))
    }

    fn totals_of(&self, core: &dyn Core, policy: String, memory_bytes: u64, names: &[String]) -> Stats {
        let (frames, frames_free) = core.frames();
        Stats {
            policy,
            referenced: self.referenced(),
            memory_bytes,
            bookkeeping_bytes: core.footprint() as u64,
            block_bytes: BLOCK as u64,
            frames: frames.into(),
            frames_free: frames_free.into(),
            counts: core.counters().into(),
            active_streams: core.streams().active().into(),
            prefetch_cache: core.prefetch_cache().map(|cache| PrefetchCacheStats {
                unread: cache.unread.into(),
                under_way: core.reclaimer().map_or(0, |reclaimer| reclaimer.under_way()).into(),
                ceiling: cache.ceiling.into(),
                unit: cache.unit.into(),
                thrashed: core.counters().thrashed,
            }),
            epochs: core.divider().map(|divider| divider.epochs()),
            context_count: core.contexts().map(|callers| callers.learnt().len() as u64),
            contexts: Vec::new(),
            device_count: core.devices().len() as u64,
            devices: devices(core, names),
            tiers: Vec::new(),
            streams: Vec::new(),
        }
    }
}

fn stream_stats(core: &dyn Core, now: Instant, id: StreamId, stream: &Stream) -> StreamStats {
    StreamStats {
        file: stream.file.0,
        path: String::new(),
        device: stream.device.0,
        handler: stream.handler.0,
        position: u64::from(stream.next) * BLOCK as u64,
        depth_blocks: stream.piece,
        ahead_blocks: stream.remaining(),
        rate_bytes: match core.streams().demands() {
            Some(demands) => bytes(demands.of(id).rate),
            None => core.streams().rate(id, now).saturating_mul(BLOCK as u64),
        },
        deviation_bytes: core.streams().demands().map(|demands| bytes(demands.of(id).deviation)),
        distance_blocks: (stream.distance > 0).then_some(stream.distance),
        feedback: {
            let seen = stream.feedback;
            [seen.used, seen.late, seen.wasted, seen.thrashed]
        },
        idle_ms: now.since(stream.last) / 1_000_000,
    }
}

/// The contexts with the most accesses first. [`Callers`](crate::contexts::Callers), on the
/// driver's side, adds what each stands for.
fn most_accessed(mut learnt: Vec<Learnt>) -> Vec<ContextStats> {
    learnt.sort_by_key(|context| (std::cmp::Reverse(context.accesses), context.id));
    let shown = learnt.into_iter().take(CONTEXTS).map(|context| ContextStats {
        context: context.id,
        pattern: context.pattern,
        recency: context.recency.map(|recency| f64::from(recency) / f64::from(ONE)),
        accesses: context.accesses,
        blocks: context.blocks,
        loop_blocks: context.rhythm.size,
        loop_accesses: context.rhythm.time,
        loop_deviation: context.rhythm.deviation,
        partition: context.partition,
        id: String::new(),
        origin: Origin::default(),
    });
    shown.collect()
}

/// Bytes a second, from an estimate in blocks.
fn bytes(level: u64) -> u64 {
    level.saturating_mul(BLOCK as u64) / SCALE
}

fn devices(core: &dyn Core, names: &[String]) -> Vec<DeviceStats> {
    let named = |number: usize| names.get(number).cloned().unwrap_or_else(|| number.to_string());
    let shares = core.divider().map_or(&[][..], |divider| divider.shares());
    let devices = core.devices().iter().enumerate();
    devices
        .map(|(number, device)| DeviceStats {
            name: named(number),
            counts: device.counters.into(),
            switch_cost_us: device.cost.switch_cost(device.seek_distance) as f64 / 1e3,
            transfer_mb_s: device.cost.transfer_rate(0) as f64 / 1e6,
            depth_bytes: device.cost.competitive_depth(device.seek_distance, 0),
            channels: device.cost.channels,
            in_flight: device.under_way,
            lead_time_us: device.lead_time as f64 / 1e3,
            partition: shares.get(number).map(|share| PartitionStats::of(share, device.frames)),
        })
        .collect()
}

impl PartitionStats {
    fn of(share: &Share, held: u32) -> PartitionStats {
        PartitionStats {
            size_bytes: u64::from(share.size) * BLOCK as u64,
            held_bytes: u64::from(held) * BLOCK as u64,
            wait_ms: share.wait as f64 / 1e6,
            relative_wait: f64::from(share.relative) / 1e3,
            state: share.state,
        }
    }
}

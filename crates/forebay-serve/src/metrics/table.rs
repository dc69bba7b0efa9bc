//! Every metric, defined once: its name, kind, labels, meaning, and where its values are from.
//! Output and `docs/metrics.md` are made of this table.

use forebay_live::figures::{Figures, Histogram, Reason};

use super::devices::{Device, One};
use super::process::Own;
use forebay_source::TierFigures;

/// The kind of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// One metric.
pub(super) struct Row {
    /// Its name. That of a counter ends in `_total`.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) labels: &'static [&'static str],
    pub(super) help: &'static str,
    pub(super) values: fn(&Seen) -> Vec<Value>,
}

/// All that values are from.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) figures: Figures,
    pub(super) devices: Vec<Device>,
    pub(super) own: Option<Own>,
}

/// A value, with that of each label.
pub(super) struct Value {
    pub(super) labels: Vec<String>,
    pub(super) figure: Figure,
}

/// A number, or many.
#[derive(Clone, Copy, Debug)]
pub(super) enum Figure {
    Whole(u64),
    Real(f64),
    Histogram(Histogram),
}

impl From<u64> for Figure {
    fn from(number: u64) -> Figure {
        Figure::Whole(number)
    }
}

impl From<f64> for Figure {
    fn from(number: f64) -> Figure {
        Figure::Real(number)
    }
}

/// The one value of a metric without labels.
fn one(figure: impl Into<Figure>) -> Vec<Value> {
    vec![Value { labels: Vec::new(), figure: figure.into() }]
}

impl Seen {
    /// A value for each device.
    fn by_device<T: Into<Figure>>(&self, of: impl Fn(&Device) -> T) -> Vec<Value> {
        self.of_devices(|device| Some(of(device)))
    }

    /// A value for each device that has it.
    fn of_devices<T: Into<Figure>>(&self, of: impl Fn(&Device) -> Option<T>) -> Vec<Value> {
        let values = self
            .devices
            .iter()
            .filter_map(|device| Some(Value { labels: vec![device.label.clone()], figure: of(device)?.into() }));
        values.collect()
    }

    /// A value for each device and each of some words.
    fn by_word<const N: usize>(&self, of: impl Fn(&Device) -> [(&'static str, u64); N]) -> Vec<Value> {
        let of_device = |device: &Device| {
            let value = |(word, count): (&str, u64)| Value {
                labels: vec![device.label.clone(), word.into()],
                figure: Figure::Whole(count),
            };
            of(device).map(value)
        };
        self.devices.iter().flat_map(of_device).collect()
    }

    /// A value for each device and reason.
    fn by_reason(&self, of: impl Fn(&forebay_live::figures::Requests) -> u64) -> Vec<Value> {
        self.by_word(|device| Reason::ALL.map(|reason| (reason.name(), of(&device.requests[reason as usize]))))
    }

    /// A value for each disk tier, by the number of its folder: paths are no labels.
    fn by_tier(&self, of: impl Fn(&TierFigures) -> u64) -> Vec<Value> {
        let value = |(number, tier): (usize, &TierFigures)| Value {
            labels: vec![number.to_string()],
            figure: Figure::Whole(of(tier)),
        };
        self.figures.tiers.iter().enumerate().map(value).collect()
    }

    /// A value for each disk tier and each of some words.
    fn by_tier_and_word<const N: usize>(&self, of: impl Fn(&TierFigures) -> [(&'static str, u64); N]) -> Vec<Value> {
        let of_tier = |(number, tier): (usize, &TierFigures)| {
            of(tier).map(|(word, count)| Value {
                labels: vec![number.to_string(), word.into()],
                figure: Figure::Whole(count),
            })
        };
        self.figures.tiers.iter().enumerate().flat_map(of_tier).collect()
    }

    /// A value of this process.
    fn own<T: Into<Figure>>(&self, of: impl Fn(&Own) -> Option<T>) -> Vec<Value> {
        self.own.as_ref().and_then(of).map(one).unwrap_or_default()
    }
}

const DEVICE: &[&str] = &["device"];
const TIER: &[&str] = &["tier"];

/// All metrics, in the order of output.
pub(super) const TABLE: &[Row] = &[
    Row {
        name: "forebay_build_info",
        kind: Kind::Gauge,
        labels: &["version", "policy"],
        help: "The version that runs and the policy that it follows; the value is 1",
        values: |seen| {
            let labels = vec![env!("CARGO_PKG_VERSION").to_owned(), seen.figures.stats.policy.clone()];
            vec![Value { labels, figure: Figure::Whole(1) }]
        },
    },
    Row {
        name: "forebay_cache_hits_total",
        kind: Kind::Counter,
        labels: DEVICE,
        help: "Blocks that were in memory when they were read",
        values: |seen| seen.by_device(|device| device.counts.hits),
    },
    Row {
        name: "forebay_cache_misses_total",
        kind: Kind::Counter,
        labels: DEVICE,
        help: "Blocks that were neither in memory nor under way when they were read",
        values: |seen| seen.by_device(|device| device.counts.misses),
    },
    Row {
        name: "forebay_cache_joined_total",
        kind: Kind::Counter,
        labels: DEVICE,
        help: "Blocks that another reader was waiting for when they were read",
        values: |seen| seen.by_device(|device| device.counts.joined),
    },
    Row {
        name: "forebay_read_bytes_total",
        kind: Kind::Counter,
        labels: &[],
        help: "Bytes of the blocks that were read; a read of a part of a block counts the whole block",
        values: |seen| {
            let counts = &seen.figures.stats.counts;
            let blocks = counts.hits + counts.misses + counts.joined + counts.late;
            one(blocks * seen.figures.stats.block_bytes)
        },
    },
    Row {
        name: "forebay_prefetched_blocks_total",
        kind: Kind::Counter,
        labels: &["device", "outcome"],
        help: "Blocks fetched before they were read, by what became of them: used (there in time), late (still under \
               way), wasted (given up unread), called_off (spared, since the file was closed)",
        values: |seen| {
            seen.by_word(|Device { counts, .. }| {
                [
                    ("used", counts.used),
                    ("late", counts.late),
                    ("wasted", counts.wasted),
                    ("called_off", counts.called_off),
                ]
            })
        },
    },
    Row {
        name: "forebay_thrashed_blocks_total",
        kind: Kind::Counter,
        labels: DEVICE,
        help: "Wasted blocks that were read after all, soon after they were given up",
        values: |seen| seen.by_device(|device| device.counts.thrashed),
    },
    Row {
        name: "forebay_hinted_blocks_total",
        kind: Kind::Counter,
        labels: &["device", "outcome"],
        help: "Those of the prefetched blocks that a told list names, by what became of them: read (used or late), \
               wasted",
        values: |seen| {
            seen.by_word(|Device { counts, .. }| [("read", counts.hints_used), ("wasted", counts.hints_wasted)])
        },
    },
    Row {
        name: "forebay_read_duration_seconds",
        kind: Kind::Histogram,
        labels: &[],
        help: "How long reads took that had to wait for a source; reads that memory answered at once are not timed",
        values: |seen| one(Figure::Histogram(seen.figures.reads)),
    },
    Row {
        name: "forebay_source_request_duration_seconds",
        kind: Kind::Histogram,
        labels: DEVICE,
        help: "How long requests to a source took, each attempt counted, without those that were called off",
        values: |seen| {
            seen.by_device(|device| {
                let mut sum = Histogram::default();
                device.requests.iter().for_each(|requests| sum += &requests.durations);
                Figure::Histogram(sum)
            })
        },
    },
    Row {
        name: "forebay_source_requests_total",
        kind: Kind::Counter,
        labels: &["device", "reason"],
        help: "Requests to a source that are over, by reason: demand (a reader waits), prefetch (no reader waits \
               yet), hint (the same, and a told list names it)",
        values: |seen| seen.by_reason(|requests| requests.durations.count()),
    },
    Row {
        name: "forebay_source_read_bytes_total",
        kind: Kind::Counter,
        labels: &["device", "reason"],
        help: "Bytes that came from a source, by the reason of the request",
        values: |seen| seen.by_reason(|requests| requests.bytes),
    },
    Row {
        name: "forebay_source_errors_total",
        kind: Kind::Counter,
        labels: &["device", "reason"],
        help: "Requests to a source that failed, by reason",
        values: |seen| seen.by_reason(|requests| requests.errors),
    },
    Row {
        name: "forebay_source_requests_in_flight",
        kind: Kind::Gauge,
        labels: DEVICE,
        help: "Fetches of blocks that are under way",
        values: |seen| seen.by_device(|device| device.in_flight),
    },
    Row {
        name: "forebay_depth_bytes",
        kind: Kind::Gauge,
        labels: DEVICE,
        help: "The competitive depth: as many bytes as a device transfers in the time of a switch",
        values: |seen| seen.of_devices(|device| device.one.map(|One { depth_bytes, .. }| depth_bytes)),
    },
    Row {
        name: "forebay_lead_time_seconds",
        kind: Kind::Gauge,
        labels: DEVICE,
        help: "How long a fetch that looks ahead takes, as measured; zero before the first",
        values: |seen| seen.of_devices(|device| device.one.map(|One { lead_time_us, .. }| lead_time_us / 1e6)),
    },
    Row {
        name: "forebay_memory_bytes",
        kind: Kind::Gauge,
        labels: &[],
        help: "The memory that the cache may use, of --memory",
        values: |seen| one(seen.figures.stats.memory_bytes),
    },
    Row {
        name: "forebay_memory_used_bytes",
        kind: Kind::Gauge,
        labels: &[],
        help: "The memory that blocks and their bookkeeping use",
        values: |seen| {
            let stats = &seen.figures.stats;
            one((stats.frames - stats.frames_free.min(stats.frames)) * stats.block_bytes + stats.bookkeeping_bytes)
        },
    },
    Row {
        name: "forebay_partition_bytes",
        kind: Kind::Gauge,
        labels: DEVICE,
        help: "The size that the partition of a device is meant to have, if the policy divides memory",
        values: |seen| seen.of_devices(|device| device.partition.map(|partition| partition.size_bytes)),
    },
    Row {
        name: "forebay_partition_held_bytes",
        kind: Kind::Gauge,
        labels: DEVICE,
        help: "The memory that blocks of a device have, if the policy divides memory",
        values: |seen| seen.of_devices(|device| device.partition.map(|partition| partition.held_bytes)),
    },
    Row {
        name: "forebay_tier_hit_bytes_total",
        kind: Kind::Counter,
        labels: TIER,
        help: "Bytes that fetches got from a disk tier, by the number of its --disk folder from 0 on",
        values: |seen| seen.by_tier(|tier| tier.hit_bytes),
    },
    Row {
        name: "forebay_tier_miss_bytes_total",
        kind: Kind::Counter,
        labels: TIER,
        help: "Bytes that a disk tier did not have and the source was asked for",
        values: |seen| seen.by_tier(|tier| tier.miss_bytes),
    },
    Row {
        name: "forebay_tier_written_bytes_total",
        kind: Kind::Counter,
        labels: TIER,
        help: "Bytes written to a disk tier",
        values: |seen| seen.by_tier(|tier| tier.written_bytes),
    },
    Row {
        name: "forebay_tier_dropped_bytes_total",
        kind: Kind::Counter,
        labels: &["tier", "reason"],
        help: "Bytes worth a write that a disk tier did not write: rate (--disk-writes), or room (too much waits)",
        values: |seen| seen.by_tier_and_word(|tier| [("rate", tier.over_budget_bytes), ("room", tier.no_room_bytes)]),
    },
    Row {
        name: "forebay_tier_damaged_total",
        kind: Kind::Counter,
        labels: TIER,
        help: "Pieces of a disk tier whose bytes were not those that were written; readers got the source's",
        values: |seen| seen.by_tier(|tier| tier.damaged),
    },
    Row {
        name: "forebay_tier_errors_total",
        kind: Kind::Counter,
        labels: &["tier", "operation"],
        help: "Reads and writes of a disk tier that failed",
        values: |seen| seen.by_tier_and_word(|tier| [("read", tier.read_errors), ("write", tier.write_errors)]),
    },
    Row {
        name: "forebay_tier_bytes",
        kind: Kind::Gauge,
        labels: TIER,
        help: "Bytes that the files of a disk tier take",
        values: |seen| seen.by_tier(|tier| tier.disk_bytes),
    },
    Row {
        name: "forebay_tier_size_bytes",
        kind: Kind::Gauge,
        labels: TIER,
        help: "Bytes that they may take, of --disk-size",
        values: |seen| seen.by_tier(|tier| tier.size_bytes),
    },
    Row {
        name: "forebay_tier_works",
        kind: Kind::Gauge,
        labels: &["tier", "operation"],
        help: "1 while a disk tier reads or writes, 0 after its disk has failed",
        values: |seen| {
            seen.by_tier_and_word(|tier| {
                [("read", u64::from(tier.no_reads.is_none())), ("write", u64::from(tier.no_writes.is_none()))]
            })
        },
    },
    Row {
        name: "forebay_streams",
        kind: Kind::Gauge,
        labels: &[],
        help: "Streams that readers go on with",
        values: |seen| one(seen.figures.stats.active_streams),
    },
    Row {
        name: "forebay_open_files",
        kind: Kind::Gauge,
        labels: &[],
        help: "Files that readers have open",
        values: |seen| one(seen.figures.open_files),
    },
    Row {
        name: "process_cpu_seconds_total",
        kind: Kind::Counter,
        labels: &[],
        help: "Processor time of the process, in seconds",
        values: |seen| seen.own(|own| Some(own.cpu_seconds)),
    },
    Row {
        name: "process_resident_memory_bytes",
        kind: Kind::Gauge,
        labels: &[],
        help: "Memory of the process that is resident",
        values: |seen| seen.own(|own| Some(own.resident_bytes)),
    },
    Row {
        name: "process_virtual_memory_bytes",
        kind: Kind::Gauge,
        labels: &[],
        help: "Address space of the process",
        values: |seen| seen.own(|own| Some(own.virtual_bytes)),
    },
    Row {
        name: "process_open_fds",
        kind: Kind::Gauge,
        labels: &[],
        help: "Descriptors that the process has open",
        values: |seen| seen.own(|own| Some(own.open_fds)),
    },
    Row {
        name: "process_max_fds",
        kind: Kind::Gauge,
        labels: &[],
        help: "Descriptors that the process may have open",
        values: |seen| seen.own(|own| own.max_fds),
    },
    Row {
        name: "process_threads",
        kind: Kind::Gauge,
        labels: &[],
        help: "Threads of the process",
        values: |seen| seen.own(|own| Some(own.threads)),
    },
    Row {
        name: "process_start_time_seconds",
        kind: Kind::Gauge,
        labels: &[],
        help: "When the process started, in seconds since 1970",
        values: |seen| seen.own(|own| Some(own.start_seconds)),
    },
];

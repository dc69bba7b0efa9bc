//! `forebay sim`

use forebay_core::level::Labels;
use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};
use forebay_core::Policy;
use forebay_device::scheduler::SchedulerKind;
use forebay_device::{Slowdown, network};
use forebay_sim::untimed::{Algorithm, Capacity};

use super::trace::Reading;
use super::{Report, labels};
use crate::period::Period;
use crate::size::Size;
use crate::traces::MemoryTrace;

/// The heading of the options that need a device.
const TIME: &str = "Options with time";

/// The options of simulations with time, which replays without time refuse. `requires` alone does
/// not: clap waives it if what is required is in conflict. Of a group it would name all.
const TIMED: [&str; 29] = [
    "device",
    "stripe",
    "stripe_files",
    "unit_bytes",
    "streams",
    "no_call_off",
    "told",
    "disk",
    "disk_device",
    "scheduler",
    "host_scheduler",
    "host_depth",
    "slowdown",
    "placement",
    "handlers",
    "think",
    "cpu",
    "cpu_per_mib",
    "processors",
    "pool",
    "private_memory",
    "open",
    "speed",
    "level",
    "labels",
    "link",
    "writes",
    "warm_up",
    "limit",
];

/// `forebay sim`
#[derive(Debug, Args)]
pub(crate) struct Sim {
    /// The trace: a file, compressed or not, or a synthetic one
    ///
    /// A file is in any format that `forebay trace info` knows; `-` is standard input. A synthetic
    /// trace has the name and the parameters of `forebay trace generate`. Example:
    /// `zipf:objects=1000,requests=100000`
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// The trace itself, if it is in memory; `trace` is only its name then.
    #[arg(skip)]
    pub(crate) given: Option<MemoryTrace>,

    /// The policies, or all
    ///
    /// Without time these are replacement algorithms, lru by default. With time they are any
    /// policies, auto by default. `forebay policies` explains them. Example: `--policy lru,arc` or
    /// `--policy linux+arc`
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) policy: Vec<String>,

    /// The sizes of the cache; by default 10%
    ///
    /// A size is a share of the distinct blocks up to 100%, which holds all, or bytes with their
    /// unit. A number alone counts blocks, not bytes: `4097` is what `4097b` is. Example: `--memory
    /// 5%,512MiB,3537b`
    #[arg(long, short, value_name = "SIZES", value_delimiter = ',')]
    pub(crate) memory: Vec<Capacity>,

    /// Compute whole miss-ratio curves of these policies
    ///
    /// The curve of lru takes one pass, others take one for each size. Example: `--curve opt,lru`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "policy")]
    #[arg(conflicts_with_all = TIMED)]
    pub(crate) curve: Vec<Algorithm>,

    /// Estimate the curve from this share of the blocks, as in 1%
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "curve")]
    pub(crate) sample: Option<f64>,

    /// Estimate the curve from this many blocks at a time
    #[arg(long, value_name = "BLOCKS", value_parser = value_parser!(u32).range(1..))]
    #[arg(requires = "curve", conflicts_with = "sample")]
    pub(crate) sample_size: Option<u32>,

    /// How many sizes a curve has, unless --memory gives them
    #[arg(long, value_name = "COUNT", default_value = "50", value_parser = value_parser!(u32).range(2..=100_000))]
    #[arg(requires = "curve")]
    pub(crate) points: u32,

    /// Leave out the optimum
    ///
    /// Without this option it is listed first, except with curves, where it is one of the policies.
    #[arg(long, conflicts_with = "curve")]
    #[arg(conflicts_with_all = TIMED)]
    pub(crate) no_opt: bool,

    /// The block that ranges are split into
    ///
    /// The default is the trace's own block, and 4KiB with time. Example: `--block-bytes 64KiB`
    #[arg(long, value_name = "SIZE")]
    pub(crate) block_bytes: Option<Size>,

    /// Leave out writes
    #[arg(long)]
    pub(crate) reads_only: bool,

    /// Count bytes: each object of the trace takes the room that it has
    ///
    /// Policies are lru, fifo, clock, sieve, s3-fifo, arc, 2q, landlord and gdsf; sizes are bytes,
    /// or a share of the bytes of all objects. Misses are counted of requests and of bytes.
    /// Example: `--sizes --memory 1GiB`
    #[arg(long, conflicts_with_all = ["curve", "sample", "sample_size", "points", "no_opt", "block_bytes"])]
    #[arg(conflicts_with_all = TIMED)]
    pub(crate) sizes: bool,

    /// Take in only objects of fewer bytes than this
    #[arg(long, value_name = "SIZE", requires = "sizes")]
    pub(crate) admit_below: Option<Size>,

    /// How to read it
    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How many runs go on side by side; by default one for each processor
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// The seed of everything random: synthetic traces, places of files, devices
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) seed: u64,

    /// Time
    #[command(flatten)]
    pub(crate) time: Time,

    /// How to show the results
    #[command(flatten)]
    pub(crate) report: Report,
}

impl Sim {
    /// The policies that the user names.
    ///
    /// A comma separates policies, and also the options of one policy. No name of a policy has a
    /// `=`, so a part with a `=` and no `:` before it is an option of the policy before it.
    pub(crate) fn policies(&self) -> Vec<String> {
        let mut policies: Vec<String> = Vec::new();
        for piece in &self.policy {
            let is_option = piece.split_once('=').is_some_and(|(name, _)| !name.contains(':'));
            match policies.last_mut() {
                Some(policy) if is_option && policy.contains(':') => *policy = format!("{policy},{piece}"),
                _ => policies.push(piece.clone()),
            }
        }
        if policies.is_empty() {
            policies.push(if self.time.device.is_empty() { "lru" } else { "auto" }.to_owned());
        }
        policies
    }
}

/// Options with time.
#[derive(Debug, Args)]
#[command(next_help_heading = TIME)]
pub(crate) struct Time {
    /// Simulate time, on this device or these devices
    ///
    /// A device is a name of `forebay device list`, or a description that ends in .toml. Example:
    /// `--device ibm-10k`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) device: Vec<String>,

    /// Make the devices one array with stripes of this size (RAID-0)
    ///
    /// The array is one device to the cache. Without this option files go to one device after the
    /// other. Example: `--stripe 64KiB`
    #[arg(long, value_name = "SIZE", requires = "device")]
    pub(crate) stripe: Option<Size>,

    /// Stripe every file over the devices, in units of this size (RAID-0)
    ///
    /// Each device stays one of its own to the cache, which can have a partition for it. Example:
    /// `--stripe-files 64KiB`
    #[arg(long, value_name = "SIZE", requires = "device", conflicts_with = "stripe")]
    pub(crate) stripe_files: Option<Size>,

    /// Bytes of a request that the cache gets at a time
    ///
    /// A kernel copies a read page by page. Example: `--unit-bytes 4KiB`
    #[arg(long, value_name = "SIZE", requires = "device")]
    pub(crate) unit_bytes: Option<Size>,

    /// How many streams each cache remembers; by default as many as in a mount
    #[arg(long, value_name = "COUNT", requires = "device", value_parser = value_parser!(u32).range(1..))]
    pub(crate) streams: Option<u32>,

    /// Let devices serve requests that no reader needs any more, as a kernel does
    ///
    /// Without this option such requests are called off.
    #[arg(long, requires = "device")]
    pub(crate) no_call_off: bool,

    /// Handlers tell the cache beforehand what they will read
    ///
    /// Each task is a told list; with --pool all tasks are one. So the gain of a told list on a
    /// trace is known before a reader is changed. Example: `--told`
    #[arg(long, requires = "device", conflicts_with = "open")]
    pub(crate) told: bool,

    /// Put a disk tier of this size before the devices
    ///
    /// It keeps blocks that were fetched twice, and any in its first sixteenth, as `forebay mount
    /// --disk` does. A size is as with --memory. Example: `--disk 200GiB`
    #[arg(long, value_name = "SIZE", requires = "device")]
    pub(crate) disk: Option<Capacity>,

    /// The device that the disk tier lies on
    #[arg(long, value_name = "NAME", requires = "disk", default_value = "ssd")]
    pub(crate) disk_device: String,

    /// The scheduler of a device; may be given several times
    ///
    /// It orders the requests that wait: none, elevator, anticipatory, deadline or cfq. Example:
    /// `--scheduler deadline`
    #[arg(long, value_name = "NAME", requires = "device")]
    pub(crate) scheduler: Vec<SchedulerKind>,

    /// Put a scheduler before an array (`--stripe`) as a whole, too
    ///
    /// A kernel has one before a controller. Example: `--host-scheduler cfq`
    #[arg(long, value_name = "NAME", requires = "stripe")]
    pub(crate) host_scheduler: Option<SchedulerKind>,

    /// Requests that the array's controller accepts at a time
    ///
    /// The controller is behind the scheduler of --host-scheduler. Example: `--host-depth 32`
    #[arg(long, value_name = "NUMBER", requires = "host_scheduler", default_value_t = 128, value_parser = value_parser!(u32).range(1..))]
    pub(crate) host_depth: u32,

    /// Slow devices down from a moment on; may be given several times
    ///
    /// Example: `500s:2`, `500s-900s:2`, or `1@500s:2` for only the first device
    #[arg(long, value_name = "SLOWDOWN", requires = "device", value_parser = slow)]
    pub(crate) slowdown: Vec<Slow>,

    /// The places of files on their devices
    ///
    /// packed: one after the other, by their numbers. even: the same with equal gaps, over the
    /// whole device. first-access: one after the other, in the order of their first access.
    /// scattered: anywhere, by the seed. Example: `--placement even`
    #[arg(long, value_name = "HOW", value_enum, default_value = "packed", requires = "device")]
    pub(crate) placement: Spread,

    /// How many handlers run the trace's tasks at once; by default 1
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', requires = "device", conflicts_with = "open")]
    #[arg(value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub(crate) handlers: Vec<u32>,

    /// How long a handler thinks after each request; by default as in the trace
    #[arg(long, value_name = "TIME", requires = "device", conflicts_with = "open")]
    pub(crate) think: Option<Period>,

    /// How long a handler computes after each request
    #[arg(long, value_name = "TIME", requires = "device", conflicts_with = "open")]
    pub(crate) cpu: Option<Period>,

    /// How long a handler computes for each MiB of the answer
    #[arg(long, value_name = "TIME", requires = "device", conflicts_with = "open")]
    pub(crate) cpu_per_mib: Option<Period>,

    /// How many processors handlers compute on; by default 1
    #[arg(long, value_name = "COUNT", requires = "device", conflicts_with = "open")]
    #[arg(value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub(crate) processors: Option<u32>,

    /// Give a handler's next task the same handler number
    ///
    /// The handler is then like a process of a pool. Without this option each task is a handler of
    /// its own.
    #[arg(long, requires = "device", conflicts_with = "open")]
    pub(crate) pool: bool,

    /// Memory that each handler takes from the cache
    #[arg(long, value_name = "SIZE", requires = "device", conflicts_with = "open")]
    pub(crate) private_memory: Option<Size>,

    /// Issue requests at the trace's times, whether earlier ones are answered or not
    #[arg(long, requires = "device")]
    pub(crate) open: bool,

    /// Issue requests this many times as fast as in the trace
    #[arg(long, value_name = "FACTOR", requires = "open", value_parser = factor)]
    pub(crate) speed: Option<f64>,

    /// Add a cache level below, as in lru:256MiB; may be given several times, downwards
    #[arg(long, value_name = "POLICY:SIZE", requires = "device", value_parser = below)]
    pub(crate) level: Vec<Below>,

    /// The labels that each cache below gets from the one above
    ///
    /// off: none. demand: the blocks that readers wait for. hits: these, and the blocks that
    /// readers have hit above meanwhile. Example: `--labels hits`
    #[arg(long, value_name = "WHAT", value_delimiter = ',', requires = "level", value_parser = labels())]
    pub(crate) labels: Vec<Labels>,

    /// A network (LogGP) between each cache and the level below
    ///
    /// overhead_us and gap_us are parameters, too. Example: `--link latency_us=50,gbit_s=1`
    #[arg(long, value_name = "PARAMETERS", requires = "device", value_parser = link)]
    pub(crate) link: Option<network::Description>,

    /// Skip writes, or send them to the device
    #[arg(long, value_name = "HOW", value_enum, default_value = "skip", requires = "device")]
    pub(crate) writes: Writes,

    /// The beginning, which does not count: a number of requests, or a time
    ///
    /// Example: `--warm-up 1000` or `--warm-up 30s`
    #[arg(long, value_name = "SPAN", requires = "device")]
    pub(crate) warm_up: Option<Span>,

    /// End early: after a number of requests, or a time
    #[arg(long, value_name = "SPAN", requires = "device")]
    pub(crate) limit: Option<Span>,
}

/// The places of files on their devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Spread {
    /// One after the other, by the trace's numbers of files.
    Packed,
    /// Over the whole device, by the trace's numbers of files.
    Even,
    /// One after the other, in order of first access.
    FirstAccess,
    /// Anywhere.
    Scattered,
}

/// The treatment of writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Writes {
    /// They are skipped and take no time.
    Skip,
    /// They go to the device.
    Device,
}

/// A cache below the first one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Below {
    /// Its policy.
    pub(crate) policy: Policy,
    /// Its size.
    pub(crate) memory: Capacity,
}

/// A slowdown, of one device (counted from one) or all.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Slow {
    /// The device's number; `None` for all.
    pub(crate) device: Option<usize>,
    /// The time and the factor.
    pub(crate) slowdown: Slowdown,
}

/// A stretch of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Span {
    /// This many requests.
    Requests(u64),
    /// This much time.
    Time(Period),
}

impl Span {
    /// The span in the library's terms.
    pub(crate) fn of_run(self) -> forebay_trace::Span {
        match self {
            Span::Requests(requests) => forebay_trace::Span::Requests(requests),
            Span::Time(period) => forebay_trace::Span::Seconds(period.duration().as_secs_f64()),
        }
    }
}

/// The text is no span of a run.
#[derive(Debug, thiserror::Error)]
#[error("give a number of requests, as in 1000, or a time with its unit, as in 30s")]
pub(crate) struct NoSpan;

impl std::str::FromStr for Span {
    type Err = NoSpan;

    fn from_str(text: &str) -> Result<Span, NoSpan> {
        match text.parse() {
            Ok(requests) => Ok(Span::Requests(requests)),
            Err(_) => text.parse().map(Span::Time).map_err(|_| NoSpan),
        }
    }
}

/// `1%` or `0.01`.
fn share(text: &str) -> Result<f64, &'static str> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match text.trim().strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    share.filter(|share| *share > 0.0 && *share <= 1.0).ok_or("a share is above 0% and at most 100%, as in 1%")
}

/// A positive number.
fn factor(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|factor: &f64| *factor > 0.0 && factor.is_finite()).ok_or("a positive number, as in 2.5")
}

/// `POLICY:SIZE`.
fn below(text: &str) -> Result<Below, String> {
    let (policy, memory) = text.rsplit_once(':').ok_or("a policy and a size are needed, as in lru:256MiB")?;
    let policy = policy.parse().map_err(|error: forebay_core::UnknownPolicy| error.to_string())?;
    let memory = memory.parse().map_err(|error: forebay_sim::untimed::NotACapacity| error.to_string())?;
    Ok(Below { policy, memory })
}

/// `latency_us=50,gbit_s=1`; parameters that are not given are as in SAC §4.4.
fn link(text: &str) -> Result<network::Description, String> {
    let network = toml::from_str(&text.replace(',', "\n"));
    let network: network::Description =
        network.map_err(|error: toml::de::Error| error.message().replace('\n', "; "))?;
    network::Network::new(&network).map(|_| network).map_err(str::to_owned)
}

/// `500s:2` or `1@500s:2`.
fn slow(text: &str) -> Result<Slow, String> {
    let (device, slowdown) = match text.split_once('@') {
        None => (None, text),
        Some((device, slowdown)) => {
            let number = device.parse().ok().filter(|&number: &usize| number > 0);
            (Some(number.ok_or("before `@` stands the number of a device, the first being 1")?), slowdown)
        }
    };
    let slowdown = slowdown.parse().map_err(|error: forebay_device::slowdown::Error| error.to_string())?;
    Ok(Slow { device, slowdown })
}

#[cfg(test)]
mod tests {
    #[test]
    fn options_with_time_are_all_refused_without() {
        let time = <super::Time as clap::Args>::augment_args(clap::Command::new("time"));
        let all: Vec<&str> = time.get_arguments().map(|arg| arg.get_id().as_str()).collect();
        assert_eq!(all, super::TIMED);
    }

    use super::*;

    #[test]
    fn shares_factors_spans_and_levels() {
        assert_eq!(
            [share("1%"), share("0.5 %"), share("0.01"), share("1")].map(Result::unwrap),
            [0.01, 0.005, 0.01, 1.0]
        );
        for text in ["0%", "101%", "2", "NaN", "", "-1%"] {
            assert!(share(text).is_err(), "{text}");
        }
        assert!(factor("0").is_err() && factor("inf").is_err() && factor("2.5") == Ok(2.5));
        assert_eq!("1000".parse::<Span>().unwrap(), Span::Requests(1000));
        assert!(matches!("30s".parse::<Span>().unwrap(), Span::Time(_)));
        assert!("soon".parse::<Span>().is_err());
        let level = below("competitive+arc:256MiB").unwrap();
        assert_eq!((level.policy.to_string().as_str(), level.memory), ("competitive+arc", Capacity::Bytes(256 << 20)));
        let slow_link = link("latency_us=50,gbit_s=1").unwrap();
        assert_eq!((slow_link.latency_us, slow_link.gbit_s, slow_link.overhead_us), (50.0, 1.0, 0.4));
        assert!(link("latency_us=-1").is_err() && link("colour=1").is_err());
        let slow_one = slow("2@500s-900s:2").unwrap();
        assert_eq!((slow_one.device, slow_one.slowdown.until_s, slow_one.slowdown.factor), (Some(2), Some(900.0), 2.0));
        assert!(slow("500s:2").unwrap().device.is_none());
        assert!(slow("0@500s:2").is_err() && slow("soon").is_err());
        for (text, expected) in [("lru", "lru:256MiB"), ("psychic:1%", "unknown policy"), ("lru:much", "no size")] {
            assert!(below(text).unwrap_err().contains(expected), "{text}");
        }
    }
}

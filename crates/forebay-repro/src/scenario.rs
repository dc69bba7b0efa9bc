//! A random system and what runs on it, all from one seed: devices, memory, readers, and parts of
//! work that are each of one pattern.
//!
//! Two kinds. A *server* has handlers that work off a queue of short tasks as fast as they can.
//! *Programs* run from the beginning to the end, each with a pattern and a pace of its own; how
//! many reads each does goes by its pace, so that all end at about the same time.

use std::fmt;

use forebay_core::Policy;
use forebay_device::random::Random;
use forebay_device::{Description, device};
use forebay_trace::{Memory, Request, Shape};
use serde::Deserialize;

use crate::Error;
use forebay_sim::timed::{DeviceSetup, Load, Mapping, Outcome, Placement, Setup, Spread, Workload};

/// Of the shipped devices those that hold what is read here; a disk of another age is another
/// device.
const DEVICES: [&str; 11] = [
    "ibm-10k",
    "seagate-10k",
    "sas-15k",
    "cheetah-9lp",
    "ibm-18es",
    "ibm-9lzx",
    "ibm-9lzx@2",
    "ibm-9lzx@5",
    "ibm-10k@3",
    "ssd",
    "object-store",
];

/// Reads, and blocks in them, that a scenario has at most: so that it takes some tens of
/// milliseconds.
const MOST_READS: u64 = 16_000;
const MOST_BLOCKS: u64 = 80_000;

/// A processor's work on an answer: a call, and a copy at 10 GB/s; four of them.
const CPU_NS: u64 = 10_000;
const CPU_NS_PER_KIB: u64 = 100;
const PROCESSORS: u32 = 4;

/// A system and its load.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    /// By name.
    pub(crate) devices: Vec<String>,
    /// Whether files lie over whole devices, with gaps between them.
    pub(crate) even: bool,
    pub(crate) memory_bytes: u64,
    pub(crate) block_bytes: u32,
    /// Whether it is known from which place in a program a read comes.
    pub(crate) contexts: bool,
    pub(crate) kind: Kind,
    pub(crate) parts: Vec<Part>,
    /// How many in all, about.
    pub(crate) reads: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Server { handlers: u32 },
    Programs,
}

/// Work of one pattern.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    pattern: Pattern,
    device: usize,
    /// Bytes of a read.
    read: u32,
    /// Bytes of all that is read.
    data: u64,
    /// How many programs; of a server's tasks each part has as many as another.
    #[serde(default = "one")]
    weight: u32,
    /// Between two reads, nanoseconds, in the mean.
    #[serde(default)]
    think_ns: u64,
}

fn one() -> u32 {
    1
}

#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Pattern {
    /// Files of so many bytes, each read from its beginning to its end; which of them goes by skew
    /// (0: all alike).
    Whole { file: u64, skew: f64 },
    /// Stretches of one to so many bytes, which begin anywhere in one file.
    Portions { most: u64 },
    /// From anywhere on so many reads, with a gap of so many bytes between two.
    Strided { gap: u64, reads: u64 },
    /// Anywhere; the larger the skew, the oftener the same.
    Random { skew: f64 },
    /// From the beginning to the end, and again.
    Loop,
    /// Ever further.
    Scan,
}

/// Numbers of ever new files, so that each lies on the device that it should (`Mapping::Modulo`).
#[derive(Clone, Debug)]
pub(crate) struct Names {
    devices: u64,
    next: u64,
}

impl Names {
    /// None is taken yet.
    pub(crate) fn new(devices: usize) -> Names {
        Names { devices: devices as u64, next: 0 }
    }

    /// The first of `count` numbers for a device, each `devices` after the last.
    fn take(&mut self, device: usize, count: u64) -> u64 {
        let first = self.next * self.devices + device as u64;
        self.next += count;
        first
    }
}

/// Where a reader of a part is.
#[derive(Clone, Debug)]
struct Cursor {
    /// The number of its (first) file, and how far numbers of files are apart.
    file: u64,
    apart: u64,
    at: u64,
}

impl Scenario {
    /// The scenario of a seed.
    pub(crate) fn new(seed: u64) -> Scenario {
        let mut random = Random::new(seed);
        let random = &mut random;
        let count = [1, 1, 2, 2, 3, 4][random.below(6) as usize];
        let devices = (0..count).map(|_| DEVICES[random.below(DEVICES.len() as u64) as usize].to_owned()).collect();
        let memory_bytes = (logarithmic(random, 4.0, 257.0) as u64) << 20;
        let fits = |block: &u32| (256..=16_384).contains(&(memory_bytes / u64::from(*block)));
        let blocks: Vec<u32> = [4096, 8192, 16_384, 32_768, 65_536].into_iter().filter(fits).collect();
        let block_bytes = blocks[random.below(blocks.len() as u64) as usize];
        let kind = if random.below(2) == 0 { Kind::Server { handlers: 0 } } else { Kind::Programs };
        let mut scenario = Scenario {
            seed,
            devices,
            even: random.below(2) == 0,
            memory_bytes,
            block_bytes,
            contexts: random.below(3) > 0,
            kind,
            parts: Vec::new(),
            reads: 0,
        };
        // So many readers at a time that what they ask for fits beside each other.
        let most = (memory_bytes / (256 << 10)).clamp(1, 64) as f64;
        let readers = logarithmic(random, 1.0, most + 1.0) as u32;
        let parts = (1 + random.below(4)).min(u64::from(readers).max(2));
        let pace = if random.below(2) == 0 { 0.0 } else { logarithmic(random, 1e5, 1e8) };
        for number in 0..parts {
            let weight = (readers / parts as u32).max(1);
            let part = scenario.part(random, number as usize % count, weight);
            // Up to a hundred times as fast or slow as each other.
            let think_ns = (pace * logarithmic(random, 0.1, 10.0)) as u64;
            scenario.parts.push(Part { think_ns, ..part });
        }
        if let Kind::Server { handlers } = &mut scenario.kind {
            *handlers = readers;
        }
        scenario.reads = scenario.budget();
        scenario
    }

    fn part(&self, random: &mut Random, device: usize, weight: u32) -> Part {
        let block = u64::from(self.block_bytes);
        let most_blocks = ((64 << 10) / block).max(1);
        let read = (block * (1 << random.below(u64::from(most_blocks.ilog2()) + 1))) as u32;
        let times = |random: &mut Random, from, to| (self.memory_bytes as f64 * logarithmic(random, from, to)) as u64;
        let large = times(random, 0.3, 8.0).min(1 << 30);
        let skew = [0.0, 0.0, 0.7, 0.9, 1.1][random.below(5) as usize];
        let (pattern, data) = match random.below(9) {
            0 => (Pattern::Whole { file: logarithmic(random, 6.5e4, 4.2e6) as u64, skew }, large),
            1 => (Pattern::Whole { file: logarithmic(random, 4e3, 6.5e4) as u64, skew }, large / 4),
            2 => (Pattern::Portions { most: logarithmic(random, 3.2e4, 2.1e6) as u64 }, large),
            3 => {
                let gap = block * random.below(8) + u64::from(read) * random.below(4);
                (Pattern::Strided { gap, reads: 4 + random.below(200) }, large)
            }
            4 => (Pattern::Random { skew: 0.0 }, large),
            5 => (Pattern::Random { skew: 0.7 + random.unit() * 0.5 }, large),
            6 => (Pattern::Loop, times(random, 0.1, 2.0)),
            7 => (Pattern::Scan, 1 << 30),
            _ => (Pattern::Random { skew: 0.0 }, times(random, 0.03, 0.5)),
        };
        Part { pattern, device, read, data: data.max(u64::from(read) * 4), weight, think_ns: 0 }
    }

    /// The requests.
    pub(crate) fn workload(&self) -> Result<Workload, Error> {
        let mut requests = Vec::new();
        self.ask(&mut Random::new(!self.seed), &mut Names::new(self.devices.len()), &mut requests);
        self.load(requests)
    }

    /// Appends what is asked for, in the order of tasks, whose numbers go on behind the last one's.
    pub(crate) fn ask(&self, random: &mut Random, names: &mut Names, requests: &mut Vec<Request>) {
        match self.kind {
            Kind::Server { .. } => self.serve(random, names, requests),
            Kind::Programs => self.run(random, names, requests),
        }
    }

    /// Requests as a workload.
    pub(crate) fn load(&self, requests: Vec<Request>) -> Result<Workload, Error> {
        Ok(Workload::load(&mut Memory::new(requests, Shape::Ranges { block_bytes: self.block_bytes }))?)
    }

    /// Reads in all: so that what is read is some times the memory, if that is not too many.
    fn budget(&self) -> u64 {
        let weights: u64 = self.parts.iter().map(|part| u64::from(part.weight)).sum();
        let weighted = |part: &Part| u64::from(part.weight) * u64::from(part.read);
        let mean = self.parts.iter().map(weighted).sum::<u64>() / weights;
        let blocks = mean.div_ceil(self.block_bytes.into());
        (self.memory_bytes * 5 / mean).clamp(2000, MOST_READS).min(MOST_BLOCKS / blocks)
    }

    /// A server's tasks; which part the next one is of is drawn.
    fn serve(&self, random: &mut Random, names: &mut Names, requests: &mut Vec<Request>) {
        let mut cursors: Vec<Cursor> = self.parts.iter().map(|part| part.cursor(names)).collect();
        let mut task = requests.last().map_or(0, |request| request.handler);
        let end = requests.len() + self.reads as usize;
        while requests.len() < end {
            let number = random.below(self.parts.len() as u64) as usize;
            task += 1;
            self.parts[number].task(random, &mut cursors[number], requests, |request| Request {
                handler: task,
                context: if self.contexts { number as u32 + 1 } else { 0 },
                ..request
            });
        }
    }

    /// Programs, each to its end.
    fn run(&self, random: &mut Random, names: &mut Names, requests: &mut Vec<Request>) {
        let on_device =
            |device| -> u32 { self.parts.iter().filter(|part| part.device == device).map(|part| part.weight).sum() };
        let pace = |part: &Part| {
            let (alone, lanes) = match self.devices[part.device].as_str() {
                "ssd" => (2e5, 32.0),
                "object-store" => (3e7, 64.0),
                _ => (8e6, 1.0),
            };
            1.0 / (part.think_ns as f64 + alone * (f64::from(on_device(part.device)) / lanes).max(1.0))
        };
        let paces: f64 = self.parts.iter().map(|part| f64::from(part.weight) * pace(part)).sum();
        let mut task = requests.last().map_or(0, |request| request.handler);
        for (number, part) in self.parts.iter().enumerate() {
            let reads = (self.reads as f64 * pace(part) / paces).max(8.0) as usize;
            let shared = part.cursor(names);
            for _ in 0..part.weight {
                task += 1;
                let mut cursor = if part.is_own() { part.cursor(names) } else { shared.clone() };
                let mut own = Vec::new();
                while own.len() < reads {
                    part.task(random, &mut cursor, &mut own, |request| Request {
                        handler: task,
                        context: if self.contexts { number as u32 + 1 } else { 0 },
                        ..request
                    });
                }
                own.truncate(reads);
                let mut at = 0;
                for request in &mut own {
                    request.at.0 = at;
                    at += (part.think_ns as f64 * (0.5 + random.unit())) as u64;
                }
                requests.append(&mut own);
            }
        }
        // A trace that knows of one handler only says nothing of who asks: so somebody else reads a
        // block, too.
        if let (1, Some(&first)) = (task, requests.first()) {
            requests.push(Request { handler: 2, len: self.block_bytes.min(first.len), ..first });
        }
    }

    /// It as a simulation.
    pub(crate) fn setup(&self, policy: Policy, workload: &Workload) -> Result<Setup, Error> {
        let descriptions: Vec<Description> = self.devices.iter().map(|name| device(name)).collect::<Result<_, _>>()?;
        let handlers = match self.kind {
            Kind::Server { handlers } => handlers,
            Kind::Programs => workload.tasks() as u32,
        };
        let spread = if self.even { Spread::Even } else { Spread::Packed };
        let load = Load::closed(handlers);
        let Load::Closed { think_ns, pool, private_bytes, .. } = load else { return Err(Error::Stopped) };
        Ok(Setup {
            block_bytes: self.block_bytes,
            placement: Placement { mapping: Mapping::Modulo, spread },
            load: Load::Closed {
                handlers,
                think_ns,
                cpu_ns: CPU_NS,
                cpu_ns_per_kib: CPU_NS_PER_KIB,
                processors: PROCESSORS,
                pool,
                private_bytes,
            },
            seed: self.seed,
            devices: descriptions.iter().cloned().map(DeviceSetup::new).collect(),
            ..Setup::new(policy, self.memory_bytes, descriptions[0].clone(), handlers)
        })
    }

    /// Whether readers think at times.
    fn thinks(&self) -> bool {
        self.kind == Kind::Programs && self.parts.iter().any(|part| part.think_ns > 0)
    }

    /// The figure, in seconds: the time that the work takes; where readers think, that which a read
    /// takes, the call and the copy included.
    pub(crate) fn figure(&self, outcome: &Outcome) -> f64 {
        if !self.thinks() {
            return outcome.seconds;
        }
        let kib = outcome.bytes as f64 / 1024.0 / outcome.requests.max(1) as f64;
        outcome.response_ms / 1e3 + (CPU_NS as f64 + CPU_NS_PER_KIB as f64 * kib) / 1e9
    }

    /// In words.
    pub(crate) fn unit(&self) -> &'static str {
        if self.thinks() { "a read's mean time" } else { "the time of the work" }
    }
}

impl Part {
    /// Whether each of its programs reads something of its own.
    fn is_own(&self) -> bool {
        matches!(self.pattern, Pattern::Loop | Pattern::Scan)
    }

    fn cursor(&self, names: &mut Names) -> Cursor {
        let files = match self.pattern {
            Pattern::Whole { file, .. } => (self.data / file).max(1),
            _ => 1,
        };
        Cursor { file: names.take(self.device, files), apart: names.devices, at: 0 }
    }

    /// Appends what one task reads. Programs do one after the other.
    fn task(
        &self,
        random: &mut Random,
        cursor: &mut Cursor,
        out: &mut Vec<Request>,
        as_it: impl Fn(Request) -> Request,
    ) {
        let step = u64::from(self.read);
        let places = (self.data / step).max(1);
        let file = cursor.file;
        let mut read = |file: u64, offset: u64, len: u64| {
            out.push(as_it(Request { file, offset, len: len as u32, ..Request::default() }));
        };
        let mut run = |file: u64, from: u64, bytes: u64| {
            (0..bytes.div_ceil(step)).for_each(|n| read(file, from + n * step, step.min(bytes - n * step)));
        };
        match self.pattern {
            Pattern::Whole { file: bytes, skew } => {
                let which = skewed(random, (self.data / bytes).max(1), skew);
                run(file + which * cursor.apart, 0, bytes);
            }
            Pattern::Portions { most } => {
                let bytes = (1 + random.below(most / step + 1)) * step;
                run(file, random.below(self.data.saturating_sub(bytes) / step + 1) * step, bytes.min(self.data));
            }
            Pattern::Strided { gap, reads } => {
                let most = (self.data / (step + gap)).clamp(1, reads);
                let from = random.below(self.data.saturating_sub(most * (step + gap)) / step + 1) * step;
                (0..most).for_each(|n| run(file, from + n * (step + gap), step));
            }
            Pattern::Random { skew } => {
                (0..4).for_each(|_| run(file, skewed(random, places, skew) * step, step));
            }
            // A server's task is a part of the way.
            Pattern::Loop | Pattern::Scan => {
                let bytes = (32 * step).min(self.data - cursor.at);
                run(file, cursor.at, bytes);
                cursor.at = (cursor.at + bytes) % self.data;
            }
        }
    }
}

/// From one number to another, any power of ten as likely as the next.
fn logarithmic(random: &mut Random, from: f64, to: f64) -> f64 {
    from * (to / from).powf(random.unit())
}

/// One of so many places. With a skew near Zipf's law, of which this is the continuous twin;
/// popular ones lie anywhere.
fn skewed(random: &mut Random, places: u64, skew: f64) -> u64 {
    if skew == 0.0 {
        return random.below(places);
    }
    let (most, exponent) = (places as f64 + 1.0, 1.0 - skew);
    let rank = ((most.powf(exponent) - 1.0) * random.unit() + 1.0).powf(1.0 / exponent) as u64 - 1;
    Random::new(rank).below(places)
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Server { handlers } => write!(f, "server, {handlers} handlers")?,
            Kind::Programs => f.write_str("programs")?,
        }
        write!(f, "; {} MB in blocks of {} KiB", self.memory_bytes >> 20, self.block_bytes >> 10)?;
        f.write_str(if self.contexts { ", contexts known" } else { ", no contexts" })?;
        f.write_str(if self.even { ", spread" } else { ", packed" })?;
        for part in &self.parts {
            write!(f, "; {}: ", self.devices[part.device])?;
            if self.kind == Kind::Programs {
                write!(f, "{} × ", part.weight)?;
            }
            let mib = part.data as f64 / 1048576.0;
            match part.pattern {
                Pattern::Whole { file, skew } => write!(f, "whole files of {} KiB, skew {skew}", file >> 10),
                Pattern::Portions { most } => write!(f, "portions up to {} KiB", most >> 10),
                Pattern::Strided { gap, reads } => write!(f, "{reads} reads, gaps of {} KiB", gap >> 10),
                Pattern::Random { skew } => write!(f, "random, skew {skew:.1}"),
                Pattern::Loop => write!(f, "loop"),
                Pattern::Scan => write!(f, "scan"),
            }?;
            if part.pattern != Pattern::Scan {
                write!(f, " of {mib:.1} MiB")?;
            }
            write!(f, " by {} KiB", part.read >> 10)?;
            if part.think_ns > 0 && self.kind == Kind::Programs {
                write!(f, ", think {:.1} ms", part.think_ns as f64 / 1e6)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_one_scenario() {
        for seed in 0..50 {
            let (a, b) = (Scenario::new(seed), Scenario::new(seed));
            assert_eq!((&a, a.to_string()), (&b, b.to_string()));
            let (ours, theirs) = (a.workload().unwrap(), b.workload().unwrap());
            assert_eq!((ours.requests(), ours.read_bytes()), (theirs.requests(), theirs.read_bytes()));
            assert_ne!(Scenario::new(seed + 1).to_string(), a.to_string());
        }
    }

    /// Every part reads its own device, within its data, in whole requests, as often as it may.
    #[test]
    fn parts_read_what_they_say() {
        for seed in 0..100 {
            let scenario = Scenario::new(seed);
            assert!((256..=16_384).contains(&(scenario.memory_bytes / u64::from(scenario.block_bytes))), "{scenario}");
            let mut requests = Vec::new();
            scenario.ask(&mut Random::new(seed), &mut Names::new(scenario.devices.len()), &mut requests);
            // Tasks are begun, and each program reads a little.
            assert!((8..3 * MOST_READS as usize).contains(&requests.len()), "{scenario}: {} reads", requests.len());
            let most = scenario.parts.iter().map(|part| part.data).max().unwrap();
            for request in &requests {
                let device = (request.file % scenario.devices.len() as u64) as usize;
                assert!(scenario.parts.iter().any(|part| part.device == device), "{scenario}");
                assert!(request.len > 0 && request.offset + u64::from(request.len) <= most, "{scenario}: {request:?}");
                assert!(request.context == 0 || scenario.contexts, "{scenario}");
            }
            assert!(requests.iter().any(|request| request.handler > 1), "{scenario}: it is known who asks");
        }
    }

    #[test]
    fn skew_prefers_some_places_to_others() {
        let mut random = Random::new(1);
        let mut most = |skew: f64| {
            let mut counts = vec![0u32; 1000];
            (0..100_000).for_each(|_| counts[skewed(&mut random, 1000, skew) as usize] += 1);
            counts.into_iter().max().unwrap_or(0)
        };
        let (even, some, much) = (most(0.0), most(0.7), most(1.2));
        assert!(even < 200 && some > 1000 && much > 3 * some, "{even} {some} {much}");
    }
}

//! The workloads of SCM §5, as far as the paper describes them: streams read at a rate, regular or
//! not (§5.2.1); copies and downloads whose consumers take no more than their bandwidth (§5.2.2,
//! §5.2.3); video on demand after SPC-2, and a database's random reads beside it (§5.2.4). Our
//! assumptions stand at the parameters.
//!
//! **Arrivals.** `rates` has arrival times that do not depend on answers to earlier requests
//! (`forebay sim` takes them as an open loop). In all others a request follows the answer of the
//! one before after a think time, in a closed loop; times in the trace are those of storage that
//! takes none.
//!
//! **Deviations.** The paper speaks of "the standard deviation of the first stream", "the square
//! root of the mean rate", and of multiples of "the mean value", but not of the time in which
//! requests are counted, without which a deviation is no number. Here it is a slot of 10 ms, that
//! of the paper's own Fig. 3, and so is the law: requests in a slot are distributed by gamma with
//! that mean and that deviation, independently, and come evenly within their slot. The deviation is
//! given in requests.

use super::parameters::{Kind, Parameter, Value, Values, parameter};
use super::random::Random;
use super::{BLOCK_BYTES, Tasks, Workload, WrongWorkload, sized};
use crate::{FileInfo, Request, Shape};

const REQUEST: Parameter = parameter("request", Value::Bytes(4 << 10), "bytes of a request");
const SECONDS: Parameter = parameter("seconds", Value::Count(30), "how long each reads if it never waits, in seconds");

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "vod",
        summary: "streams of video, each of a file of its own, 16 to 128 KB every 33 ms (SPC-2-VOD-like, SCM §5.2.4)",
        parameters: &[
            parameter("streams", Value::Count(60), "streams"),
            parameter("length", Value::Count(2000), "requests of a stream"),
            parameter("think", Value::Millis(33), "time between the requests of a stream, in milliseconds"),
            parameter(
                "part",
                Value::Bytes(128 << 10),
                "bytes of a request that are read at a time, as a kernel does it",
            ),
        ],
        make: |values| {
            let (streams, length, think) = (values.whole("streams"), values.whole("length"), values.whole("think"));
            let part = values.request("part")?;
            Ok(Box::new(Video { streams, length, think, part, size: 0, left: 0, tasks: Tasks::default() }))
        },
    },
    Kind {
        name: "rates",
        summary: "sequential streams, each of a file of its own, at given rates, regular or not (SCM §5.2.1)",
        parameters: &[
            parameter("requests", Value::Count(100_000), "requests of all streams"),
            parameter("streams", Value::Count(2), "streams"),
            parameter("rate", Value::Real(1000.0), "requests a second of the first stream"),
            parameter("others", Value::Real(3000.0), "the same of each other"),
            parameter("deviation", Value::Real(0.0), "deviation of the first's requests in a slot; 0: fixed gaps"),
            parameter("deviations", Value::Real(0.0), "the same of each other"),
            parameter("slot", Value::Millis(10), "a slot, in milliseconds"),
            parameter("bytes", Value::Bytes(1 << 30), "bytes of a file; who comes to its end begins anew"),
            REQUEST,
        ],
        make: rates,
    },
    Kind {
        name: "copies",
        summary: "concurrent copies of large files, one to a fast consumer and the others to slow ones (SCM §5.2.2)",
        parameters: &[
            parameter("streams", Value::Count(8), "copies: one is fast"),
            parameter("fast", Value::Bytes(60_000_000), "bytes a second that the fast consumer takes"),
            parameter("slow", Value::Bytes(4_000_000), "the same of the fastest of the slow ones"),
            parameter("slowest", Value::Bytes(250_000), "the same of the slowest, the others evenly between by ratio"),
            SECONDS,
            parameter("bytes", Value::Bytes(128 << 20), "bytes of a file; a copy reads as many as it needs"),
            REQUEST,
        ],
        make: copies,
    },
    Kind {
        name: "downloads",
        summary: "downloads of a file each at five bandwidths, of larger files the faster they are (SCM §5.2.3)",
        parameters: &[
            parameter("streams", Value::Count(20), "clients, evenly from all sites"),
            parameter("sites", Value::Count(5), "sites"),
            parameter("fast", Value::Bytes(8_000_000), "bytes a second that a client of the fastest site takes"),
            parameter("slow", Value::Bytes(500_000), "the same of the slowest, the others evenly between by ratio"),
            SECONDS,
            REQUEST,
        ],
        make: downloads,
    },
    Kind {
        name: "tpch",
        summary: "queries that read a database's pages mostly at random (TPC-H-like, SCM §5.2.4)",
        parameters: &[
            parameter("tasks", Value::Count(1), "queries, each of which waits for every page"),
            parameter("length", Value::Count(10_000), "requests of a query"),
            parameter("bytes", Value::Bytes(4 << 30), "bytes of the database"),
            parameter("files", Value::Count(8), "files that it is in, all alike"),
            parameter("random", Value::Real(0.9), "the part of requests that go elsewhere; the others go on"),
            parameter("request", Value::Bytes(8 << 10), "bytes of a page"),
        ],
        make: tpch,
    },
];

const RANGES: Shape = Shape::Ranges { block_bytes: BLOCK_BYTES };
const SECOND: f64 = 1e9;

/// The qualities of video: bytes of a request (SCM §5.2.4).
const QUALITIES: [u32; 4] = [16 << 10, 32 << 10, 64 << 10, 128 << 10];

struct Video {
    streams: u64,
    length: u64,
    think: u64,
    part: u32,
    /// Of the current stream: bytes of a request, requests left.
    size: u32,
    left: u64,
    tasks: Tasks,
}

impl Workload for Video {
    fn shape(&self) -> Shape {
        RANGES
    }

    /// The length that the best quality needs; streams of other qualities end earlier.
    fn files(&self) -> Vec<FileInfo> {
        let bytes = self.length.saturating_mul(u64::from(QUALITIES[QUALITIES.len() - 1]));
        sized((0..self.streams).map(|_| bytes))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        self.size = QUALITIES[random.below(QUALITIES.len() as u64) as usize];
        self.left = self.length;
        self.go_on(random, batch);
    }

    fn go_on(&mut self, random: &mut Random, batch: &mut Vec<Request>) -> bool {
        if self.left == 0 {
            return false;
        }
        let (file, number) = (u64::from(self.tasks.handler - 1), self.length - self.left);
        match number {
            0 => {}
            // Viewers do not all begin at one moment: the first pause shifts a stream within its
            // beat.
            1 => self.tasks.think(random.between(0, self.think)),
            _ => self.tasks.think(self.think),
        }
        let begin = number * u64::from(self.size);
        batch.extend(self.tasks.sequence(file, begin..begin + u64::from(self.size), self.part));
        self.left -= 1;
        true
    }
}

/// Arrivals of one stream.
struct Arrivals {
    /// Nanoseconds.
    slot: f64,
    /// Requests in a slot: mean and deviation.
    mean: f64,
    deviation: f64,
    /// The current slot begins at this nanosecond; its requests, and how many have come.
    begins: f64,
    in_slot: u64,
    come: u64,
    /// Requests that have come in all.
    all: u64,
}

impl Arrivals {
    fn new(rate: f64, deviation: f64, slot: u64) -> Arrivals {
        let slot = slot as f64;
        Arrivals { slot, mean: rate * slot / SECOND, deviation, begins: -slot, in_slot: 0, come: 0, all: 0 }
    }

    /// When the next one comes.
    fn next(&mut self, random: &mut Random) -> f64 {
        self.all += 1;
        if self.deviation == 0.0 {
            return (self.all - 1) as f64 / self.mean * self.slot;
        }
        while self.come == self.in_slot {
            self.begins += self.slot;
            self.come = 0;
            // A random number rounds up or down, so that the mean is kept.
            self.in_slot = (gamma(random, self.mean, self.deviation) + random.fraction()) as u64;
        }
        self.come += 1;
        self.begins + (self.come as f64 - 0.5) / self.in_slot as f64 * self.slot
    }
}

/// A number distributed by gamma, of this mean and deviation (Marsaglia and Tsang, "A Simple Method
/// for Generating Gamma Variables", ACM TOMS 2000).
fn gamma(random: &mut Random, mean: f64, deviation: f64) -> f64 {
    let shape = (mean / deviation).powi(2);
    // Below 1: Γ(a) = Γ(a + 1) · U^(1/a).
    let boost = if shape < 1.0 { (1.0 - random.fraction()).powf(1.0 / shape) } else { 1.0 };
    let d = if shape < 1.0 { shape + 1.0 } else { shape } - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = random.gaussian(0.0, 1.0);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && (1.0 - random.fraction()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v * boost * mean / shape;
        }
    }
}

struct Rates {
    bytes: u64,
    request: u32,
    /// By stream: its arrivals, and when the next one comes; none before the first step.
    streams: Vec<(Arrivals, f64)>,
    begun: bool,
}

fn rates(values: &Values) -> Result<Box<dyn Workload>, WrongWorkload> {
    let (streams, slot, request) = (values.whole("streams"), values.whole("slot"), values.request("request")?);
    let (rate, others) = (values.real("rate"), values.real("others"));
    for (name, rate) in [("rate", rate), ("others", others)] {
        if !(1e-3..=1e9).contains(&rate) {
            return Err(values.wrong(name, "it is between 0.001 and 10^9 requests a second"));
        }
    }
    if streams > 1 << 20 {
        return Err(values.wrong("streams", "there are at most 2^20 streams"));
    }
    if slot == 0 {
        return Err(values.wrong("slot", "it takes a millisecond at least"));
    }
    for (name, rate) in [("deviation", rate), ("deviations", others)] {
        // Beyond, one slot in a million would have all requests.
        if values.real(name) > 1000.0 * (rate * slot as f64 / SECOND) {
            return Err(values.wrong(name, "it is at most 1000 times the mean in a slot"));
        }
    }
    if values.whole("bytes") < request.into() {
        return Err(values.wrong("request", "it is no more than a file has"));
    }
    let arrivals = |number| match number {
        0 => Arrivals::new(rate, values.real("deviation"), slot),
        _ => Arrivals::new(others, values.real("deviations"), slot),
    };
    let streams = (0..streams).map(|number| (arrivals(number), 0.0)).collect();
    Ok(Box::new(Rates { bytes: values.whole("bytes"), request, streams, begun: false }))
}

impl Workload for Rates {
    fn shape(&self) -> Shape {
        RANGES
    }

    fn files(&self) -> Vec<FileInfo> {
        sized(self.streams.iter().map(|_| self.bytes))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        if !std::mem::replace(&mut self.begun, true) {
            self.streams.iter_mut().for_each(|(arrivals, at)| *at = arrivals.next(random));
        }
        let next = self.streams.iter().enumerate().min_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let Some(number) = next.map(|(number, _)| number) else { return };
        let (arrivals, at) = &mut self.streams[number];
        let places = self.bytes / u64::from(self.request);
        let request = Request {
            at: forebay_core::Instant(*at as u64),
            file: number as u64,
            offset: (arrivals.all - 1) % places * u64::from(self.request),
            len: self.request,
            handler: number as u32 + 1,
            ..Request::default()
        };
        *at = arrivals.next(random);
        batch.push(request);
    }
}

/// A consumer's files and pace.
struct Consumer {
    files: u64,
    /// Bytes of each of them.
    bytes: u64,
    /// Nanoseconds after every request.
    think: u64,
}

impl Consumer {
    /// A consumer that takes so many bytes a second for so long; `bytes` is a file's length.
    fn new(bandwidth: f64, seconds: u64, bytes: Option<u64>, request: u32) -> Consumer {
        let all = (bandwidth * seconds as f64).max(1.0) as u64;
        let think = (f64::from(request) / bandwidth * SECOND) as u64;
        match bytes {
            Some(bytes) => Consumer { files: all.div_ceil(bytes), bytes, think },
            None => Consumer { files: 1, bytes: all, think },
        }
    }
}

/// Readers that each take files at their own bandwidth: the think time after a request is the time
/// that it takes to send it on.
struct Paced {
    consumers: Vec<Consumer>,
    request: u32,
    /// The consumer after the current one, the current one's next file, the end of its files, and
    /// the place in the file.
    next: usize,
    file: u64,
    end: u64,
    offset: u64,
    tasks: Tasks,
}

fn copies(values: &Values) -> Result<Box<dyn Workload>, WrongWorkload> {
    let bandwidth = |number: u64, streams: u64| match number {
        0 => values.whole("fast") as f64,
        _ => between(values.whole("slow"), values.whole("slowest"), number - 1, streams - 1),
    };
    paced(values, Some(values.whole("bytes")), bandwidth)
}

fn downloads(values: &Values) -> Result<Box<dyn Workload>, WrongWorkload> {
    let sites = values.whole("sites");
    let bandwidth =
        |number: u64, _| between(values.whole("fast"), values.whole("slow"), number % sites, sites.min(1 << 20));
    paced(values, None, bandwidth)
}

/// The `number`th of `all` numbers from `first` to `last`, each in the same ratio to the one
/// before.
fn between(first: u64, last: u64, number: u64, all: u64) -> f64 {
    let share = if all > 1 { number as f64 / (all - 1) as f64 } else { 0.0 };
    first as f64 * (last as f64 / first as f64).powf(share)
}

fn paced(
    values: &Values,
    bytes: Option<u64>,
    bandwidth: impl Fn(u64, u64) -> f64,
) -> Result<Box<dyn Workload>, WrongWorkload> {
    let (streams, seconds, request) = (values.whole("streams"), values.whole("seconds"), values.request("request")?);
    if streams > 1 << 20 {
        return Err(values.wrong("streams", "there are at most 2^20 readers"));
    }
    let consumer = |number| Consumer::new(bandwidth(number, streams), seconds, bytes, request);
    let consumers: Vec<Consumer> = (0..streams).map(consumer).collect();
    if consumers.iter().map(|consumer| consumer.files).sum::<u64>() > 1 << 24 {
        return Err(values.wrong("bytes", "there are at most 2^24 files"));
    }
    Ok(Box::new(Paced { consumers, request, next: 0, file: 0, end: 0, offset: 0, tasks: Tasks::default() }))
}

impl Workload for Paced {
    fn shape(&self) -> Shape {
        RANGES
    }

    fn files(&self) -> Vec<FileInfo> {
        sized(self.consumers.iter().flat_map(|consumer| (0..consumer.files).map(|_| consumer.bytes)))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        self.file = self.end;
        self.end += self.consumers[self.next].files;
        self.next += 1;
        self.offset = 0;
        self.go_on(random, batch);
    }

    fn go_on(&mut self, _random: &mut Random, batch: &mut Vec<Request>) -> bool {
        let Some(consumer) = self.next.checked_sub(1).and_then(|number| self.consumers.get(number)) else {
            return false;
        };
        if self.file == self.end {
            return false;
        }
        let len = (consumer.bytes - self.offset).min(self.request.into()) as u32;
        batch.push(self.tasks.read(self.file, self.offset, len));
        self.tasks.think(consumer.think);
        self.offset += u64::from(len);
        if self.offset == consumer.bytes {
            (self.file, self.offset) = (self.file + 1, 0);
        }
        true
    }
}

struct Database {
    length: u64,
    files: u64,
    /// Pages of a file.
    pages: u64,
    random: f64,
    request: u32,
    /// Of the current query: requests left, and the page after the last.
    left: u64,
    at: (u64, u64),
    tasks: Tasks,
}

fn tpch(values: &Values) -> Result<Box<dyn Workload>, WrongWorkload> {
    let (files, request, length) = (values.whole("files"), values.request("request")?, values.whole("length"));
    let pages = values.whole("bytes") / files / u64::from(request);
    if pages == 0 || files > 1 << 24 {
        return Err(values.wrong("files", "each of them, at most 2^24, has a page"));
    }
    let random = values.real("random").min(1.0);
    Ok(Box::new(Database { length, files, pages, random, request, left: 0, at: (0, 0), tasks: Tasks::default() }))
}

impl Workload for Database {
    fn shape(&self) -> Shape {
        RANGES
    }

    fn files(&self) -> Vec<FileInfo> {
        sized((0..self.files).map(|_| self.pages * u64::from(self.request)))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        self.left = self.length;
        // A query begins anywhere.
        self.at = (0, self.pages);
        self.go_on(random, batch);
    }

    fn go_on(&mut self, random: &mut Random, batch: &mut Vec<Request>) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        if self.at.1 == self.pages || random.fraction() < self.random {
            self.at = (random.below(self.files), random.below(self.pages));
        }
        let (file, page) = self.at;
        batch.push(self.tasks.read(file, page * u64::from(self.request), self.request));
        self.at.1 += 1;
        true
    }
}

//! The workloads of textbooks: Zipf, uniform, sequential, looping, and mixtures of them. Blocks
//! have 4 KiB.

use super::parameters::{Kind, Value, Values, parameter};
use super::random::Random;
use super::zipf::Zipf;
use super::{BLOCK_BYTES, Tasks, Workload, WrongWorkload, sized};
use crate::{FileInfo, Request, Shape};

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "zipf",
        summary: "objects asked for independently, the k-th most popular with a probability proportional to k^-alpha",
        parameters: &[
            parameter("requests", Value::Count(1_000_000), "requests"),
            parameter("objects", Value::Count(100_000), "distinct objects"),
            parameter("alpha", Value::Real(0.9), "exponent"),
            parameter("bytes", Value::Bytes(4096), "bytes of an object"),
        ],
        make: |values| objects(values, values.real("alpha")),
    },
    Kind {
        name: "uniform",
        summary: "objects asked for independently, all equally often",
        parameters: &[
            parameter("requests", Value::Count(1_000_000), "requests"),
            parameter("objects", Value::Count(100_000), "distinct objects"),
            parameter("bytes", Value::Bytes(4096), "bytes of an object"),
        ],
        make: |values| objects(values, 0.0),
    },
    Kind {
        name: "sequential",
        summary: "whole files one after the other, a task each",
        parameters: &[
            parameter("tasks", Value::Count(16), "how often a file is read"),
            parameter("files", Value::Count(16), "files, read in turn"),
            parameter("bytes", Value::Bytes(64 << 20), "bytes of a file"),
            parameter("request", Value::Bytes(64 << 10), "bytes of a request"),
        ],
        make: |values| {
            let (files, bytes, request) = (values.whole("files"), values.whole("bytes"), values.request("request")?);
            Ok(Box::new(Sequential { files, bytes, request, next: 0, offset: bytes, tasks: Tasks::default() }))
        },
    },
    Kind {
        name: "loop",
        summary: "the same blocks in the same order, again and again",
        parameters: &[
            parameter("requests", Value::Count(1_000_000), "requests"),
            parameter("blocks", Value::Count(10_000), "blocks of the loop"),
        ],
        make: |values| Ok(Box::new(Loop { blocks: values.whole("blocks"), next: 0 })),
    },
    Kind {
        name: "mix",
        summary: "Zipf in file 0, uniform in file 1, a loop in file 2 and a scan in file 3, by weights",
        parameters: &[
            parameter("requests", Value::Count(1_000_000), "requests"),
            parameter("blocks", Value::Count(100_000), "blocks of each file but the scan's"),
            parameter("alpha", Value::Real(0.9), "exponent of Zipf"),
            parameter("zipf", Value::Real(4.0), "weight of Zipf"),
            parameter("uniform", Value::Real(1.0), "weight of uniform"),
            parameter("loop", Value::Real(1.0), "weight of the loop"),
            parameter("scan", Value::Real(1.0), "weight of the scan, which never comes back"),
        ],
        make: mix,
    },
    Kind {
        name: "scan-zipf",
        summary: "Zipf over blocks, interrupted by scans of blocks that are never read again",
        parameters: &[
            parameter("requests", Value::Count(1_000_000), "requests"),
            parameter("blocks", Value::Count(100_000), "blocks that Zipf chooses from"),
            parameter("alpha", Value::Real(0.9), "exponent"),
            parameter("every", Value::Count(50_000), "requests of Zipf between scans"),
            parameter("scan", Value::Count(10_000), "blocks of a scan"),
        ],
        make: |values| {
            let blocks = Zipf::new(values.whole("blocks"), values.real("alpha"));
            let (every, scan) = (values.whole("every"), values.whole("scan"));
            Ok(Box::new(ScanZipf { blocks, every, scan, turn: 0, scanned: 0 }))
        },
    },
];

/// Objects by Zipf's law; an exponent of zero is uniform.
struct Objects {
    ranks: Zipf,
    bytes: u32,
}

fn objects(values: &Values, alpha: f64) -> Result<Box<dyn Workload>, WrongWorkload> {
    Ok(Box::new(Objects { ranks: Zipf::new(values.whole("objects"), alpha), bytes: values.request("bytes")? }))
}

impl Workload for Objects {
    fn shape(&self) -> Shape {
        Shape::Objects
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        batch.push(Request { file: self.ranks.rank(random), len: self.bytes, ..Request::default() });
    }
}

/// A block of a file.
fn block(file: u64, number: u64) -> Request {
    Request { file, offset: number.saturating_mul(BLOCK_BYTES.into()), len: BLOCK_BYTES, ..Request::default() }
}

const RANGES: Shape = Shape::Ranges { block_bytes: BLOCK_BYTES };

struct Sequential {
    files: u64,
    bytes: u64,
    request: u32,
    /// The next file, and how far the current one is.
    next: u64,
    offset: u64,
    tasks: Tasks,
}

impl Workload for Sequential {
    fn shape(&self) -> Shape {
        RANGES
    }

    fn files(&self) -> Vec<FileInfo> {
        sized((0..self.files).map(|_| self.bytes))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        (self.next, self.offset) = (self.next + 1, 0);
        self.go_on(random, batch);
    }

    fn go_on(&mut self, _random: &mut Random, batch: &mut Vec<Request>) -> bool {
        let left = self.bytes - self.offset;
        if left == 0 {
            return false;
        }
        let len = left.min(self.request.into());
        batch.push(self.tasks.read((self.next - 1) % self.files, self.offset, len as u32));
        self.offset += len;
        true
    }
}

struct Loop {
    blocks: u64,
    next: u64,
}

impl Workload for Loop {
    fn shape(&self) -> Shape {
        RANGES
    }

    fn step(&mut self, _random: &mut Random, batch: &mut Vec<Request>) {
        batch.push(block(0, self.next));
        self.next = (self.next + 1) % self.blocks;
    }
}

/// The source of a mixture part's next block.
enum Part {
    Random(Zipf),
    Loop { blocks: u64, next: u64 },
    Scan { next: u64 },
}

struct Mix {
    /// Each part, with the sum of its weight and those before it.
    parts: Vec<(f64, Part)>,
}

fn mix(values: &Values) -> Result<Box<dyn Workload>, WrongWorkload> {
    let blocks = values.whole("blocks");
    let parts = [
        ("zipf", Part::Random(Zipf::new(blocks, values.real("alpha")))),
        ("uniform", Part::Random(Zipf::new(blocks, 0.0))),
        ("loop", Part::Loop { blocks, next: 0 }),
        ("scan", Part::Scan { next: 0 }),
    ];
    let mut sum = 0.0;
    let summed = parts.into_iter().map(|(name, part)| {
        sum += values.real(name);
        (sum, part)
    });
    let parts: Vec<_> = summed.collect();
    if sum > 0.0 && sum.is_finite() {
        Ok(Box::new(Mix { parts }))
    } else {
        Err(values.wrong("zipf", "some weight is above zero"))
    }
}

impl Workload for Mix {
    fn shape(&self) -> Shape {
        RANGES
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        let sum = self.parts.last().map_or(0.0, |&(sum, _)| sum);
        let chosen = random.fraction() * sum;
        // Rounding could leave none: then the last part that has a weight.
        let file = self.parts.iter().position(|&(sum, _)| chosen < sum).unwrap_or(0);
        let number = match &mut self.parts[file].1 {
            Part::Random(ranks) => ranks.rank(random),
            Part::Loop { blocks, next } => std::mem::replace(next, (*next + 1) % *blocks),
            Part::Scan { next } => std::mem::replace(next, next.wrapping_add(1)),
        };
        batch.push(block(file as u64, number));
    }
}

struct ScanZipf {
    blocks: Zipf,
    every: u64,
    scan: u64,
    turn: u64,
    scanned: u64,
}

impl Workload for ScanZipf {
    fn shape(&self) -> Shape {
        RANGES
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        if self.turn < self.every {
            batch.push(block(0, self.blocks.rank(random)));
        } else {
            batch.push(block(1, self.scanned));
            self.scanned += 1;
        }
        self.turn = (self.turn + 1) % self.every.saturating_add(self.scan);
    }
}

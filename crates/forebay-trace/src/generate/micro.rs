//! The microbenchmarks of CP §3.1 and CPEM §5.1: 6000 files of 4 MB, read in blocks of 64 KB. The
//! name says how many files a request handler accesses, which portion of each, and its think time
//! in milliseconds, which here can be set for each. The 1 MB of private memory of a handler belongs
//! to the load, not to the trace: `forebay sim` and `forebay trace play` take it as
//! `--private-memory`.

use super::parameters::{Kind, Parameter, Value, Values, parameter};
use super::random::Random;
use super::{BLOCK_BYTES, Tasks, Workload, WrongWorkload, sized};
use crate::{FileInfo, Request, Shape};

const TASKS: Parameter = parameter("tasks", Value::Count(1000), "request handlers, one after the other");
const FILES: Parameter = parameter("files", Value::Count(6000), "files");
const BYTES: Parameter = parameter("bytes", Value::Bytes(4 << 20), "bytes of a file");
const REQUEST: Parameter = parameter("request", Value::Bytes(64 << 10), "bytes of a request");
const NO_THINK: Parameter = parameter("think", Value::Millis(0), THINK);
const THINK: &str = "a think time, of which a handler has four, in milliseconds";

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "one-whole-0",
        summary: "each handler reads one random file whole (CP §3.1)",
        parameters: &[TASKS, FILES, BYTES, REQUEST, NO_THINK],
        make: |values| micro(values, 1, Portion::Whole),
    },
    Kind {
        name: "one-rand-10",
        summary: "each handler reads one random file up to a random size, and thinks at four random points (CP §3.1)",
        parameters: &[TASKS, FILES, BYTES, REQUEST, parameter("think", Value::Millis(10), THINK)],
        make: |values| micro(values, 1, Portion::Random),
    },
    Kind {
        name: "two-rand-0",
        summary: "each handler alternates between two random files, each up to a random size (CP §3.1)",
        parameters: &[TASKS, FILES, BYTES, REQUEST, NO_THINK],
        make: |values| micro(values, 2, Portion::Random),
    },
    Kind {
        name: "four-64kb-0",
        summary: "each handler reads a random block of each of four random files (CP §3.1)",
        parameters: &[TASKS, FILES, BYTES, REQUEST, NO_THINK],
        make: |values| micro(values, 4, Portion::Block),
    },
];

/// How many think times a handler has, if it thinks.
const THINKS: usize = 4;

/// The part of a file that is read.
#[derive(Clone, Copy)]
enum Portion {
    Whole,
    /// From its beginning, a size evenly distributed between one request and the whole file.
    Random,
    /// One request, anywhere.
    Block,
}

struct Micro {
    files: u64,
    bytes: u64,
    request: u32,
    at_once: usize,
    portion: Portion,
    think: u64,
    tasks: Tasks,
}

fn micro(values: &Values, at_once: usize, portion: Portion) -> Result<Box<dyn Workload>, WrongWorkload> {
    let (files, bytes, request) = (values.whole("files"), values.whole("bytes"), values.request("request")?);
    let think = values.whole("think");
    if bytes < request.into() {
        return Err(values.wrong("request", "it is no more than a file has"));
    }
    if bytes / u64::from(request) > 1 << 20 {
        return Err(values.wrong("request", "a file has at most 2^20 of them"));
    }
    if files < at_once as u64 {
        return Err(values.wrong("files", "a handler needs different files"));
    }
    Ok(Box::new(Micro { files, bytes, request, at_once, portion, think, tasks: Tasks::default() }))
}

impl Micro {
    /// Different files.
    fn choose(&self, random: &mut Random) -> Vec<u64> {
        let mut chosen: Vec<u64> = Vec::with_capacity(self.at_once);
        while chosen.len() < self.at_once {
            let file = random.below(self.files);
            if !chosen.contains(&file) {
                chosen.push(file);
            }
        }
        chosen
    }

    fn range(&self, random: &mut Random) -> std::ops::Range<u64> {
        let request = u64::from(self.request);
        match self.portion {
            Portion::Whole => 0..self.bytes,
            Portion::Random => 0..random.between(request, self.bytes),
            Portion::Block => {
                let start = random.below(self.bytes / request) * request;
                start..start + request
            }
        }
    }
}

impl Workload for Micro {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        sized((0..self.files).map(|_| self.bytes))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        let files = self.choose(random);
        let mut streams: Vec<Vec<Request>> = files
            .into_iter()
            .map(|file| self.tasks.sequence(file, self.range(random), self.request).collect())
            .collect();
        let longest = streams.iter().map(Vec::len).max().unwrap_or(0);
        let first = batch.len();
        // Alternating; the longer stream goes on alone.
        for turn in 0..longest {
            batch.extend(streams.iter_mut().filter_map(|stream| stream.get(turn).copied()));
        }
        if self.think > 0 {
            let mut points: Vec<usize> =
                (0..THINKS).map(|_| random.below((batch.len() - first) as u64) as usize).collect();
            points.sort_unstable();
            let mut points = points.into_iter().peekable();
            for (number, request) in batch[first..].iter_mut().enumerate() {
                request.at = forebay_core::Instant(self.tasks.now);
                // After this request, before the next.
                while points.next_if_eq(&number).is_some() {
                    self.tasks.think(self.think);
                }
            }
        }
    }
}

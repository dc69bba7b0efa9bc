//! Starts: a container reads the same places of its image in nearly the same order every time it
//! starts (FlacIO, FAST 2025); a compiler reads the same headers for each source.
//!
//! By default a start reads 17.9 % of an image. Slacker (FAST 2016) measured 6.4 %, which 33
//! `places` come to.

use super::super::parameters::{Kind, Value, parameter};
use super::super::random::Random;
use super::super::zipf::Zipf;
use super::super::{BLOCK_BYTES, Tasks, Workload, sized};
use super::tasks;
use crate::{FileInfo, Request, Shape};

pub(in super::super) const KINDS: &[Kind] = &[
    Kind {
        name: "container-starts",
        summary: "a start reads the same places of an image in nearly the same order; images are popular by Zipf's law",
        parameters: &[
            tasks(160, "starts, one after the other"),
            parameter("images", Value::Count(24), "images"),
            parameter("bytes", Value::Bytes(32 << 20), "bytes of an image"),
            parameter("places", Value::Count(90), "places that a start reads, of 4 to 256 KiB"),
            parameter("alpha", Value::Real(0.7), "the exponent of Zipf's law of the images' popularity"),
        ],
        make: |values| {
            let bytes = values.whole("bytes");
            if bytes < 1 << 20 {
                return Err(values.wrong("bytes", "an image has at least 1 MiB"));
            }
            let popular = Zipf::new(values.whole("images"), values.real("alpha"));
            let (images, places) = (values.whole("images"), values.whole("places"));
            Ok(Box::new(Starts { images, bytes, places, popular, tasks: Tasks::default() }))
        },
    },
    Kind {
        name: "build",
        summary: "a compiler reads a source and the headers that it includes, which it shares with its neighbours",
        parameters: &[
            tasks(1200, "sources compiled, in order"),
            parameter("sources", Value::Count(400), "sources, of 4 to 32 KiB"),
            parameter("headers", Value::Count(800), "headers, of 1 to 64 KiB"),
            parameter("includes", Value::Count(60), "headers of a source"),
        ],
        make: |values| {
            let (sources, headers) = (values.whole("sources"), values.whole("headers"));
            if values.whole("includes") > headers {
                return Err(values.wrong("includes", "there are as many headers"));
            }
            let includes = values.whole("includes");
            Ok(Box::new(Build { sources, headers, includes, done: 0, tasks: Tasks::default() }))
        },
    },
];

/// Of the places of a start one in so many is left out, and one in as many comes before the one
/// before it.
const ONE_IN: u64 = 20;

struct Starts {
    images: u64,
    bytes: u64,
    places: u64,
    popular: Zipf,
    tasks: Tasks,
}

impl Workload for Starts {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        sized((0..self.images).map(|_| self.bytes))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        let image = self.popular.rank(random);
        // The same for every start of an image.
        let mut own = Random::new(image);
        let first = batch.len();
        for _ in 0..self.places {
            let len = (4 << 10) << own.below(7);
            let offset = own.below((self.bytes - len) / 4096) * 4096;
            if random.below(ONE_IN) > 0 {
                batch.push(self.tasks.read(image, offset, len as u32));
            }
            if random.below(ONE_IN) == 0 && batch.len() >= first + 2 {
                let last = batch.len() - 1;
                batch.swap(last - 1, last);
            }
        }
    }
}

struct Build {
    sources: u64,
    headers: u64,
    includes: u64,
    done: u64,
    tasks: Tasks,
}

impl Build {
    /// Sources come first, then headers.
    fn bytes(&self, file: u64) -> u64 {
        let mut own = Random::new(file);
        if file < self.sources { own.between(4 << 10, 32 << 10) } else { (1 << 10) << own.below(7) }
    }
}

impl Workload for Build {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        sized((0..self.sources + self.headers).map(|file| self.bytes(file)))
    }

    fn step(&mut self, _random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        let source = self.done % self.sources;
        self.done += 1;
        batch.push(self.tasks.read(source, 0, self.bytes(source) as u32));
        // Half of the headers are those of all sources, half those of a part of the program, which
        // twenty sources share.
        let mut part = Random::new(source / 20);
        for include in 0..self.includes {
            let common = include % 2 == 0;
            let header = if common { include * 7919 % self.headers } else { part.below(self.headers) };
            let file = self.sources + header;
            batch.push(self.tasks.read(file, 0, self.bytes(file) as u32));
        }
    }
}

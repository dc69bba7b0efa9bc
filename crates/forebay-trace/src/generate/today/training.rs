//! Training: all samples once an epoch, each time in another random order that the workers share
//! (PyTorch's `DataLoader`; CoorDL, VLDB 2021, §2), as files of their own or packed into record
//! files; and shards that are read from front to back in an order of their own (WebDataset).

use super::super::parameters::{Kind, Parameter, Value, Values, parameter};
use super::super::random::Random;
use super::super::{BLOCK_BYTES, Tasks, Workload, WrongWorkload, sized};
use super::tasks;
use crate::{FileInfo, Request, Shape};

const SAMPLES: Parameter = parameter("samples", Value::Count(2000), "samples");
const BYTES: Parameter = parameter("bytes", Value::Bytes(112 << 10), "bytes of a sample");

pub(in super::super) const KINDS: &[Kind] = &[
    Kind {
        name: "epochs",
        summary: "training: every task reads one sample, a file; each epoch has them in a new random order",
        parameters: &[tasks(16_000, "samples read, one after the other: 8 epochs"), SAMPLES, BYTES],
        make: |values| epochs(values, values.whole("samples")),
    },
    Kind {
        name: "epochs-packed",
        summary: "the same, of samples that lie in a few record files",
        parameters: &[
            tasks(16_000, "samples read, one after the other: 8 epochs"),
            SAMPLES,
            BYTES,
            parameter("files", Value::Count(4), "record files"),
        ],
        make: |values| epochs(values, values.whole("files")),
    },
    Kind {
        name: "shards",
        summary: "training: every task reads a shard from front to back; each epoch has them in a new random order",
        parameters: &[
            tasks(192, "shards read, one after the other: 3 epochs"),
            parameter("shards", Value::Count(64), "shards"),
            parameter("bytes", Value::Bytes(4 << 20), "bytes of a shard"),
            parameter("request", Value::Bytes(64 << 10), "bytes of a request"),
        ],
        make: |values| {
            let (bytes, request) = (values.whole("bytes"), values.request("request")?);
            if bytes / u64::from(request) > 1 << 20 {
                return Err(values.wrong("request", "a shard has at most 2^20 of them"));
            }
            let order = Order::new(values.whole("shards"));
            Ok(Box::new(Epochs { order, files: values.whole("shards"), bytes, request, tasks: Tasks::default() }))
        },
    },
];

fn epochs(values: &Values, files: u64) -> Result<Box<dyn Workload>, WrongWorkload> {
    let samples = values.whole("samples");
    if files > samples {
        return Err(values.wrong("files", "each of them has a sample"));
    }
    let (bytes, request) = (values.whole("bytes"), values.request("bytes")?);
    if bytes.checked_mul(samples).is_none() {
        return Err(values.wrong("bytes", "all samples have less than 2^64 of them"));
    }
    Ok(Box::new(Epochs { order: Order::new(samples), files, bytes, request, tasks: Tasks::default() }))
}

/// A random order, and a new one whenever it has been gone through.
struct Order {
    numbers: Vec<u32>,
    at: usize,
}

impl Order {
    fn new(count: u64) -> Order {
        let numbers: Vec<u32> = (0..u32::try_from(count).unwrap_or(u32::MAX)).collect();
        Order { at: numbers.len(), numbers }
    }

    fn next(&mut self, random: &mut Random) -> u64 {
        if self.at == self.numbers.len() {
            self.at = 0;
            // Fisher and Yates.
            for last in (1..self.numbers.len()).rev() {
                self.numbers.swap(last, random.below(last as u64 + 1) as usize);
            }
        }
        self.at += 1;
        self.numbers[self.at - 1].into()
    }
}

struct Epochs {
    order: Order,
    files: u64,
    /// Bytes of a sample or shard.
    bytes: u64,
    request: u32,
    tasks: Tasks,
}

impl Epochs {
    /// How many samples lie in a file, but for the last one, which may have fewer.
    fn in_a_file(&self) -> u64 {
        (self.order.numbers.len() as u64).div_ceil(self.files)
    }
}

impl Workload for Epochs {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        let (all, each) = (self.order.numbers.len() as u64, self.in_a_file());
        sized((0..all.div_ceil(each)).map(|file| each.min(all - file * each) * self.bytes))
    }

    fn step(&mut self, random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        let (sample, each) = (self.order.next(random), self.in_a_file());
        let start = sample % each * self.bytes;
        batch.extend(self.tasks.sequence(sample / each, start..start + self.bytes, self.request));
    }
}

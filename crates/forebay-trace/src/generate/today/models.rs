//! Models: a checkpoint of several shards is loaded by ranks, each of which reads its part of every
//! large tensor and small ones whole (safetensors, tensor parallelism as in Megatron-LM).

use super::super::parameters::{Kind, Value, parameter};
use super::super::random::{Random, scattered};
use super::super::{BLOCK_BYTES, Tasks, Workload, sized};
use super::tasks;
use crate::{FileInfo, Request, Shape};

pub(in super::super) const KINDS: &[Kind] = &[Kind {
    name: "checkpoint",
    summary: "ranks load a model: each reads its part of every large tensor, and small ones whole",
    parameters: &[
        tasks(24, "loads by a rank, in turn: 3 loads by 8 ranks"),
        parameter("ranks", Value::Count(8), "ranks"),
        parameter("shards", Value::Count(4), "shards of the model"),
        parameter("bytes", Value::Bytes(96 << 20), "bytes of a shard"),
        parameter("request", Value::Bytes(128 << 10), "bytes of a request"),
    ],
    make: |values| {
        let (bytes, request) = (values.whole("bytes"), values.request("request")?);
        if bytes / u64::from(request) > 1 << 20 {
            return Err(values.wrong("request", "a shard has at most 2^20 of them"));
        }
        if values.whole("ranks") > 1 << 16 {
            return Err(values.wrong("ranks", "there are at most 65536"));
        }
        let tensors = (0..values.whole("shards")).map(|shard| tensors(shard, bytes)).collect();
        let tasks = Tasks::default();
        Ok(Box::new(Checkpoint { tensors, bytes, request, ranks: values.whole("ranks"), done: 0, tasks }))
    },
}];

/// Tensors of less than this are read whole by each rank.
const SMALL: u64 = 256 << 10;

/// Where the tensors of a shard end: of three, two are large, up to 8 MiB, and one is a norm or a
/// bias.
fn tensors(shard: u64, bytes: u64) -> Vec<u64> {
    let (mut ends, mut at) = (Vec::new(), 0);
    while at < bytes {
        let number = scattered(shard << 32 | ends.len() as u64);
        let len = match ends.len() % 3 {
            2 => (8 << 10) << (number % 4),
            _ => (1 << 20) << (number % 4),
        };
        at = (at + len).min(bytes);
        ends.push(at);
    }
    ends
}

struct Checkpoint {
    tensors: Vec<Vec<u64>>,
    bytes: u64,
    request: u32,
    ranks: u64,
    done: u64,
    tasks: Tasks,
}

impl Workload for Checkpoint {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        sized(self.tensors.iter().map(|_| self.bytes))
    }

    fn step(&mut self, _random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        let rank = self.done % self.ranks;
        self.done += 1;
        for (shard, ends) in (0..).zip(&self.tensors) {
            let mut start = 0;
            for &end in ends {
                let len = end - start;
                let part = match len < SMALL {
                    true => start..end,
                    false => start + len * rank / self.ranks..start + len * (rank + 1) / self.ranks,
                };
                batch.extend(self.tasks.sequence(shard, part, self.request));
                start = end;
            }
        }
    }
}

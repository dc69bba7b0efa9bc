//! Logs: the last segments are scanned again and again while the window slides (alerts and rolling
//! aggregates over an object store; Kafka's tiered storage).

use super::super::parameters::{Kind, Value, parameter};
use super::super::random::Random;
use super::super::{BLOCK_BYTES, Tasks, Workload, sized};
use super::tasks;
use crate::{FileInfo, Request, Shape};

pub(in super::super) const KINDS: &[Kind] = &[Kind {
    name: "log-windows",
    summary: "a window of the last segments of a log is scanned again and again as it slides",
    parameters: &[
        tasks(64, "scans, one after the other"),
        parameter("window", Value::Count(24), "segments of a window"),
        parameter("bytes", Value::Bytes(4 << 20), "bytes of a segment"),
        parameter("request", Value::Bytes(128 << 10), "bytes of a request"),
        parameter("every", Value::Count(2), "scans until the window slides by a segment"),
    ],
    make: |values| {
        let (window, bytes, request) = (values.whole("window"), values.whole("bytes"), values.request("request")?);
        if window > 1 << 16 || bytes / u64::from(request) > 1 << 16 {
            return Err(values.wrong("request", "a segment has at most 2^16 of them, and a window as many segments"));
        }
        let scans = values.whole("tasks");
        let (every, tasks) = (values.whole("every"), Tasks::default());
        Ok(Box::new(Windows { window, bytes, request, every, scans, done: 0, tasks }))
    },
}];

struct Windows {
    window: u64,
    bytes: u64,
    request: u32,
    every: u64,
    scans: u64,
    done: u64,
    tasks: Tasks,
}

impl Workload for Windows {
    fn shape(&self) -> Shape {
        Shape::Ranges { block_bytes: BLOCK_BYTES }
    }

    fn files(&self) -> Vec<FileInfo> {
        let slides = self.scans.saturating_sub(1) / self.every;
        sized((0..(self.window + slides).min(1 << 20)).map(|_| self.bytes))
    }

    fn step(&mut self, _random: &mut Random, batch: &mut Vec<Request>) {
        self.tasks.begin();
        let first = self.done / self.every;
        self.done += 1;
        for segment in first..first + self.window {
            batch.extend(self.tasks.sequence(segment, 0..self.bytes, self.request));
        }
    }
}

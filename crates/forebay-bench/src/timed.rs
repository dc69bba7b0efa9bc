//! The speed of the timed simulation: one disk, competitive prefetching, reads of 64 KiB. The
//! figure is requests of virtual time for each second of processor time.
//!
//! The limit is the core's work for every block of a request: it is found when it is requested,
//! when its fetch is issued, when the fetch arrives, when the block is released and when it is
//! evicted, mostly beside the block before. With blocks of 4 KiB a request is 16 references, and
//! the core takes nine tenths of the time. With blocks of 64 KiB it is one reference: the core
//! takes half, the disk model and its queue a quarter, readers, agenda and counting the rest (by
//! `perf`).

use anyhow::Context;
use forebay_device::device;
use forebay_device::random::Random;
use forebay_sim::Unwatched;
use forebay_sim::timed::{self, Setup, Spread, Workload};
use forebay_trace::{Memory, Request, Shape};

use crate::report::{Row, median};

const READ: u32 = 64 << 10;
const FILES: u64 = 6000;
const FILE_BYTES: u64 = 4 << 20;

/// The wanted requests of 64 KiB, for each second of processor time.
const WANTED: f64 = 1e6;

pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let (tasks, rounds) = if smoke { (500, 1) } else { (20_000, 3) };
    let workload = workload(tasks)?;
    let mut rows = Vec::new();
    for block_bytes in [65536, 4096] {
        for handlers in [1, 16, 64] {
            let mut setup = Setup::new("competitive".parse()?, 256 << 20, device("ibm-10k")?, handlers);
            setup.block_bytes = block_bytes;
            setup.placement.spread = Spread::Scattered;
            let mut rates = Vec::new();
            let mut detail = String::new();
            for _ in 0..rounds {
                let began = processor_seconds()?;
                let outcome = timed::run(&setup, &workload, &Unwatched)?;
                let real = processor_seconds()? - began;
                rates.push(outcome.requests as f64 / real);
                let references = (outcome.hits + outcome.misses) as f64 / real / 1e6;
                detail = format!(
                    "{:.2} M block references/s, {:.0} s of virtual time in {real:.2} s, {:.1} MB/s simulated",
                    references, outcome.seconds, outcome.throughput_mb_s
                );
            }
            rows.push(Row {
                bench: "timed",
                what: format!("requests of 64 KiB, blocks of {} KiB, {handlers} handlers", block_bytes >> 10),
                against: "a million a second".into(),
                ratio: median(rates) / WANTED,
                // The wanted figure is for blocks as large as requests.
                wanted: (block_bytes == READ).then_some(1.0),
                detail,
                point: None,
            });
        }
    }
    Ok(rows)
}

/// The processor time of this thread, so that other programs on the machine count as little as
/// possible.
fn processor_seconds() -> anyhow::Result<f64> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").context("the time of a thread")?;
    let nanos: f64 = line.split(' ').next().unwrap_or_default().parse().context("/proc/thread-self/schedstat")?;
    Ok(nanos / 1e9)
}

/// One-Whole-0 (CP §3.1): each task reads a file of 4 MB, picked at random.
fn workload(tasks: u32) -> anyhow::Result<Workload> {
    let mut random = Random::new(1);
    let requests = (0..tasks).flat_map(|handler| {
        let file = random.below(FILES);
        let offsets = (0..FILE_BYTES).step_by(READ as usize);
        offsets.map(move |offset| Request { file, handler, offset, len: READ, ..Request::default() })
    });
    Ok(Workload::load(&mut Memory::new(requests.collect(), Shape::Ranges { block_bytes: 4096 }))?)
}

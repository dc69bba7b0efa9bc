//! The load of `storage-aware` in virtual time: the same devices, places, reads, frames and policy.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::Context;
use forebay_device::device;
use forebay_live::budget::Budget;
use forebay_sim::Unwatched;
use forebay_sim::timed::{self, DeviceSetup, Mapping, Setup, Span, Spread, Workload};
use forebay_source::Source;
use forebay_trace::{Memory, Request, Shape};

use super::live::{Stores, name};
use super::load::{FILE, Load, READ, STORES};
use super::{Devices, FILES, MEMORY, READERS};

/// More reads a second than any policy lets through here.
const READS_A_SECOND: f64 = 3000.0;

/// Throughput in MB/s of the seconds that are counted.
pub(super) fn run(
    stores: &Stores,
    devices: Devices,
    policy: &str,
    load: &Load,
    counted: Range<f64>,
    seed: u64,
) -> anyhow::Result<f64> {
    let Range { start: from, end: to } = counted;
    let policy = policy.parse()?;
    let frames = Budget::divide(MEMORY, policy)?.frames;
    let mut setup = Setup::new(policy, u64::from(frames) * 4096, device(devices[0])?, READERS);
    let described: Result<_, _> = devices.iter().map(|name| device(name).map(DeviceSetup::new)).collect();
    setup.devices = described?;
    setup.seed = seed;
    setup.placement.mapping = Mapping::Modulo;
    setup.placement.spread = Spread::Known(places(stores, devices)?);
    (setup.warm_up, setup.limit) = (Some(Span::Seconds(from)), Some(Span::Seconds(to)));
    let request = |number| {
        let piece = load.read(number);
        let file = piece.file * STORES as u64 + piece.store as u64;
        // Each read is a task of its own, and the next free handler takes it.
        Request { file, offset: piece.offset, len: READ as u32, ..Request::default() }
    };
    let reads = (to * READS_A_SECOND) as u64;
    let requests = (0..reads).map(request).collect();
    let mut workload = Workload::load(&mut Memory::new(requests, Shape::Ranges { block_bytes: 4096 }))?;
    workload.at_least(FILE);
    let outcome = timed::run(&setup, &workload, &Unwatched)?;
    anyhow::ensure!(outcome.seconds > 0.99 * (to - from), "the load ended before its time");
    Ok(outcome.throughput_mb_s)
}

/// The places of the live stores' files, by their numbers in the trace; 0 on a device without
/// places.
fn places(stores: &Stores, devices: Devices) -> anyhow::Result<BTreeMap<u64, u64>> {
    let mut places = BTreeMap::new();
    for store in 0..STORES {
        let source = stores.paced(store, devices, 1)?;
        for file in 0..FILES {
            let layout = source.open(&name(file)).context("a file that was made")?.layout();
            places.insert(file * STORES as u64 + store as u64, layout.first().map_or(0, |run| run.at_byte));
        }
    }
    Ok(places)
}

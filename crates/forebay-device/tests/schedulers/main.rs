//! Schedulers before a device: what they gain, whom they keep waiting, and what they are called.

mod anticipatory;
mod laws;
mod turns;

use std::collections::{BTreeMap, BTreeSet};

use forebay_core::{DeviceCost, Instant};
use forebay_device::random::Random;
use forebay_device::scheduler::{
    Anticipation, Anticipatory, Cfq, Deadline, Elevator, Expiry, Noop, Scheduler, SchedulerKind, Turns, named,
};
use forebay_device::{DeviceQueue, Model, Ordered, Queue, Request, device};
use proptest::prelude::*;

/// A nanosecond a byte, and a millisecond to go anywhere but on from where it stands.
struct Arm {
    stands: u64,
    commands: u32,
}

impl Model for Arm {
    fn serve(&mut self, at: Instant, request: Request) -> Instant {
        let seek = if request.start == self.stands { 0 } else { 1_000_000 };
        self.stands = request.start + request.len;
        at.plus(seek + request.len)
    }
    fn channels(&self) -> u32 {
        1
    }
    fn commands(&self) -> u32 {
        self.commands
    }
    fn capacity(&self) -> u64 {
        1 << 40
    }
    fn cost(&self) -> DeviceCost {
        DeviceCost::flat(1_000_000, 1_000_000_000, 1)
    }
}

fn arm(commands: u32, scheduler: impl Scheduler + 'static) -> DeviceQueue {
    DeviceQueue::new(Box::new(Arm { stands: 0, commands }), Box::new(scheduler))
}

const MS: u64 = 1_000_000;
/// Places that are far from each other.
const FAR: u64 = 1 << 36;

/// The next completion, whatever timers run out before.
fn next(queue: &mut dyn Queue) -> Option<(u64, u64)> {
    while let Some(at) = queue.next_completion() {
        if let Some(id) = queue.complete(at) {
            return Some((at.0, id));
        }
    }
    None
}

/// Readers that each read on in 64 KiB from a place of their own, `think` nanoseconds after the
/// last read came; in what order they are served, and when the last one is.
fn readers(queue: &mut DeviceQueue, think: &[u64], n: usize) -> (Vec<u32>, Instant) {
    let mut places: Vec<u64> = (0..think.len() as u64).map(|i| i * FAR).collect();
    let mut arrivals: BTreeMap<(u64, u32), ()> = (0..think.len() as u32).map(|reader| ((0, reader), ())).collect();
    let (mut order, mut now) = (Vec::new(), Instant(0));
    while order.len() < n {
        let moment = queue.next_completion();
        match arrivals.first_key_value().map(|(&key, ())| key) {
            Some((at, reader)) if moment.is_none_or(|m| at < m.0) => {
                arrivals.remove(&(at, reader));
                let place = &mut places[reader as usize];
                queue.submit(Instant(at), reader.into(), Request::read(*place, 65536).by(reader));
                *place += 65536;
            }
            _ => {
                now = moment.expect("somebody waits");
                if let Some(id) = queue.complete(now) {
                    order.push(id as u32);
                    arrivals.insert((now.0 + think[id as usize], id as u32), ());
                }
            }
        }
    }
    (order, now)
}

/// How often another reader is served than before.
fn switches(order: &[u32]) -> usize {
    order.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

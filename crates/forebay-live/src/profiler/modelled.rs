//! A device model as something to measure, in virtual time.

use forebay_core::Instant;
use forebay_device::scheduler::Elevator;
use forebay_device::{DeviceQueue, Model, Queue, Request, device};

use super::{Probe, ProfileError};

/// A model in virtual time.
pub(super) struct Modelled {
    pub(super) queue: DeviceQueue,
    pub(super) capacity: u64,
    pub(super) now: Instant,
    /// One read in this many takes fifty times as long.
    pub(super) hiccup: u64,
    pub(super) reads: u64,
}

pub(super) fn modelled(name: &str, hiccup: u64) -> Modelled {
    of(device(name).unwrap().build(5).unwrap(), hiccup)
}

pub(super) fn of(model: Box<dyn Model>, hiccup: u64) -> Modelled {
    let capacity = if model.capacity() == 0 { 1 << 30 } else { model.capacity() };
    Modelled { queue: DeviceQueue::new(model, Box::<Elevator>::default()), capacity, now: Instant(0), hiccup, reads: 0 }
}

impl Probe for Modelled {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn longest(&self) -> u64 {
        self.capacity
    }

    fn read(&mut self, place: u64, len: u64) -> Result<u64, ProfileError> {
        let nanos = self.read_all(&[place], len, 1)?[0];
        self.reads += 1;
        Ok(if self.reads.is_multiple_of(self.hiccup) { nanos * 50 } else { nanos })
    }

    fn read_all(&mut self, places: &[u64], len: u64, at_once: usize) -> Result<Vec<u64>, ProfileError> {
        let mut times = vec![Instant(0); places.len()];
        let mut waiting = places.iter().enumerate();
        let mut submit = |modelled: &mut Modelled, times: &mut [Instant]| {
            let Some((id, &start)) = waiting.next() else { return };
            times[id] = modelled.now;
            modelled.queue.submit(modelled.now, id as u64, Request::read(start, len));
        };
        (0..at_once).for_each(|_| submit(self, &mut times));
        while let Some(at) = self.queue.next_completion() {
            self.now = at;
            let id = self.queue.complete(at).expect("it is due") as usize;
            times[id] = Instant(at.since(times[id]));
            submit(self, &mut times);
        }
        Ok(times.into_iter().map(|time| time.0).collect())
    }
}

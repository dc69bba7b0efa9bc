//! The divider of `auto`, past SAC: there are no sizes. Whenever a frame is wanted, the partition
//! whose frames save least waiting gives one (`worths`); sizes and waits are only shown.

mod costs;
mod distances;
mod hull;
mod prospect;
mod worths;

use alloc::vec::Vec;

use crate::devices::Device;
use crate::papers::sac::Epochs;
use crate::seams::{Divider, Wait};
use crate::share::{Cause, Prospect, Share};
use crate::types::BlockKey;

use costs::Counts;
use worths::Worths;

/// W and T of the shown figures: SAC's.
pub const WINDOW: u32 = 1000;
const THRESHOLD: u16 = 5;

/// A divider that gives up the frames that are worth least.
#[derive(Clone, Debug)]
pub struct Worth {
    frames: u32,
    epochs: Epochs,
    worths: Worths,
}

impl Worth {
    /// For partitions with these sizes at first, at least one; `window` requests are an epoch. With
    /// `loops` there are partitions for loops within those of devices, so that hits grow evenly
    /// from corner to corner of their curve.
    pub fn new(sizes: Vec<u32>, window: u32, loops: bool) -> Worth {
        let frames = sizes.iter().sum();
        let worths = Worths::new(sizes.len(), frames, loops);
        Worth { frames, epochs: Epochs::new(sizes, window, THRESHOLD), worths }
    }
}

impl Divider for Worth {
    fn shares(&self) -> &[Share] {
        &self.epochs.shares
    }

    fn epochs(&self) -> u64 {
        self.epochs.over()
    }

    fn hears_references(&self) -> bool {
        true
    }

    fn sample(&self) -> u64 {
        self.worths.bound()
    }

    fn referenced(&mut self, device: usize, key: BlockKey) {
        self.worths.referenced(device, key);
    }

    fn waited(&mut self, wait: &Wait, devices: &[Device]) -> bool {
        if self.epochs.ends_next() {
            let missed = |device: &Device| device.counters.references() - device.counters.hits;
            self.worths.count(wait.at, devices.iter().map(missed));
        }
        self.worths.waited(wait.device, wait.nanoseconds);
        if self.epochs.waited(wait.device, wait.nanoseconds) {
            self.worths.end_epoch(self.epochs.shares.iter().map(|share| share.wait));
            self.epochs.note_changes(Cause::Worth);
        }
        false
    }

    /// Sizes are in proportion to the held frames.
    fn looks(&mut self, devices: &[Device]) -> bool {
        if !self.worths.is_due() {
            return false;
        }
        let counts = |device: &Device| Counts { held: device.frames, unkept: device.counters.unkept() };
        self.worths.look(devices.iter().map(counts));
        let all = devices.iter().map(|device| u64::from(device.frames)).sum::<u64>();
        let (mut before, mut given) = (0, 0);
        for (share, device) in self.epochs.shares.iter_mut().zip(devices).filter(|_| all > 0) {
            before += u64::from(device.frames);
            let up_to = before * u64::from(self.frames) / all;
            share.size = (up_to - given) as u32;
            given = up_to;
        }
        true
    }

    fn gives(&mut self, taker: usize, devices: &[Device]) -> Option<usize> {
        self.worths.least(taker, |device| devices[device].frames)
    }

    fn prospect(&self, device: usize) -> Option<Prospect> {
        self.worths.prospect(device, self.epochs.shares.get(device)?.size)
    }

    fn footprint(&self) -> usize {
        self.epochs.footprint() + self.worths.footprint()
    }
}

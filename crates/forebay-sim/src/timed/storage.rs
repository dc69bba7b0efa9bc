//! The devices: queues of models, and what went through them.

use forebay_core::{DeviceCost, Instant};
use forebay_device::{DeviceQueue, Queue, Request};

use super::error::Error;
use super::histogram::Sizes;
use super::outcome::DeviceFigures;
use super::setup::Setup;

/// All devices.
pub(super) struct Storage {
    devices: Vec<Device>,
    /// Reads served, all devices together.
    pub(super) sizes: Sizes,
}

struct Device {
    queue: Box<dyn Queue>,
    cost: DeviceCost,
    capacity: u64,
    figures: DeviceFigures,
    /// When it will be looked at; earlier entries on the agenda are outdated.
    look: Option<Instant>,
}

impl Storage {
    /// The devices of a setup, new.
    pub(super) fn new(setup: &Setup) -> Result<Storage, Error> {
        let build = |(number, device): (usize, &super::DeviceSetup)| -> Result<Device, Error> {
            let model = device.description.build(setup.seed.wrapping_add(number as u64))?;
            let (cost, capacity) = (model.cost(), model.capacity());
            let queue = Box::new(DeviceQueue::new(model, device.scheduler.build()));
            let figures = DeviceFigures { device: device.description.name.clone(), ..DeviceFigures::default() };
            Ok(Device { queue, cost, capacity, figures, look: None })
        };
        let devices = setup.devices.iter().enumerate().map(build).collect::<Result<_, _>>()?;
        Ok(Storage { devices, sizes: Sizes::default() })
    }

    /// What policies should believe of them.
    pub(super) fn costs(&self) -> Vec<DeviceCost> {
        self.devices.iter().map(|device| device.cost.clone()).collect()
    }

    /// Name and size of each.
    pub(super) fn rooms(&self) -> impl Iterator<Item = (&str, u64)> {
        self.devices.iter().map(|device| (device.figures.device.as_str(), device.capacity))
    }

    pub(super) fn has_places(&self, device: u16) -> bool {
        self.devices[usize::from(device)].capacity > 0
    }

    /// A request comes to a device. Returns when to look at it, if that is news.
    pub(super) fn submit(&mut self, now: Instant, device: u16, id: u64, request: Request) -> Option<Instant> {
        let device = &mut self.devices[usize::from(device)];
        device.queue.submit(now, id, request);
        device.news()
    }

    /// Takes a request back, if the device has not begun with it.
    pub(super) fn cancel(&mut self, now: Instant, device: u16, id: u64) -> bool {
        self.devices[usize::from(device)].queue.cancel(now, id)
    }

    /// Whether it is time to look at a device, or that was put on the agenda before there was news.
    pub(super) fn is_due(&mut self, now: Instant, device: u16) -> bool {
        let device = &mut self.devices[usize::from(device)];
        device.look.take_if(|look| *look == now).is_some()
    }

    /// The next request that a device has completed by now.
    pub(super) fn completed(&mut self, now: Instant, device: u16) -> Option<u64> {
        self.devices[usize::from(device)].queue.complete(now)
    }

    /// When to look at a device again, if that is news.
    pub(super) fn news(&mut self, device: u16) -> Option<Instant> {
        self.devices[usize::from(device)].news()
    }

    /// `bytes` were read.
    pub(super) fn count_read(&mut self, device: u16, bytes: u64) {
        let figures = &mut self.devices[usize::from(device)].figures;
        figures.bytes += bytes;
        figures.requests += 1;
        self.sizes.add(bytes);
    }

    /// `bytes` were written.
    pub(super) fn count_written(&mut self, device: u16, bytes: u64) {
        self.devices[usize::from(device)].figures.written += bytes;
    }

    /// Begins to count anew.
    pub(super) fn clear(&mut self) {
        self.sizes.clear();
        for Device { figures, .. } in &mut self.devices {
            (figures.bytes, figures.requests, figures.written) = (0, 0, 0);
        }
    }

    pub(super) fn figures(&self) -> Vec<DeviceFigures> {
        self.devices.iter().map(|device| device.figures.clone()).collect()
    }
}

impl Device {
    fn news(&mut self) -> Option<Instant> {
        let next = self.queue.next_completion()?;
        if self.look == Some(next) {
            return None;
        }
        self.look = Some(next);
        Some(next)
    }
}

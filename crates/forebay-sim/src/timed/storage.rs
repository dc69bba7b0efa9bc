//! The devices: queues of models, and their counters.

use std::sync::{Arc, Mutex};

use forebay_core::{DeviceCost, Instant};
use forebay_device::slowdown::Slowed;
use forebay_device::{Array, Attached, DeviceQueue, Network, Ordered, Queue, Request, network};

use super::error::Error;
use super::histogram::Sizes;
use super::outcome::DeviceFigures;
use super::setup::{DeviceSetup, Setup};
use super::striping::Striping;

/// The number of the disk tier's disk.
pub(super) const TIER: u16 = u16::MAX;

/// All devices.
pub(super) struct Storage {
    devices: Vec<Device>,
    /// The disk tier's disk comes after them.
    tier: Option<Device>,
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
        let link = setup.levels.last().and_then(|level| level.link.as_ref());
        let network = link.map(|link| network(link, 1 + setup.devices.len() as u32)).transpose()?;
        let network = network.map(|network| Arc::new(Mutex::new(network)));
        let mut queues = Vec::with_capacity(setup.devices.len());
        for (number, device) in (0u32..).zip(&setup.devices) {
            let queue = device.queue(setup.seed.wrapping_add(u64::from(number)))?;
            queues.push(match &network {
                None => queue,
                Some(network) => Box::new(Attached::new(queue, Arc::clone(network), 0, 1 + number)),
            });
        }
        let devices = if let Striping::Array(stripe) = setup.striping {
            let array = Array::new(queues, stripe).map_err(|reason| Error::Setup(reason.to_owned()))?;
            let array: Box<dyn Queue> = match setup.host {
                None => Box::new(array),
                Some(host) => Box::new(Ordered::new(Box::new(array), host.scheduler.build(), host.depth)),
            };
            vec![Device::new(setup.device_names(), array)]
        } else {
            let names = setup.devices.iter().map(|device| device.description.name.clone());
            names.zip(queues).map(|(name, queue)| Device::new(name, queue)).collect()
        };
        let tier = setup.tier.as_ref().map(|tier| {
            let queue = tier.device.queue(setup.seed.wrapping_add(devices.len() as u64))?;
            Ok::<_, Error>(Device::new(format!("tier on {}", tier.device.description.name), queue))
        });
        Ok(Storage { devices, tier: tier.transpose()?, sizes: Sizes::default() })
    }

    fn device(&mut self, number: u16) -> &mut Device {
        match &mut self.tier {
            Some(tier) if number == TIER => tier,
            _ => &mut self.devices[usize::from(number)],
        }
    }

    /// Their costs, for the last level.
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

    /// The smallest device that has places: its number, name and size. All devices have at least
    /// that much.
    pub(super) fn smallest(&self) -> Option<(usize, &str, u64)> {
        let rooms = self.rooms().enumerate().filter(|(_, (_, capacity))| *capacity > 0);
        rooms.map(|(number, (name, capacity))| (number, name, capacity)).min_by_key(|room| room.2)
    }

    /// A request comes to a device. Returns when to look at it, if that is news.
    pub(super) fn submit(&mut self, now: Instant, device: u16, id: u64, request: Request) -> Option<Instant> {
        let device = self.device(device);
        device.queue.submit(now, id, request);
        device.news()
    }

    /// Takes a request back, if the device has not begun with it.
    pub(super) fn cancel(&mut self, now: Instant, device: u16, id: u64) -> bool {
        self.device(device).queue.cancel(now, id)
    }

    /// A handler has exited.
    pub(super) fn exited(&mut self, now: Instant, handler: u32) {
        self.devices.iter_mut().for_each(|device| device.queue.exited(now, handler));
    }

    /// Whether it is time to look at a device; if not, the entry on the agenda is outdated.
    pub(super) fn is_due(&mut self, now: Instant, device: u16) -> bool {
        let device = self.device(device);
        device.look.take_if(|look| *look == now).is_some()
    }

    /// The next request that a device has completed by now.
    pub(super) fn completed(&mut self, now: Instant, device: u16) -> Option<u64> {
        self.device(device).queue.complete(now)
    }

    /// When to look at a device again, if that is news.
    pub(super) fn news(&mut self, device: u16) -> Option<Instant> {
        self.device(device).news()
    }

    /// `bytes` were read.
    pub(super) fn count_read(&mut self, device: u16, bytes: u64) {
        let figures = &mut self.device(device).figures;
        figures.bytes += bytes;
        figures.requests += 1;
        if device != TIER {
            self.sizes.add(bytes);
        }
    }

    /// `bytes` were written.
    pub(super) fn count_written(&mut self, device: u16, bytes: u64) {
        self.device(device).figures.written += bytes;
    }

    /// Begins to count anew.
    pub(super) fn clear(&mut self) {
        self.sizes.clear();
        for Device { figures, .. } in self.devices.iter_mut().chain(&mut self.tier) {
            (figures.bytes, figures.requests, figures.written) = (0, 0, 0);
        }
    }

    pub(super) fn figures(&self) -> Vec<DeviceFigures> {
        self.devices.iter().map(|device| device.figures.clone()).collect()
    }

    /// Those of the disk tier's disk.
    pub(super) fn tier_figures(&self) -> Option<&DeviceFigures> {
        Some(&self.tier.as_ref()?.figures)
    }
}

impl DeviceSetup {
    /// The device, new; `seed` fixes all that is random in it.
    fn queue(&self, seed: u64) -> Result<Box<dyn Queue>, Error> {
        if self.slowdowns.is_empty() {
            return Ok(self.description.queue(seed, &self.scheduler)?);
        }
        let slowed = Slowed::new(self.description.build(seed)?, &self.slowdowns);
        let model = slowed.map_err(|error| Error::Setup(error.to_string()))?;
        Ok(Box::new(DeviceQueue::new(Box::new(model), self.scheduler.build())))
    }
}

/// A network with so many endpoints.
pub(super) fn network(link: &network::Description, endpoints: u32) -> Result<Network, Error> {
    let description = network::Description { endpoints, ..*link };
    Network::new(&description).map_err(|reason| Error::Setup(format!("network: {reason}")))
}

impl Device {
    fn new(name: String, queue: Box<dyn Queue>) -> Device {
        let (cost, capacity) = (queue.cost(), queue.capacity());
        Device {
            queue,
            cost,
            capacity,
            figures: DeviceFigures { device: name, ..DeviceFigures::default() },
            look: None,
        }
    }

    fn news(&mut self) -> Option<Instant> {
        let next = self.queue.next_completion()?;
        if self.look == Some(next) {
            return None;
        }
        self.look = Some(next);
        Some(next)
    }
}

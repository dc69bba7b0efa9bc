//! How the cache is divided among devices, as a value.

use alloc::boxed::Box;

use crate::auto::worth::{WINDOW, Worth};
use crate::engine::Setup;
use crate::papers::sac::{Division, Scheme, Settings, Weights};
use crate::seams::Divider;

/// How the cache is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Partition {
    /// It is not.
    #[default]
    Whole,
    /// One partition a device, of some size (SAC).
    ByDevice(Settings),
    /// One partition a device without a size: the frames that are worth least go.
    ByWorth,
}

impl Partition {
    /// One partition a device, with SAC's own settings.
    pub const fn paper(scheme: Scheme) -> Partition {
        Partition::ByDevice(Settings::paper(scheme))
    }

    /// The settings of sizes, if there are any.
    pub fn settings(&self) -> Option<&Settings> {
        match self {
            Partition::Whole | Partition::ByWorth => None,
            Partition::ByDevice(settings) => Some(settings),
        }
    }

    /// The same, to change.
    pub fn settings_mut(&mut self) -> Option<&mut Settings> {
        match self {
            Partition::Whole | Partition::ByWorth => None,
            Partition::ByDevice(settings) => Some(settings),
        }
    }

    /// Builds it, for a sound setup; with `loops` program contexts have partitions, too. `None` if
    /// the cache is not divided: with more than `most` devices, or by worth with a single one.
    pub(super) fn build(self, setup: &Setup, most: usize, loops: bool) -> Option<Box<dyn Divider>> {
        let (frames, devices) = (setup.frames, &setup.devices);
        match self {
            _ if devices.len() > most => None,
            Partition::ByDevice(settings) => Some(Box::new(Division::new(frames, devices, settings))),
            Partition::ByWorth if devices.len() > 1 => {
                Some(Box::new(Worth::new(Weights::EQUAL.sizes(frames, devices), WINDOW, loops)))
            }
            Partition::Whole | Partition::ByWorth => None,
        }
    }
}

//! Engines whose cache may be divided among devices, and what must hold of them after every event.

use forebay_core::index::Hashed;
use forebay_core::{Actions, Core, DeviceCost, DeviceId, Event, EventKind, FileId, Instant, Policy, Setup};

pub(crate) const BLOCK: u32 = 4096;
pub(crate) const BLOCKS: u32 = 1 << 20;

/// An engine over this many devices with a long file each, whose number is the device's.
pub(crate) fn core(policy: &str, frames: u32, devices: u32) -> Box<dyn Core> {
    let policy: Policy = policy.parse().unwrap_or_else(|error| panic!("{error}"));
    let setup = Setup {
        frames,
        block_bytes: BLOCK,
        streams: 16,
        devices: vec![DeviceCost::flat(5_000_000, 50_000_000, 1); devices as usize],
        referenced: Default::default(),
    };
    let mut core = policy.build::<Hashed>(setup);
    for device in 0..devices {
        let kind = EventKind::Open {
            file: FileId(device),
            device: DeviceId(device as u16),
            bytes: u64::from(BLOCKS) * u64::from(BLOCK),
        };
        core.handle(&[Event { at: Instant(0), kind }], &mut Actions::new());
    }
    core
}

/// Every frame is free or a device's; the sizes are those of the cache.
pub(crate) fn conserved(core: &dyn Core) {
    core.check();
    let (all, free) = core.frames();
    let held: u32 = core.devices().iter().map(|device| device.frames).sum();
    assert_eq!(held + free, all, "frames of devices and free ones");
    if let Some(division) = core.divider() {
        assert_eq!(division.shares().iter().map(|share| share.size).sum::<u32>(), all, "sizes");
        assert_eq!(division.shares().len(), core.devices().len());
    }
}

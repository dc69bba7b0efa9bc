//! How files lie over several devices (RAID-0), and where the bytes of a striped file are.
//!
//! ```text
//!  devices         0        1        2
//!               ┌──────┐ ┌──────┐ ┌──────┐
//!               │ a  b │ │ c  d │ │ e  f │   one unit of two blocks a row and device: of this file device 1 has the run
//!               │ g  h │ │ i  j │ │ k  l │   c d i j, at the same place as device 0 has a b g h
//!               └──────┘ └──────┘ └──────┘
//! ```

/// How files lie over several devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Striping {
    /// Each lies on one of them.
    #[default]
    Off,
    /// All devices are one array with stripe units of so many bytes, each behind its own scheduler.
    /// Caches know nothing of it: they see one device.
    Array(u64),
    /// Every file is striped over all devices in units of so many bytes, whole blocks, from the
    /// first device on. Caches know the places (SAC §4.1): each fetch goes to one device, and each
    /// device has a partition if policies part the cache.
    Files(u64),
}

/// Striped files: bytes of a unit, and how many devices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stripes {
    pub(super) unit: u64,
    pub(super) devices: u64,
}

impl Stripes {
    /// The bytes of a file of this size on each device; the last row may have gaps.
    pub(super) fn share(self, bytes: u64) -> u64 {
        bytes.div_ceil(self.unit.saturating_mul(self.devices)).saturating_mul(self.unit)
    }

    /// The place of a file's byte among the file's bytes on its device.
    pub(super) fn own_byte(self, byte: u64) -> u64 {
        byte / self.unit / self.devices * self.unit + byte % self.unit
    }

    /// The part of `start..end` on each device that has one: its first byte among the file's bytes
    /// there, and how many.
    pub(super) fn parts(self, start: u64, end: u64) -> impl Iterator<Item = (u16, u64, u64)> {
        (0..self.devices).filter_map(move |device| {
            let (from, to) = (self.before(device, start), self.before(device, end));
            (from < to).then_some((device as u16, from, to - from))
        })
    }

    /// How many bytes of a file before `byte` lie on `device`.
    fn before(self, device: u64, byte: u64) -> u64 {
        let row = self.unit * self.devices;
        let rest = (byte % row).saturating_sub(self.unit * device).min(self.unit);
        byte / row * self.unit + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against bytes that are dealt out one by one.
        #[test]
        fn bytes_are_dealt_out_unit_by_unit(unit in 1u64..9, devices in 1u64..6, start in 0u64..100, len in 0u64..100) {
            let stripes = Stripes { unit, devices };
            let mut dealt = vec![Vec::new(); devices as usize];
            for byte in 0..start + len {
                let device = &mut dealt[(byte / unit % devices) as usize];
                prop_assert_eq!(stripes.own_byte(byte), device.len() as u64);
                device.push(byte);
            }
            let longest = dealt.iter().map(Vec::len).max().unwrap_or(0) as u64;
            let share = stripes.share(start + len);
            prop_assert!(share >= longest && share < longest + unit && share.is_multiple_of(unit));
            let naive: Vec<(u16, u64, u64)> = (0u16..).zip(&dealt).filter_map(|(number, bytes)| {
                let from = bytes.partition_point(|&byte| byte < start);
                (from < bytes.len()).then_some((number, from as u64, (bytes.len() - from) as u64))
            }).collect();
            prop_assert_eq!(stripes.parts(start, start + len).collect::<Vec<_>>(), naive);
        }
    }
}

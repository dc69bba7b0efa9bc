//! The sizes that a divided cache begins with, and a static one keeps (SAC §5.2).

use alloc::vec::Vec;

use crate::device::DeviceCost;

/// How many weights can be given.
pub const MOST_WEIGHTS: usize = 32;

/// The proportion of sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Weights {
    /// "Directly proportional to the ratio of the expected service time of each disk" for requests
    /// of this many bytes (SAC §5.2).
    Service(u32),
    /// These, by device; the last one is also that of all further devices.
    Given {
        /// The first `len` of them count.
        weights: [u16; MOST_WEIGHTS],
        /// How many are given, at least 1.
        len: u8,
    },
}

impl Weights {
    /// All alike.
    pub const EQUAL: Weights = Weights::Given { weights: [1; MOST_WEIGHTS], len: 1 };

    /// The weights of a list; `None` if it is empty or too long, or has a zero in it.
    pub fn given(list: &[u16]) -> Option<Weights> {
        let len = u8::try_from(list.len()).ok().filter(|&len| len > 0 && usize::from(len) <= MOST_WEIGHTS)?;
        let mut weights = [1; MOST_WEIGHTS];
        weights[..list.len()].copy_from_slice(list);
        list.iter().all(|&weight| weight > 0).then_some(Weights::Given { weights, len })
    }

    /// The given weights, if sizes go by them.
    pub fn as_given(&self) -> Option<&[u16]> {
        match self {
            Weights::Service(_) => None,
            Weights::Given { weights, len } => weights.get(..usize::from(*len)),
        }
    }

    fn of(&self, number: usize, device: &DeviceCost) -> u64 {
        match self {
            Weights::Service(bytes) => service_time(device, *bytes).max(1),
            Weights::Given { .. } => {
                let given = self.as_given().unwrap_or_default();
                given.get(number).or(given.last()).map_or(1, |&weight| u64::from(weight.max(1)))
            }
        }
    }

    /// `frames` in proportion, each at least one as long as there are as many; they add up to
    /// `frames`.
    pub fn sizes(&self, frames: u32, devices: &[DeviceCost]) -> Vec<u32> {
        let weights: Vec<u64> = devices.iter().enumerate().map(|(number, device)| self.of(number, device)).collect();
        let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum::<u128>().max(1);
        // Running sums are rounded: the next partition gets the frames that one loses by rounding.
        let mut before: u128 = 0;
        let mut sizes: Vec<u32> = weights
            .iter()
            .map(|&weight| {
                let from = before * u128::from(frames) / total;
                before += u128::from(weight);
                (before * u128::from(frames) / total - from) as u32
            })
            .collect();
        for poorest in 0..sizes.len() {
            let Some(richest) = (0..sizes.len()).max_by_key(|&number| sizes[number]) else { break };
            if sizes[poorest] == 0 && sizes[richest] > 1 {
                sizes[richest] -= 1;
                sizes[poorest] = 1;
            }
        }
        sizes
    }
}

/// "As a function of its seek time, rotation delay, and peak bandwidth", nanoseconds.
fn service_time(device: &DeviceCost, bytes: u32) -> u64 {
    let peak = device.zones.iter().map(|zone| zone.1).max().unwrap_or(0).max(1);
    let transfer = u64::from(bytes).saturating_mul(1_000_000_000) / peak;
    device.switch_cost(device.mean_distance()).saturating_add(transfer)
}

//! The core's knowledge of a device: the cost of a switch, and its transfer rate (CP §2, CPEM §3).
//!
//! A measured profile or a device model gives these two curves; the core keeps the weighted mean of
//! seek distances beside them and answers with the competitive depth.

use alloc::vec;
use alloc::vec::Vec;

/// The cost of reading from a device. Distances and places are in bytes on the device, costs in
/// nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeviceCost {
    /// f_seek: (distance, nanoseconds), ascending in distance; straight lines between. One point is
    /// a constant. For a store that doesn't seek, its time to first byte.
    pub seek: Vec<(u64, u64)>,
    /// Half a revolution, nanoseconds; zero where nothing turns.
    pub half_revolution: u64,
    /// f_transfer: (first byte of the zone, bytes per second), ascending in place, the first at
    /// zero.
    pub zones: Vec<(u64, u64)>,
    /// The size of the device in bytes; zero if it has no places.
    pub capacity: u64,
    /// How many requests it serves at once without slowing each other: 1 for a disk.
    pub channels: u32,
}

impl DeviceCost {
    /// A store without places: `first_byte` nanoseconds to the first byte of a request, then `rate`
    /// bytes per second on each of `channels` connections.
    pub fn flat(first_byte: u64, rate: u64, channels: u32) -> DeviceCost {
        let (seek, zones) = (vec![(0, first_byte)], vec![(0, rate)]);
        DeviceCost { seek, half_revolution: 0, zones, capacity: 0, channels }
    }

    /// f_seek at `distance`: nanoseconds. Beyond the last point the curve stays level.
    pub fn seek_time(&self, distance: u64) -> u64 {
        let after = self.seek.partition_point(|&(d, _)| d <= distance);
        match (after.checked_sub(1).map(|i| self.seek[i]), self.seek.get(after)) {
            (Some((d0, t0)), Some(&(d1, t1))) => {
                let rise = i128::from(t1) - i128::from(t0);
                let share = i128::from(distance - d0);
                (i128::from(t0) + rise * share / i128::from(d1 - d0)) as u64
            }
            (Some((_, t)), None) | (None, Some(&(_, t))) => t,
            (None, None) => 0,
        }
    }

    /// f_transfer at `place`: bytes per second.
    pub fn transfer_rate(&self, place: u64) -> u64 {
        let after = self.zones.partition_point(|&(from, _)| from <= place);
        after.checked_sub(1).or(Some(0)).and_then(|i| self.zones.get(i)).map_or(0, |&(_, rate)| rate)
    }

    /// C_switch: the cost of going elsewhere, nanoseconds, after a seek of `distance`.
    pub fn switch_cost(&self, distance: u64) -> u64 {
        self.seek_time(distance).saturating_add(self.half_revolution)
    }

    /// S_p = C_switch · R_tr (CP Eq. 5): the bytes that the device transfers at `place` in the time
    /// of one switch.
    pub fn competitive_depth(&self, distance: u64, place: u64) -> u64 {
        let bytes = u128::from(self.switch_cost(distance)) * u128::from(self.transfer_rate(place)) / 1_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// The rate of an offline optimum in 10^6 bytes a second, if it fetches each request of `bytes`
    /// in one piece: S / (S/R + C) (CP §3.2), with the mean transfer rate and the mean switch cost
    /// of two independent places. A yardstick: no policy goes by it.
    pub fn optimum(&self, bytes: f64) -> f64 {
        let switch = self.switch_cost(self.mean_distance()) as f64 / 1e9;
        bytes / (bytes / self.mean_rate() + switch) / 1e6
    }

    /// The transfer rate averaged over all places, in bytes a second.
    fn mean_rate(&self) -> f64 {
        let capacity = self.capacity.max(1);
        let ends = self.zones.iter().skip(1).map(|zone| zone.0).chain([capacity]);
        let weighted = self.zones.iter().zip(ends).map(|(&(from, rate), to)| {
            let share = to.min(capacity).saturating_sub(from) as f64 / capacity as f64;
            share * rate as f64
        });
        let sum: f64 = weighted.sum();
        if sum > 0.0 { sum } else { self.transfer_rate(0) as f64 }
    }

    /// The mean distance between two independent uniform places: a third of the device. D_seek
    /// starts from it.
    pub fn mean_distance(&self) -> u64 {
        self.capacity / 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CP §2: 51.3 MB/s, 7.53 ms mean seek, 3.00 ms rotation justify "around 540 KB".
    #[test]
    fn ibm_drive_justifies_540_kb() {
        let ibm = DeviceCost {
            seek: vec![(0, 0), (12_000_000_000, 7_530_000), (36_400_000_000, 13_000_000)],
            half_revolution: 3_000_000,
            zones: vec![(0, 51_300_000)],
            capacity: 36_000_000_000,
            channels: 1,
        };
        let depth = ibm.competitive_depth(ibm.mean_distance(), 0);
        assert_eq!(depth, 540_189); // 10.53 ms · 51.3 MB/s
    }

    #[test]
    fn curves_interpolate_and_stay_level_outside() {
        let cost = DeviceCost {
            seek: vec![(10, 100), (20, 300)],
            half_revolution: 5,
            zones: vec![(0, 1000), (50, 500)],
            capacity: 100,
            channels: 1,
        };
        assert_eq!([0, 10, 15, 20, 99].map(|d| cost.seek_time(d)), [100, 100, 200, 300, 300]);
        assert_eq!([0, 49, 50, 1000].map(|p| cost.transfer_rate(p)), [1000, 1000, 500, 500]);
        assert_eq!(cost.switch_cost(15), 205);
    }
}

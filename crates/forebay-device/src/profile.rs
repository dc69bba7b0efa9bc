//! The measurements of a device: kept on disk between runs, turned into the costs that the core
//! uses.

use forebay_core::DeviceCost;
use serde::{Deserialize, Serialize};

/// Whether a read costs more the farther it is from the last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An arm: a seek curve and zones.
    Disk,
    /// Flash, a network: a time to the first byte and a rate.
    Flat,
}

/// A measured device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The kind of device.
    pub kind: Kind,
    /// The device's name: the same string for the same device, each time it is looked at.
    pub device: String,
    /// When it was measured, in seconds since 1970.
    pub measured: u64,
    /// Size in bytes; zero if it has no places.
    pub capacity: u64,
    /// Requests that it serves at once without slowing each other.
    pub channels: u32,
    /// Nanoseconds to the first byte, in the median: over all distances for a disk, half a
    /// revolution included.
    pub first_byte: u64,
    /// Bytes a second of one request once it flows, in the median over all places.
    pub rate: u64,
    /// Nanoseconds of half a revolution; zero where nothing turns.
    pub half_revolution: u64,
    /// Of a disk: (distance in bytes, nanoseconds), ascending.
    #[serde(default)]
    pub seek: Vec<(u64, u64)>,
    /// Of a disk: (first byte of the zone, bytes a second), ascending.
    #[serde(default)]
    pub zones: Vec<(u64, u64)>,
}

impl Profile {
    /// The costs for the core.
    pub fn cost(&self) -> DeviceCost {
        let flat = DeviceCost::flat(self.first_byte, self.rate, self.channels.max(1));
        if self.kind == Kind::Flat || self.seek.is_empty() {
            return flat;
        }
        let zones = if self.zones.is_empty() { flat.zones } else { self.zones.clone() };
        let (seek, half_revolution) = (self.seek.clone(), self.half_revolution);
        DeviceCost { seek, half_revolution, zones, capacity: self.capacity, channels: self.channels.max(1) }
    }

    /// The fault in it, if any: a file may have been edited, or damaged in a way that still parses.
    pub fn check(&self) -> Result<(), &'static str> {
        let ascending = |points: &[(u64, u64)]| points.is_sorted_by(|a, b| a.0 < b.0);
        if self.rate == 0 || self.zones.iter().any(|&(_, rate)| rate == 0) {
            return Err("a rate is zero");
        }
        if !ascending(&self.seek) || !ascending(&self.zones) {
            return Err("points are out of order");
        }
        if self.zones.first().is_some_and(|&(from, _)| from != 0) {
            return Err("the first zone does not begin at zero");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(kind: Kind) -> Profile {
        Profile {
            kind,
            device: "test".into(),
            measured: 1,
            capacity: 1000,
            channels: 2,
            first_byte: 50,
            rate: 7,
            half_revolution: 3,
            seek: vec![(1, 10), (100, 90)],
            zones: vec![(0, 9), (500, 5)],
        }
    }

    #[test]
    fn costs_follow_the_kind() {
        assert_eq!(profile(Kind::Flat).cost(), DeviceCost::flat(50, 7, 2));
        let disk = profile(Kind::Disk).cost();
        assert_eq!((disk.switch_cost(100), disk.transfer_rate(600), disk.capacity), (93, 5, 1000));
    }

    #[test]
    fn survives_both_formats() {
        for kind in [Kind::Disk, Kind::Flat] {
            let profile = profile(kind);
            assert_eq!(serde_json::from_str::<Profile>(&serde_json::to_string(&profile).unwrap()).unwrap(), profile);
            assert_eq!(toml::from_str::<Profile>(&toml::to_string(&profile).unwrap()).unwrap(), profile);
        }
    }

    #[test]
    fn damage_is_noticed() {
        let good = profile(Kind::Disk);
        assert_eq!(good.check(), Ok(()));
        for bad in [
            Profile { rate: 0, ..good.clone() },
            Profile { seek: vec![(5, 1), (5, 2)], ..good.clone() },
            Profile { zones: vec![(5, 1)], ..good.clone() },
        ] {
            assert!(bad.check().is_err());
        }
    }
}

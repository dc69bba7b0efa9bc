//! Where a disk's sectors are: zones from the rim to the hub, with fewer sectors a track towards the hub, so that the rate
//! falls with the place. Sectors fill a track, then the cylinder's other tracks, then the next cylinder. Each track starts a
//! little later on its circle than the one before (skew), so that a head or track switch costs no revolution.

use serde::{Deserialize, Serialize};

/// Bytes of a sector.
pub const SECTOR: u64 = 512;

/// The zones as they are written in a description: two lists of the same length, from the rim to the hub.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zones {
    /// Cylinders of each zone.
    pub cylinders: Vec<u32>,
    /// Sectors a track of each zone.
    pub sectors: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Zone {
    first_sector: u64,
    first_cylinder: u64,
    sectors: u64,
    track_skew: u64,
    cylinder_skew: u64,
}

/// The map from sectors to places.
#[derive(Clone, Debug)]
pub struct Geometry {
    zones: Vec<Zone>,
    heads: u64,
    cylinders: u64,
    total: u64,
}

/// Where a sector is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Place {
    /// Cylinders from the rim.
    pub cylinder: u64,
    /// Which surface.
    pub head: u64,
    /// Where on the circle the sector begins, in revolutions: 0 ≤ angle < 1.
    pub angle: f64,
    /// Sectors of this track.
    pub sectors: u64,
    /// Sectors from this one to the end of its track, itself included.
    pub left: u64,
}

impl Geometry {
    /// The map of `zones` on `heads` surfaces. Skews cover `head_switch` and `cylinder_switch`, which are in revolutions.
    pub(crate) fn new(
        zones: &Zones,
        heads: u32,
        head_switch: f64,
        cylinder_switch: f64,
    ) -> Result<Geometry, &'static str> {
        if zones.cylinders.len() != zones.sectors.len() {
            return Err("`zones.cylinders` and `zones.sectors` must be equally long");
        }
        if zones.cylinders.is_empty() || zones.cylinders.contains(&0) || zones.sectors.contains(&0) || heads == 0 {
            return Err("a disk needs heads, zones, cylinders and sectors");
        }
        let heads = u64::from(heads);
        let mut map = Geometry { zones: Vec::new(), heads, cylinders: 0, total: 0 };
        for (&cylinders, &sectors) in zones.cylinders.iter().zip(&zones.sectors) {
            let sectors = u64::from(sectors);
            let skew = |revolutions: f64| (revolutions * sectors as f64).ceil() as u64;
            map.zones.push(Zone {
                first_sector: map.total,
                first_cylinder: map.cylinders,
                sectors,
                track_skew: skew(head_switch),
                cylinder_skew: skew(cylinder_switch),
            });
            let size = u64::from(cylinders).checked_mul(heads * sectors).filter(|&size| size < 1 << 50);
            map.total += size.ok_or("a zone is too large")?;
            map.cylinders += u64::from(cylinders);
        }
        Ok(map)
    }

    /// Sectors of the disk.
    pub fn sectors(&self) -> u64 {
        self.total
    }

    /// Cylinders of the disk.
    pub fn cylinders(&self) -> u64 {
        self.cylinders
    }

    fn zone(&self, sector: u64) -> &Zone {
        &self.zones[self.zones.partition_point(|zone| zone.first_sector <= sector).saturating_sub(1)]
    }

    /// Where `sector` is; the last one stands for those beyond the end.
    pub fn locate(&self, sector: u64) -> Place {
        let sector = sector.min(self.total - 1);
        let zone = self.zone(sector);
        let (track, within) =
            ((sector - zone.first_sector) / zone.sectors, (sector - zone.first_sector) % zone.sectors);
        let (cylinder, head) = (track / self.heads, track % self.heads);
        let per_cylinder = (self.heads - 1) * zone.track_skew + zone.cylinder_skew;
        let turned = (within + cylinder * per_cylinder + head * zone.track_skew) % zone.sectors;
        Place {
            cylinder: zone.first_cylinder + cylinder,
            head,
            angle: turned as f64 / zone.sectors as f64,
            sectors: zone.sectors,
            left: zone.sectors - within,
        }
    }

    /// The zones as (first byte, bytes a revolution in the long run, switches included).
    pub fn pace(&self) -> impl Iterator<Item = (u64, f64)> {
        self.zones.iter().map(|zone| {
            let (heads, sectors) = (self.heads as f64, zone.sectors as f64);
            let skews = (heads - 1.0) * zone.track_skew as f64 + zone.cylinder_skew as f64;
            let revolutions = heads + skews / sectors;
            (zone.first_sector * SECTOR, heads * sectors * SECTOR as f64 / revolutions)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Finds a sector by walking every track from the rim.
    fn naive(zones: &Zones, heads: u64, sector: u64) -> (u64, u64, u64) {
        let (mut at, mut cylinder) = (0, 0);
        for (&cylinders, &sectors) in zones.cylinders.iter().zip(&zones.sectors) {
            for _ in 0..cylinders {
                for head in 0..heads {
                    if sector < at + u64::from(sectors) {
                        return (cylinder, head, sector - at);
                    }
                    at += u64::from(sectors);
                }
                cylinder += 1;
            }
        }
        unreachable!("inside the disk")
    }

    proptest! {
        #[test]
        fn finds_what_a_walk_finds(
            zones in proptest::collection::vec((1u32..5, 1u32..9), 1..5),
            heads in 1u32..4,
            seed in any::<u64>(),
        ) {
            let (cylinders, sectors) = zones.into_iter().unzip();
            let zones = Zones { cylinders, sectors };
            let map = Geometry::new(&zones, heads, 0.0, 0.0).unwrap();
            let sector = seed % map.sectors();
            let place = map.locate(sector);
            let (cylinder, head, within) = naive(&zones, u64::from(heads), sector);
            prop_assert_eq!((place.cylinder, place.head), (cylinder, head));
            prop_assert_eq!(place.left, place.sectors - within);
            prop_assert!((place.angle - within as f64 / place.sectors as f64).abs() < 1e-12);
        }
    }

    #[test]
    fn skew_moves_the_start_of_each_track() {
        let zones = Zones { cylinders: vec![3], sectors: vec![100] };
        let map = Geometry::new(&zones, 2, 0.1, 0.2).unwrap();
        let starts: Vec<f64> = (0..6).map(|track| map.locate(track * 100).angle).collect();
        assert_eq!(starts, [0.0, 0.1, 0.3, 0.4, 0.6, 0.7]);
        let (_, pace) = map.pace().next().unwrap();
        assert!((pace - 2.0 * 51_200.0 / 2.3).abs() < 1e-6);
    }
}

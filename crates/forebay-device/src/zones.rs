//! Where a disk's sectors are: zones from the rim to the hub, with fewer sectors a track towards
//! the hub, so that the rate falls with the place. Sectors fill a track, then the cylinder's other
//! tracks, then the next cylinder. Each track starts a little later on its circle than the one
//! before (skew), so that a head or track switch costs no revolution. Two lists describe it, or a
//! [`Layout`] that knows skews, spares and bad sectors.

use serde::{Deserialize, Serialize};

use crate::layout::{Layout, Mapping, Plan, Sparing, Zone};
use crate::rotation::part;

/// Bytes of a sector.
pub const SECTOR: u64 = 512;

/// The most sectors of a track, and the most heads of a disk.
const MOST: u32 = 1 << 20;

/// The zones as they are written in a description: two lists of the same length, from the rim to
/// the hub.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zones {
    /// Cylinders of each zone.
    pub cylinders: Vec<u32>,
    /// Sectors a track of each zone.
    pub sectors: Vec<u32>,
}

impl Zones {
    /// Whether both lists are empty.
    pub fn is_empty(&self) -> bool {
        self.cylinders.is_empty() && self.sectors.is_empty()
    }

    /// The same as a layout whose skews cover `head_switch` and `cylinder_switch`, which are in
    /// revolutions.
    fn layout(&self, head_switch: f64, cylinder_switch: f64) -> Result<Layout, &'static str> {
        if self.cylinders.len() != self.sectors.len() {
            return Err("`zones.cylinders` and `zones.sectors` must be equally long");
        }
        if self.cylinders.is_empty() || self.cylinders.contains(&0) {
            return Err("a disk needs heads, zones, cylinders and sectors");
        }
        if head_switch >= 1.0 || cylinder_switch >= 1.0 {
            return Err("a switch takes less than a revolution");
        }
        let mut first_cylinder = 0u32;
        let mut layout =
            Layout { mapping: Mapping::default(), sparing: Default::default(), range: 1, zone: Vec::new() };
        for (&cylinders, &sectors) in self.cylinders.iter().zip(&self.sectors) {
            let next = first_cylinder.checked_add(cylinders).ok_or("the disk is too large")?;
            let skew = |revolutions: f64| (revolutions * f64::from(sectors)).ceil();
            layout.zone.push(Zone {
                first_cylinder,
                last_cylinder: next - 1,
                sectors,
                offset: 0.0,
                front: 0,
                track_skew: skew(head_switch),
                cylinder_skew: skew(cylinder_switch),
                spares: 0,
                slips: Vec::new(),
                defects: Vec::new(),
            });
            first_cylinder = next;
        }
        Ok(layout)
    }
}

#[derive(Clone, Debug)]
struct Band {
    first_sector: u64,
    first_cylinder: u64,
    sectors: u64,
    offset: f64,
    track_skew: f64,
    cylinder_skew: f64,
    /// Sectors before the first one of the user.
    front: u64,
    plan: Plan,
}

/// The map from sectors to places.
#[derive(Clone, Debug)]
pub struct Geometry {
    bands: Vec<Band>,
    mapping: Mapping,
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
    /// Sectors from this one on that lie side by side on the track, itself included: to the track's
    /// end or a bad sector.
    pub left: u64,
}

impl Place {
    /// Whether the other is on the same track.
    pub fn same_track(&self, other: &Place) -> bool {
        self.cylinder == other.cylinder && self.head == other.head
    }
}

impl Geometry {
    /// The map of `zones` on `heads` surfaces. Skews cover `head_switch` and `cylinder_switch`,
    /// which are in revolutions.
    pub(crate) fn new(
        zones: &Zones,
        heads: u32,
        head_switch: f64,
        cylinder_switch: f64,
    ) -> Result<Geometry, &'static str> {
        Geometry::of(&zones.layout(head_switch, cylinder_switch)?, heads)
    }

    /// The map of a layout on `heads` surfaces.
    pub(crate) fn of(layout: &Layout, heads: u32) -> Result<Geometry, &'static str> {
        if layout.zone.is_empty() || heads == 0 || layout.zone.iter().any(|zone| zone.sectors == 0) {
            return Err("a disk needs heads, zones, cylinders and sectors");
        }
        if heads > MOST || layout.zone.iter().any(|zone| zone.sectors > MOST) {
            return Err("a disk has at most 1,048,576 heads and sectors a track");
        }
        let mut map =
            Geometry { bands: Vec::new(), mapping: layout.mapping, heads: heads.into(), cylinders: 0, total: 0 };
        for zone in &layout.zone {
            map.add(layout, zone)?;
        }
        Ok(map)
    }

    fn add(&mut self, layout: &Layout, zone: &Zone) -> Result<(), &'static str> {
        let first_cylinder = u64::from(zone.first_cylinder);
        if zone.cylinders() == 0 || first_cylinder < self.cylinders {
            return Err("zones must ascend in cylinders, each with one at least");
        }
        let turn = 0.0..=f64::from(zone.sectors);
        if ![zone.offset, zone.track_skew, zone.cylinder_skew].iter().all(|angle| turn.contains(angle)) {
            return Err("a zone's offset and skews must be from 0 to a revolution");
        }
        // Bad tracks are kept sector by sector.
        let bad = zone.slips.len().saturating_add(zone.defects.len());
        if layout.sparing == Sparing::Tracks && bad.saturating_mul(zone.sectors as usize) > 1 << 22 {
            return Err("a zone has too many slips or defects");
        }
        let places = u128::from(zone.cylinders()) * u128::from(self.heads) * u128::from(zone.sectors);
        if places >= 1 << 50 || self.total >= 1 << 50 {
            return Err("the disk is too large");
        }
        let plan = Plan::new(layout, zone, self.heads).ok_or("a zone has no room for data")?;
        let size = plan.size;
        self.bands.push(Band {
            first_sector: self.total,
            first_cylinder,
            sectors: zone.sectors.into(),
            offset: zone.offset,
            track_skew: zone.track_skew,
            cylinder_skew: zone.cylinder_skew,
            front: zone.front.into(),
            plan,
        });
        self.total += size;
        self.cylinders = u64::from(zone.last_cylinder) + 1;
        if self.total < 1 << 50 { Ok(()) } else { Err("the disk is too large") }
    }

    /// Sectors of the disk.
    pub fn sectors(&self) -> u64 {
        self.total
    }

    /// Cylinders of the disk.
    pub fn cylinders(&self) -> u64 {
        self.cylinders
    }

    fn band(&self, sector: u64) -> &Band {
        &self.bands[self.bands.partition_point(|band| band.first_sector <= sector).saturating_sub(1)]
    }

    /// Where `sector` is; the last one stands for those beyond the end.
    pub fn locate(&self, sector: u64) -> Place {
        let sector = sector.min(self.total - 1);
        let band = self.band(sector);
        let (place, run) = band.plan.place(sector - band.first_sector + band.front);
        let (track, within) = (place / band.sectors, place % band.sectors);
        let (cylinder, turn) = (track / self.heads, track % self.heads);
        let backwards = match self.mapping {
            Mapping::Cylinders => false,
            Mapping::Serpentine => cylinder % 2 == 1,
            Mapping::SerpentineOdd => (band.first_cylinder + cylinder) % 2 == 1,
        };
        // The n-th track in mapping order is turned by n switches between tracks, or cylinders,
        // before it.
        let switches = (turn + (self.heads - 1) * cylinder) as f64;
        let slipped = band.plan.turned(place) as f64;
        let turned = band.offset + switches * band.track_skew + cylinder as f64 * band.cylinder_skew + slipped;
        let circle = band.sectors as f64;
        Place {
            cylinder: band.first_cylinder + cylinder,
            head: if backwards { self.heads - 1 - turn } else { turn },
            angle: part((turned + within as f64) / circle),
            sectors: band.sectors,
            left: run.min(band.sectors - within),
        }
    }

    /// The sectors `first..end` that lie on the same track as `sector`.
    pub fn track(&self, sector: u64) -> (u64, u64) {
        self.around(sector, 1)
    }

    /// The sectors `first..end` that lie on the same cylinder as `sector`.
    pub fn cylinder(&self, sector: u64) -> (u64, u64) {
        self.around(sector, self.heads)
    }

    fn around(&self, sector: u64, tracks: u64) -> (u64, u64) {
        let sector = sector.min(self.total - 1);
        let band = self.band(sector);
        let size = band.sectors * tracks;
        let (place, _) = band.plan.place(sector - band.first_sector + band.front);
        let at = |place| {
            let within = band.plan.before(place).saturating_sub(band.front).min(band.plan.size);
            band.first_sector + within
        };
        let first = place / size * size;
        (at(first).min(sector), at(first + size).max(sector + 1))
    }

    /// The zones as (first byte, bytes a revolution in the long run, switches included).
    pub fn pace(&self) -> impl Iterator<Item = (u64, f64)> {
        self.bands.iter().map(|band| {
            let (heads, sectors) = (self.heads as f64, band.sectors as f64);
            let skews = (heads - 1.0) * band.track_skew + band.cylinder_skew;
            let revolutions = heads + skews / sectors;
            (band.first_sector * SECTOR, heads * sectors * SECTOR as f64 / revolutions)
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

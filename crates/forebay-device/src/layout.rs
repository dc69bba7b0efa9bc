//! How logical sectors are laid on a disk's tracks, in full: zones with their skews, the sectors
//! and tracks kept in reserve, and the bad ones that are skipped or replaced. DiskSim's parameter
//! files ("dm_layout_g1") have the same.
//!
//! ```text
//!  zone, in mapping order │ front │ sectors … │ slipped │ sectors … │ spares │ next unit …
//!                          reserved            skipped               of a track, cylinder, range of cylinders, or zone
//! ```

use serde::{Deserialize, Serialize};

/// A layout as it is written in a description.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// The order of tracks.
    #[serde(default)]
    pub mapping: Mapping,
    /// Where spares are.
    #[serde(default)]
    pub sparing: Sparing,
    /// Cylinders that share their spares, for `sparing = "range"`.
    #[serde(default = "one")]
    pub range: u32,
    /// The zones, from the rim to the hub.
    pub zone: Vec<Zone>,
}

fn one() -> u32 {
    1
}

/// In which order the tracks of a zone are filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mapping {
    /// Surface by surface, then the next cylinder, from the first surface again.
    #[default]
    Cylinders,
    /// The same, but every second cylinder of a zone from the last surface back to the first.
    Serpentine,
    /// The same, but every odd cylinder of the disk backwards.
    SerpentineOdd,
}

/// Where sectors are kept in reserve, and how bad ones move those after them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sparing {
    /// No spares.
    #[default]
    None,
    /// Whole tracks at the end of a zone; slips and defects are tracks.
    Tracks,
    /// At the end of each track.
    Track,
    /// At the end of each cylinder.
    Cylinder,
    /// At the end of each cylinder; slips push everything to the end of the zone.
    CylinderSlipToEnd,
    /// At the front of each cylinder; slips push its end among the next one's spares.
    CylinderFront,
    /// At the front of each cylinder; slips push everything to the end of the zone.
    CylinderFrontSlipToEnd,
    /// At the end of the disk: slips push everything to the end of the zone.
    Disk,
    /// At the end of each range of cylinders.
    Range,
    /// At the end of each zone.
    Zone,
    /// At the end of each zone, which slips make shorter.
    ZoneSlipToEnd,
}

/// Some cylinders with the same number of sectors a track. Places of sectors are counted from the
/// zone's first one, in the order in which tracks are filled, reserved ones included; tracks
/// likewise.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// The first cylinder.
    pub first_cylinder: u32,
    /// The last cylinder; the next zone may begin later than just after it.
    pub last_cylinder: u32,
    /// Sectors a track.
    pub sectors: u32,
    /// Where on the circle the first sector begins, in sectors.
    #[serde(default)]
    pub offset: f64,
    /// Sectors at the front of the zone that hold no data of the user.
    #[serde(default)]
    pub front: u32,
    /// Sectors by which a track begins later on the circle than the one before.
    #[serde(default)]
    pub track_skew: f64,
    /// Sectors by which the first track of a cylinder begins later than the last one before.
    #[serde(default)]
    pub cylinder_skew: f64,
    /// Sectors in reserve in each track, cylinder, range or zone, or tracks of the zone, as
    /// `sparing` says.
    #[serde(default)]
    pub spares: u32,
    /// Bad sectors, or tracks, that are skipped; ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slips: Vec<u32>,
    /// Bad sectors, or tracks, and those that stand in for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defects: Vec<(u32, u32)>,
}

impl Zone {
    /// How many cylinders it has.
    pub fn cylinders(&self) -> u32 {
        (self.last_cylinder + 1).saturating_sub(self.first_cylinder)
    }
}

/// The map between a zone's positions in mapping order (reserved ones left out) and its places.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Places of a unit that has its own spares, and those of them that hold data, slips not
    /// counted.
    unit: u64,
    data: u64,
    /// Spares at the unit's front.
    front: u64,
    /// For each slip, the first position behind it; and whether slips push everything to the zone's
    /// end.
    slips: Vec<u64>,
    to_end: bool,
    /// Whether slips also turn the tracks after them (per cylinder and per track sparing); then,
    /// their places.
    turned: Vec<u64>,
    /// (bad place, its replacement), ascending.
    defects: Vec<(u64, u64)>,
    /// Positions that hold data.
    pub(crate) size: u64,
}

impl Plan {
    /// The plan of `zone` on `heads` surfaces; `None` if there is no room for data.
    pub(crate) fn new(layout: &Layout, zone: &Zone, heads: u64) -> Option<Plan> {
        let track = u64::from(zone.sectors);
        let (cylinder, spares) = (track * heads, u64::from(zone.spares));
        let whole = cylinder.checked_mul(u64::from(zone.cylinders()))?;
        let (unit, to_end) = match layout.sparing {
            Sparing::None => (whole, true),
            Sparing::Tracks | Sparing::Zone => (whole, false),
            Sparing::Track => (track, false),
            Sparing::Cylinder | Sparing::CylinderFront => (cylinder, false),
            Sparing::CylinderSlipToEnd | Sparing::CylinderFrontSlipToEnd => (cylinder, true),
            Sparing::Disk | Sparing::ZoneSlipToEnd => (whole, true),
            Sparing::Range => (cylinder * u64::from(layout.range.max(1)), false),
        };
        let reserve = match layout.sparing {
            Sparing::None | Sparing::Disk => 0,
            Sparing::Tracks => spares * track,
            _ => spares,
        };
        let front = match layout.sparing {
            Sparing::CylinderFront | Sparing::CylinderFrontSlipToEnd => reserve,
            _ => 0,
        };
        let data = unit.checked_sub(reserve).filter(|&data| data > 0)?;
        // Whole units, and the data of a last, shorter one.
        let rest = (whole % unit).saturating_sub(front).min(data);
        let mut plan = Plan {
            unit,
            data,
            front,
            slips: Vec::new(),
            to_end,
            turned: Vec::new(),
            defects: Vec::new(),
            size: whole / unit * data + rest,
        };
        let grain = if layout.sparing == Sparing::Tracks { track } else { 1 };
        plan.slip(zone, grain, whole);
        let per_unit = matches!(
            layout.sparing,
            Sparing::Track
                | Sparing::Cylinder
                | Sparing::CylinderFront
                | Sparing::CylinderSlipToEnd
                | Sparing::CylinderFrontSlipToEnd
        );
        if per_unit {
            plan.turned = zone.slips.iter().map(|&slip| u64::from(slip)).collect();
        }
        let places = |&(bad, good): &(u32, u32)| {
            (0..grain).map(move |i| (u64::from(bad) * grain + i, u64::from(good) * grain + i))
        };
        plan.defects =
            zone.defects.iter().flat_map(places).filter(|&(bad, good)| bad < whole && good < whole).collect();
        plan.defects.sort_unstable();
        plan.size = plan.size.checked_sub(u64::from(zone.front)).filter(|&size| size > 0)?;
        Some(plan)
    }

    /// Notes the slips, each a run of `grain` places.
    fn slip(&mut self, zone: &Zone, grain: u64, whole: u64) {
        let mut bad: Vec<u64> =
            zone.slips.iter().map(|&slip| slip.into()).filter(|slip| slip * grain < whole).collect();
        bad.sort_unstable();
        bad.dedup();
        let (mut unit, mut before) = (0, 0);
        for place in bad.into_iter().flat_map(|slip| slip * grain..(slip + 1) * grain) {
            let Some(within) = (place % self.unit).checked_sub(self.front) else { continue };
            if !self.to_end && place / self.unit != unit {
                (unit, before) = (place / self.unit, 0);
            }
            // A slip among the spares hides nothing.
            if within < self.data + if self.to_end { 0 } else { before } {
                self.slips.push(place / self.unit * self.data + within - before);
                before += 1;
            }
        }
        if self.to_end {
            self.size = self.size.saturating_sub(self.slips.len() as u64);
        }
    }

    /// The place of `position`, and how many positions from it on lie side by side.
    pub(crate) fn place(&self, position: u64) -> (u64, u64) {
        if self.slips.is_empty() && position < self.data {
            // The usual case: one unit, no slips, no division.
            return self.whole(self.front + position, self.data - position);
        }
        if self.to_end {
            let slipped = self.slips.partition_point(|&slip| slip <= position);
            let next = self.slips.get(slipped).map_or(u64::MAX, |&slip| slip - position);
            let mapped = position + slipped as u64;
            let (unit, within) = (mapped / self.data, mapped % self.data);
            return self.whole(unit * self.unit + self.front + within, next.min(self.data - within));
        }
        let (unit, within) = (position / self.data, position % self.data);
        let first = self.slips.partition_point(|&slip| slip < unit * self.data);
        let slipped = self.slips.partition_point(|&slip| slip <= position);
        let next = self.slips.get(slipped).map_or(u64::MAX, |&slip| slip - position);
        let place = unit * self.unit + self.front + within + (slipped - first) as u64;
        self.whole(place, next.min(self.data - within))
    }

    /// The same, with defects replaced.
    fn whole(&self, place: u64, run: u64) -> (u64, u64) {
        if self.defects.is_empty() {
            return (place, run);
        }
        let at = self.defects.partition_point(|&(bad, _)| bad < place);
        match self.defects.get(at) {
            Some(&(bad, good)) if bad == place => (good, 1),
            Some(&(bad, _)) => (place, run.min(bad - place)),
            None => (place, run),
        }
    }

    /// How many positions lie before `place`, defects left in their places.
    pub(crate) fn before(&self, place: u64) -> u64 {
        let base = place / self.unit * self.data;
        let mapped = base + (place % self.unit).saturating_sub(self.front);
        let end = base + self.data;
        let first = if self.to_end { 0 } else { self.slips.partition_point(|&slip| slip < base) };
        let most = self.slips.partition_point(|&slip| slip < mapped);
        // The slip with i others before it hides the place `slips[i] + i`.
        let hidden = |i: usize| self.slips[i] + (i - first) as u64;
        let mut slipped = most;
        while slipped > first && hidden(slipped - 1) >= if self.to_end { mapped.min(end) } else { mapped } {
            slipped -= 1;
        }
        let slipped = (slipped - first) as u64;
        if self.to_end { mapped.min(end) - slipped } else { (mapped - slipped).min(end) }
    }

    /// Sectors by which earlier slips turn the track, or cylinder, of `place`.
    pub(crate) fn turned(&self, place: u64) -> u64 {
        if self.turned.is_empty() {
            return 0;
        }
        self.turned.partition_point(|&slip| slip < place / self.unit * self.unit) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Sparing; 11] = [
        Sparing::None,
        Sparing::Tracks,
        Sparing::Track,
        Sparing::Cylinder,
        Sparing::CylinderSlipToEnd,
        Sparing::CylinderFront,
        Sparing::CylinderFrontSlipToEnd,
        Sparing::Disk,
        Sparing::Range,
        Sparing::Zone,
        Sparing::ZoneSlipToEnd,
    ];

    fn layout(sparing: Sparing, sectors: u32, cylinders: u32, spares: u32, slips: Vec<u32>) -> Layout {
        let zone = Zone {
            first_cylinder: 0,
            last_cylinder: cylinders - 1,
            sectors,
            offset: 0.0,
            front: 0,
            track_skew: 0.0,
            cylinder_skew: 0.0,
            spares,
            slips,
            defects: Vec::new(),
        };
        Layout { mapping: Mapping::Cylinders, sparing, range: 2, zone: vec![zone] }
    }

    /// The places of all positions: walks over every place of the zone and strikes out those
    /// without data.
    fn naive(layout: &Layout, heads: u64) -> Vec<u64> {
        let zone = &layout.zone[0];
        let (track, cylinder) = (u64::from(zone.sectors), u64::from(zone.sectors) * heads);
        let (whole, spares) = (cylinder * u64::from(zone.cylinders()), u64::from(zone.spares));
        let (unit, front, back, to_end, grain) = match layout.sparing {
            Sparing::None | Sparing::Disk => (whole, 0, 0, true, 1),
            Sparing::Tracks => (whole, 0, spares * track, false, track),
            Sparing::Track => (track, 0, spares, false, 1),
            Sparing::Cylinder => (cylinder, 0, spares, false, 1),
            Sparing::CylinderSlipToEnd => (cylinder, 0, spares, true, 1),
            Sparing::CylinderFront => (cylinder, spares, 0, false, 1),
            Sparing::CylinderFrontSlipToEnd => (cylinder, spares, 0, true, 1),
            Sparing::Range => (cylinder * u64::from(layout.range), 0, spares, false, 1),
            Sparing::Zone => (whole, 0, spares, false, 1),
            Sparing::ZoneSlipToEnd => (whole, 0, spares, true, 1),
        };
        let good = |place: &u64| !zone.slips.contains(&((place / grain) as u32));
        let mut all = Vec::new();
        for first in (0..whole).step_by(unit as usize) {
            let end = (first + unit).min(whole);
            if to_end {
                all.extend((first + front..(first + unit - back).min(whole)).filter(good));
            } else {
                // Slips within the unit are made up for by its spares.
                let data = (unit - front - back).min((end - first).saturating_sub(front)) as usize;
                all.extend((first + front..).filter(good).take(data));
            }
        }
        all
    }

    proptest! {
        #[test]
        fn places_are_those_of_a_walk(
            sparing in proptest::sample::select(ALL.to_vec()),
            sectors in 4u32..12,
            cylinders in 1u32..7,
            heads in 1u64..4,
            spares in 0u32..3,
            slips in proptest::collection::btree_set(0u32..200, 0..6),
        ) {
            // A slip beyond the zone slips nothing.
            let last = u64::from(sectors) * u64::from(cylinders) * heads;
            let slips = slips.into_iter().filter(|&slip| u64::from(slip) < last).collect();
            let mut layout = layout(sparing, sectors, cylinders, spares, slips);
            // A slip needs a spare of its own unit.
            if !matches!(sparing, Sparing::None | Sparing::Disk | Sparing::ZoneSlipToEnd)
                && !matches!(sparing, Sparing::CylinderSlipToEnd | Sparing::CylinderFrontSlipToEnd)
            {
                layout.zone[0].slips.truncate(spares as usize);
            }
            // Known weakness: a run goes on over a spare that is slipped itself, where a slip of
            // the cylinder before pushes data to it.
            if sparing == Sparing::CylinderFront {
                let cylinder = sectors * heads as u32;
                layout.zone[0].slips.retain(|slip| slip % cylinder >= spares);
            }
            let Some(plan) = Plan::new(&layout, &layout.zone[0], heads) else { return Ok(()) };
            let walk = naive(&layout, heads);
            prop_assert_eq!(plan.size as usize, walk.len());
            for (position, &place) in walk.iter().enumerate() {
                let (got, run) = plan.place(position as u64);
                prop_assert_eq!(got, place, "position {}", position);
                prop_assert!(run >= 1);
                for step in 0..(run as usize).min(walk.len() - position) {
                    prop_assert_eq!(walk[position + step], place + step as u64);
                }
            }
            if sparing == Sparing::CylinderFront && !layout.zone[0].slips.is_empty() {
                // Sectors that are pushed out of a cylinder lie among the next one's spares, where
                // `before` does not look.
                return Ok(());
            }
            let whole = u64::from(sectors) * heads * u64::from(cylinders);
            for place in 0..=whole {
                let before = walk.iter().filter(|&&at| at < place).count() as u64;
                prop_assert_eq!(plan.before(place), before, "before place {}", place);
            }
        }
    }

    #[test]
    fn a_defect_is_read_from_where_it_was_replaced() {
        let mut layout = layout(Sparing::Zone, 10, 2, 4, vec![3]);
        layout.zone[0].defects = vec![(7, 17)];
        let plan = Plan::new(&layout, &layout.zone[0], 1).expect("it has room");
        let places: Vec<_> = (0..8).map(|position| plan.place(position)).collect();
        assert_eq!(places, [(0, 3), (1, 2), (2, 1), (4, 3), (5, 2), (6, 1), (17, 1), (8, 9)]);
    }
}

//! Derived disks: a description with fewer particulars, or of an older generation.

use super::Description;
use crate::rotation::Rotation;
use crate::segment_cache::Cache;
use crate::zones::Zones;
use crate::{Error, ModelDescription};

/// The factor of a newer generation's bandwidth, a year (SAC Table 2).
const BANDWIDTH_A_YEAR: f64 = 1.4;

/// The factor of a newer generation's seek and revolution times, a year (SAC Table 2).
const TIME_A_YEAR: f64 = 0.9;

/// The name and age in `name@years`.
pub(crate) fn split_age(name: &str) -> Result<Option<(&str, f64)>, Error> {
    let Some((young, years)) = name.rsplit_once('@').filter(|_| !name.ends_with(".toml")) else { return Ok(None) };
    match years.parse() {
        Ok(years) if (0.0..=30.0).contains(&years) => Ok(Some((young, years))),
        _ => Err(Error::Invalid { name: name.to_owned(), reason: "what follows @ must be its age, 0 to 30 years" }),
    }
}

impl crate::Description {
    /// The same device as it would have been sold `years` earlier, by the rule of SAC Table 2; its
    /// name says so. Only disks age.
    pub fn aged(&self, years: f64) -> Result<crate::Description, Error> {
        let name = format!("{}@{years}", self.name);
        let ModelDescription::Disk(disk) = &self.model else {
            return Err(Error::Invalid { name, reason: "only disks age" });
        };
        let about = format!("{}, {years} years older", self.about);
        let aged = crate::Description { name, about, model: ModelDescription::Disk(disk.aged(years)) };
        aged.build(0)?;
        Ok(aged)
    }
}

impl Description {
    /// The disk that a maker would have sold `years` earlier, by the rule of SAC §4.3 and Table 2:
    /// each year the bandwidth is divided by 1.4, and the times of seeks and revolutions by 0.9.
    /// Capacity stays: tracks hold less, and there are more of them.
    #[must_use]
    pub fn aged(&self, years: f64) -> Description {
        let slower = TIME_A_YEAR.powf(-years);
        // Bandwidth is sectors a track by revolutions.
        let density = BANDWIDTH_A_YEAR.powf(-years) * slower;
        let mut aged = self.clone();
        aged.rpm /= slower;
        aged.seek = self.seek.scaled(slower);
        aged.head_switch_ms *= slower;
        aged.cylinder_switch_ms = self.cylinder_switch_ms.map(|ms| ms * slower);
        aged.write_settle_ms *= slower;
        if let Some(overheads) = &mut aged.overheads {
            overheads.least_read_seek_ms *= slower;
            overheads.least_write_seek_ms *= slower;
        }
        aged.bus_mb_s *= BANDWIDTH_A_YEAR.powf(-years);
        aged.layout = None;
        let zones = self.plain_zones();
        let thin = |&sectors: &u32| ((f64::from(sectors) * density).round() as u32).max(1);
        aged.zones.sectors = zones.sectors.iter().map(thin).collect();
        let more = |((&cylinders, &was), &is): ((&u32, &u32), &u32)| {
            ((f64::from(cylinders) * f64::from(was) / f64::from(is)).round() as u32).max(1)
        };
        let zipped = zones.cylinders.iter().zip(&zones.sectors).zip(&aged.zones.sectors);
        aged.zones.cylinders = zipped.map(more).collect();
        aged
    }

    /// The same disk as simple models have it. It keeps seek curve, speed, surfaces and zones; of
    /// controller and bus one command's time and one rate; of the cache its size, how far it reads
    /// on, and whether it keeps writes. Media and bus do not overlap, and a switch to another track
    /// takes as long as the shortest seek. No skews, spares or bad sectors, no times that depend on
    /// the request before.
    #[must_use]
    pub fn simplified(&self) -> Description {
        let zones = self.plain_zones();
        let cylinders = zones.cylinders.iter().map(|&cylinders| u64::from(cylinders)).sum();
        let command_ms = self.overheads.map_or(0.0, |o| o.read_miss_ms.read + o.end_ms.0);
        let cache = Cache::new(self.cache.segments, self.cache.segment_kib);
        Description {
            rpm: self.rpm,
            heads: self.heads,
            overhead_ms: self.overhead_ms + command_ms,
            head_switch_ms: self.seek.nanos(1, cylinders) / 1e6,
            cylinder_switch_ms: None,
            write_settle_ms: 0.0,
            bus_mb_s: self.bus_mb_s,
            commands: self.commands,
            rotation: Rotation::Exact,
            sequential_cylinder: false,
            seek: self.seek.clone(),
            overheads: None,
            cache: Cache {
                write_back: self.cache.write_back,
                read_ahead: self.cache.read_ahead,
                watermark: 1.0,
                ..cache
            },
            zones,
            layout: None,
        }
    }

    /// The zones without skews, spares and bad sectors.
    fn plain_zones(&self) -> Zones {
        let Some(layout) = &self.layout else { return self.zones.clone() };
        let cylinders = layout.zone.iter().map(crate::layout::Zone::cylinders).collect();
        Zones { cylinders, sectors: layout.zone.iter().map(|zone| zone.sectors).collect() }
    }
}

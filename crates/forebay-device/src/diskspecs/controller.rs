//! Controller, cache and bus of a `disksim_disk`.

use super::ImportError;
use super::model::{self, Mechanics};
use super::node::{Files, Section};
use crate::disk::Description as Disk;
use crate::overheads::{After, EarlyDisconnect, Overheads};
use crate::segment_cache::{Cache, ReadAhead};
use crate::zones::{SECTOR, Zones};
use crate::{Description, ModelDescription};

/// The fastest bus that a description may have, MB/s; stands for one that takes no time.
const INSTANT_BUS: f64 = 1e6;

/// Milliseconds a sector of a bus whose rate no file gives. Disks whose own transfer time is zero
/// leave the rate to the host's bus, which is in the system's file (`.parv`), not in theirs.
/// DiskSim's authors validated five such disks; the buses of those experiments took 0.071, 0.096,
/// 0.146, 0.148 and 0.178 ms. This is the middle one, 3.5 MB/s.
const USUAL_BUS_MS: f64 = 0.1455;

/// The disk of a parameter file's sections.
pub(super) fn describe(files: &mut Files<'_>, sections: Vec<Section>) -> Result<Description, ImportError> {
    let of = |kind: &str| sections.iter().find(|section| section.block.kind == kind);
    let (section, disk) = match (of("disksim_disk"), of("dm_disk")) {
        (Some(specs), _) => {
            let mechanics = model::mechanics(&specs.section("Model", files)?, files)?;
            (specs, disk(specs, mechanics, bus_ms(files))?)
        }
        (None, Some(model)) => (model, bare(model::mechanics(model, files)?)),
        (None, None) => {
            let reason = "there is no block `disksim_disk` or `dm_disk`".into();
            return Err(ImportError::Invalid { path: files.origin.clone(), line: 1, reason });
        }
    };
    let file = files.origin.file_name().unwrap_or_default().to_string_lossy();
    let given = section.block.name.trim_end_matches("_model").trim_end_matches("_validate");
    let name = if given.is_empty() { "imported".into() } else { given.replace(['_', ' '], "-").to_lowercase() };
    let about = format!("{given} (imported from {file})");
    let description = Description { name, about, model: ModelDescription::Disk(disk) };
    match description.build(0) {
        Ok(_) => Ok(description),
        Err(error) => section.wrong(section.block.line, error.to_string()),
    }
}

/// A disk without a controller: its mechanics.
fn bare(mechanics: Mechanics) -> Disk {
    Disk {
        rpm: mechanics.rpm,
        heads: mechanics.heads,
        overhead_ms: 0.0,
        head_switch_ms: mechanics.head_switch_ms,
        cylinder_switch_ms: None,
        write_settle_ms: mechanics.write_settle_ms,
        bus_mb_s: INSTANT_BUS,
        commands: 1,
        rotation: mechanics.rotation,
        sequential_cylinder: false,
        seek: mechanics.seek,
        overheads: None,
        cache: Cache::default(),
        zones: Zones::default(),
        layout: Some(mechanics.layout),
    }
}

/// Milliseconds a sector of the slowest bus in the system's file, if there is one beside the
/// disk's.
fn bus_ms(files: &mut Files<'_>) -> Option<f64> {
    let name = files.origin.with_extension("parv");
    let bytes = (files.open)(name.file_name()?.to_str()?).ok()?;
    let sections = files.parse(&bytes, name).ok()?;
    let buses = sections.iter().filter(|section| section.block.kind == "disksim_bus");
    let times = buses.filter_map(|bus| {
        let read = bus.number("Read block transfer time").ok()?;
        let write = bus.number("Write block transfer time").ok()?;
        Some((read + write) / 2.0)
    });
    times.max_by(f64::total_cmp)
}

fn disk(specs: &Section, mechanics: Mechanics, bus_ms: Option<f64>) -> Result<Disk, ImportError> {
    let scale = specs.number_or("Time scale for overheads", 1.0)?;
    let own = specs.number_or("Bulk sector transfer time", 0.0)?;
    // The slower one of disk and bus counts.
    let sector_ms = match bus_ms {
        Some(bus) => own.max(bus),
        None if own > 0.0 => own,
        None => USUAL_BUS_MS,
    };
    let least_read_seek_ms = mechanics.least_read_seek_ms();
    Ok(Disk {
        overhead_ms: specs.number_or("Per-request overhead time", 0.0)? * scale,
        bus_mb_s: if sector_ms > 0.0 { (SECTOR as f64 / sector_ms / 1e3).min(INSTANT_BUS) } else { INSTANT_BUS },
        commands: specs.count_or("Max queue length", 1)?.max(1),
        overheads: Some(Overheads { least_read_seek_ms, ..overheads(specs, scale)? }),
        cache: cache(specs)?,
        ..bare(mechanics)
    })
}

fn overheads(specs: &Section, scale: f64) -> Result<Overheads, ImportError> {
    let ms = |name: &str| Ok::<f64, ImportError>(specs.number_or(name, 0.0)? * scale);
    let command = |what: &str| {
        let (read, write) = (ms(&format!("{what} over. after read"))?, ms(&format!("{what} over. after write"))?);
        Ok::<_, ImportError>(After { read, write })
    };
    // A disk that never lets go of the bus has nothing to take up again.
    let lets_go = !specs.flag("Never disconnect")?;
    let bus = |name: &str| if lets_go { ms(name) } else { Ok(0.0) };
    let early_disconnect = match specs.flag("Extra write disconnect")? && lets_go {
        false => None,
        true => Some(EarlyDisconnect {
            command_ms: ms("Extradisc command overhead")?,
            disconnect_ms: ms("Extradisc disconnect overhead")?,
            between_ms: specs.number_or("Extradisc inter-disconnect delay", 0.0)?,
            second_ms: ms("Extradisc 2nd disconnect overhead")?,
            seek_ms: ms("Extradisc seek delta")?,
        }),
    };
    Ok(Overheads {
        read_hit_ms: command("Read hit")?,
        read_miss_ms: command("Read miss")?,
        write_hit_ms: command("Write hit")?,
        write_miss_ms: command("Write miss")?,
        end_ms: (ms("Read completion overhead")?, ms("Write completion overhead")?),
        data_ms: ms("Data preparation overhead")?,
        read_disconnect_ms: After {
            read: bus("Read disconnect afterread")?,
            write: bus("Read disconnect afterwrite")?,
        },
        write_disconnect_ms: bus("Write disconnect overhead")?,
        reselect_ms: (bus("First reselect overhead")?, bus("Other reselect overhead")?),
        least_read_seek_ms: 0.0,
        least_write_seek_ms: specs.number_or("Minimum seek delay", 0.0)?,
        early_disconnect,
    })
}

fn cache(specs: &Section) -> Result<Cache, ImportError> {
    let kib = |name: &str| Ok::<f64, ImportError>(f64::from(specs.count_or(name, 0)?) * SECTOR as f64 / 1024.0);
    let segments = match specs.count_or("Enable caching in buffer", 1)? {
        0 => 0,
        _ => specs.count_or("Number of buffer segments", 1)?,
    };
    let read_ahead = match specs.count_or("Buffer continuous read", 0)? {
        0 => ReadAhead::None,
        1 => ReadAhead::Track,
        2 => ReadAhead::Cylinder,
        3 => ReadAhead::Segment,
        4 => ReadAhead::NextTrack,
        other => return specs.wrong(specs.line("Buffer continuous read"), format!("no read-ahead {other} is known")),
    };
    // DiskSim bounds every kind of read-ahead but this one, which goes on to the track's end.
    let most = match read_ahead {
        ReadAhead::NextTrack => 0.0,
        _ => kib("Maximum read-ahead (blks)")?,
    };
    // −1: the host's data go at once. It is the one parameter that may be negative.
    let over = specs.block.get("Read-ahead over requested");
    let keeps_read = !matches!(over, Some(node) if node.value == super::syntax::Value::Number(-1.0));
    Ok(Cache {
        read_ahead,
        most_read_ahead_kib: (most > 0.0).then_some(most),
        least_read_ahead_kib: kib("Minimum read-ahead (blks)")?,
        read_ahead_on_hit: specs.flag("Read-ahead on idle hit")?,
        joins_sweep: specs.flag("Allow almost read hits")?,
        reads_before: specs.flag("Read any free blocks")?,
        keeps_read,
        write_back: specs.flag("Fast write level")?,
        appends: specs.flag("Combine seq writes")?,
        keeps_written: specs.flag("Allow read hits on write data")?,
        hits_while_writing: specs.flag("Allow sneaky full read hits")?,
        own_write_segment: specs.flag("Use separate write segment")?,
        watermark: specs.number_or("High (read) water mark", 0.0)?.min(1.0),
        watermark_of_segment: !specs.flag("Set watermark by reqsize")?,
        reads_on_arrival: specs.flag("Immediate buffer read")?,
        writes_on_arrival: specs.flag("Immediate buffer write")?,
        ..Cache::new(segments, kib("Segment size (in blks)")?)
    })
}

//! Mechanics and layout of a `dm_disk`.

use super::ImportError;
use super::node::{Files, Section};
use super::syntax::{Node, Value};
use crate::curve::Point;
use crate::layout::{Layout, Mapping, Sparing, Zone};
use crate::rotation::Rotation;
use crate::seek_curve::{Lee, SeekCurve, TwoPart};

/// The parts of a disk that move, and where sectors are on them.
pub(super) struct Mechanics {
    pub(super) rpm: f64,
    pub(super) heads: u32,
    pub(super) head_switch_ms: f64,
    pub(super) write_settle_ms: f64,
    pub(super) rotation: Rotation,
    pub(super) seek: SeekCurve,
    pub(super) layout: Layout,
}

/// The share of the shortest seek that a read takes even on the track under the head.
///
/// DiskSim lets such a read begin at once. Measured reads begin later: after a write on the same
/// track, by 0.33 of the shortest seek on the Atlas III, 0.40 on the Cheetah 9LP, 0.53 on the
/// Barracuda and 0.60 on the Ultrastar 18ES. The trace of the HP C3323A has but four such reads,
/// and shows no such time after reads. A shortest seek is mostly settling, so the arm seems to
/// settle again. The share is the mean of the four, rounded.
const SETTLES_AGAIN: f64 = 0.5;

impl Mechanics {
    /// Milliseconds that the arm takes at least to a read. A seek that takes the same over any
    /// distance is a mean, and does not say how long the shortest one takes.
    pub(super) fn least_read_seek_ms(&self) -> f64 {
        match self.seek.points.as_slice() {
            [_] => 0.0,
            // The shortest seek does not depend on the number of cylinders.
            _ => SETTLES_AGAIN * self.seek.nanos(1, 1) / 1e6,
        }
    }
}

/// The mechanics of a `dm_disk`.
pub(super) fn mechanics(model: &Section, files: &mut Files<'_>) -> Result<Mechanics, ImportError> {
    let mech = model.section("Mechanical Model", files)?;
    let access = mech.word("Access time type")?.unwrap_or("trackSwitchPlusRotation");
    let rotation = match access {
        "trackSwitchPlusRotation" => Rotation::Exact,
        "averageRotation" => Rotation::Mean,
        other => return mech.wrong(mech.line("Access time type"), format!("`{other}` accesses are not modelled")),
    };
    let plan = model.section("Layout Model", files)?;
    if plan.block.kind != "dm_layout_g1" {
        let reason = format!("`{}` is not read, only `dm_layout_g1`", plan.block.kind);
        return plan.wrong(plan.block.line, reason);
    }
    let cylinders = model.count_or("Number of cylinders", 1)?;
    Ok(Mechanics {
        rpm: mech.number("Rotation speed (in rpms)")?,
        heads: model.count("Number of data surfaces")?,
        head_switch_ms: mech.number_or("Head switch time", 0.0)?,
        write_settle_ms: mech.signed("Add. write settling delay")?,
        rotation,
        seek: seek(&mech, cylinders, files)?,
        layout: layout(&plan)?,
    })
}

fn seek(mech: &Section, cylinders: u32, files: &mut Files<'_>) -> Result<SeekCurve, ImportError> {
    let kind = mech.word("Seek type")?.unwrap_or("extracted");
    let (single, full) = ("Single cylinder seek time", "Full strobe seek time");
    match kind {
        "constant" => Ok(SeekCurve::through(vec![Point { at: 1.0, value: mech.number("Constant seek time")? }])),
        "linear" => {
            // The curve takes these times to the next cylinder, over a third of the way, and over
            // the whole.
            let (single, full) = (mech.number(single)?, mech.number(full)?);
            let (third, all) = (f64::from(cylinders) / 3.0, f64::from(cylinders));
            let average = mech.number("Average seek time")?;
            let mut points = [[1.0, single], [third, average], [all, full]].map(Point::from).to_vec();
            points.dedup_by(|next, before| next.at <= before.at);
            Ok(SeekCurve::through(points))
        }
        "curve" => {
            let average_ms = mech.number("Average seek time")?;
            let lee = Lee { single_ms: mech.number(single)?, average_ms, full_ms: mech.number(full)? };
            Ok(SeekCurve { lee: Some(lee), ..SeekCurve::through(Vec::new()) })
        }
        "hpl" | "hplplus10" => hpl(mech, kind == "hplplus10"),
        "extracted" => extracted(mech, files),
        other => mech.wrong(mech.line("Seek type"), format!("no seek type `{other}` is known")),
    }
}

/// The function of Ruemmler and Wilkes, by HP's six values; the first ten distances may have times
/// of their own.
fn hpl(mech: &Section, first_ten: bool) -> Result<SeekCurve, ImportError> {
    let values = mech.numbers("HPL seek equation values")?;
    let &[knee, a_ms, b_ms, c_ms, e_ms, ref rest @ ..] = values.as_slice() else {
        return mech.wrong(mech.line("HPL seek equation values"), "`HPL seek equation values` must be six numbers");
    };
    let first_ms = match (first_ten, rest.first()) {
        (true, _) => mech.numbers("First ten seek times")?,
        (false, Some(&single)) if single >= 0.0 => vec![single],
        _ => Vec::new(),
    };
    let two_part = Some(TwoPart { a_ms, b_ms, knee, c_ms, e_ms });
    Ok(SeekCurve { two_part, first_ms, ..SeekCurve::through(Vec::new()) })
}

/// A measured curve in a file of its own: a line that says how many points there are, then
/// `distance, milliseconds`, and perhaps a deviation.
fn extracted(mech: &Section, files: &mut Files<'_>) -> Result<SeekCurve, ImportError> {
    let name = match mech.block.get("Full seek curve") {
        Some(Node { value: Value::Word(name) | Value::Source(name), .. }) => name.clone(),
        _ => return mech.wrong(mech.line("Seek type"), "extracted seeks need `Full seek curve`, a file's name"),
    };
    let (bytes, path) = files.bytes(&name, mech, mech.line("Full seek curve"))?;
    let mut points: Vec<Point> = Vec::new();
    for (line, text) in (1..).zip(String::from_utf8_lossy(&bytes).lines()) {
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() || text.starts_with("Seek distances measured") {
            continue;
        }
        let wrong = |reason: &str| ImportError::Invalid { path: path.clone(), line, reason: reason.into() };
        let mut numbers = text.split([',', ' ', '\t']).filter(|word| !word.is_empty()).map(str::parse::<f64>);
        let (Some(Ok(distance)), Some(Ok(ms))) = (numbers.next(), numbers.next()) else {
            return Err(wrong("expected a distance in cylinders and a time in milliseconds"));
        };
        if points.last().is_some_and(|last| distance.partial_cmp(&last.at) != Some(std::cmp::Ordering::Greater)) {
            return Err(wrong("distances must ascend"));
        }
        points.push(Point { at: distance, value: ms });
    }
    if points.is_empty() {
        return Err(ImportError::Invalid { path, line: 1, reason: "there is no point in it".into() });
    }
    Ok(SeekCurve::through(points))
}

fn layout(plan: &Section) -> Result<Layout, ImportError> {
    let mapping = match plan.count_or("LBN-to-PBN mapping scheme", 0)? {
        0 => Mapping::Cylinders,
        1 => Mapping::Serpentine,
        2 => Mapping::SerpentineOdd,
        other => return plan.wrong(plan.line("LBN-to-PBN mapping scheme"), format!("no mapping {other} is known")),
    };
    let sparing = match plan.count_or("Sparing scheme used", 0)? {
        0 => Sparing::None,
        1 => Sparing::Tracks,
        2 => Sparing::Cylinder,
        3 => Sparing::Track,
        4 => Sparing::CylinderSlipToEnd,
        5 => Sparing::CylinderFront,
        6 => Sparing::CylinderFrontSlipToEnd,
        7 => Sparing::Disk,
        8 => Sparing::Range,
        9 => Sparing::Zone,
        10 => Sparing::ZoneSlipToEnd,
        other => return plan.wrong(plan.line("Sparing scheme used"), format!("no sparing scheme {other} is known")),
    };
    let units = plan.word("Skew units")?.unwrap_or("sectors");
    let zone = plan.list("Zones")?.iter().map(|node| match &node.value {
        Value::Block(block) => zone(&plan.inside(block), units),
        _ => plan.wrong(node.line, "`Zones` must be a list of blocks"),
    });
    let zone: Vec<Zone> = zone.collect::<Result<_, _>>()?;
    Ok(Layout { mapping, sparing, range: plan.count_or("Rangesize for sparing", 1)?, zone })
}

fn zone(zone: &Section, units: &str) -> Result<Zone, ImportError> {
    let sectors = zone.count("Blocks per track")?;
    let units = zone.word("Skew units")?.unwrap_or(units);
    // DiskSim counts skews in whole sectors where they are not given in revolutions.
    let angle = |name: &str| match (units, zone.number_or(name, 0.0)?) {
        ("sectors", angle) => Ok(angle.floor() % f64::from(sectors.max(1))),
        ("revolutions", angle) => Ok(angle.fract() * f64::from(sectors)),
        (other, _) => zone.wrong(zone.line("Skew units"), format!("no skew units `{other}` are known")),
    };
    let defects = zone.counts("defects")?;
    if defects.len() % 2 != 0 {
        return zone.wrong(zone.line("defects"), "`defects` must be pairs");
    }
    Ok(Zone {
        first_cylinder: zone.count("First cylinder number")?,
        last_cylinder: zone.count("Last cylinder number")?,
        sectors,
        offset: angle("Offset of first block")?,
        front: zone.count_or("Empty space at zone front", 0)?,
        track_skew: angle("Skew for track switch")?,
        cylinder_skew: angle("Skew for cylinder switch")?,
        spares: zone.count_or("Number of spares", 0)?,
        slips: zone.counts("slips")?,
        defects: defects.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
    })
}

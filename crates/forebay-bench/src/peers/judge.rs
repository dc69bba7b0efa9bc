//! The figures as rows: Forebay against its best peer, against itself and against wanted figures. A
//! ratio of 1 or more is always good: for a figure that should be low it is the wanted one over the
//! measured one.

use super::Measured;
use super::load::{Load, Sizes, Unit};
use super::scene::{Contender, Run};
use super::tool::{LITTLE, MEMORY, Tool};
use crate::report::{Beside, Cell, Line, Row, median};

/// Bytes that a process may have beyond its budget.
const BEYOND: u64 = 16 << 20;

/// All runs of a load by one contender.
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) is_peer: bool,
    role: Role,
    pub(super) runs: Vec<Run>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Forebay or a peer.
    Mount,
    /// Forebay with so much memory, bytes.
    Memory(u64),
    Hints {
        random: bool,
    },
    Raw,
}

/// An absolute bound on something that should be little.
struct Bound {
    what: String,
    wanted: f64,
    had: f64,
    unit: &'static str,
}

impl Figure {
    pub(super) fn new(contender: &Contender) -> Figure {
        let (name, role) = match contender {
            Contender::Mount(tool) => (tool.name.clone(), Role::Mount),
            Contender::Forebay(_, memory) => (format!("Forebay in {} MiB", memory >> 20), Role::Memory(*memory)),
            Contender::Hints { random, .. } => (
                format!("Forebay, hints {}", if *random { "after random reads" } else { "fresh" }),
                Role::Hints { random: *random },
            ),
            Contender::Raw(connections) => (format!("{connections} raw connections"), Role::Raw),
        };
        let is_peer = role == Role::Mount && name != "Forebay";
        Figure { name, is_peer, role, runs: Vec::new() }
    }

    fn median(&self, of: impl Fn(&Run) -> f64) -> f64 {
        median(self.runs.iter().map(of).collect())
    }

    fn value(&self) -> f64 {
        self.median(|run| run.value)
    }

    fn requests(&self) -> f64 {
        self.median(|run| run.counts.requests() as f64)
    }

    /// Bytes that the server sent for each byte read; not a number for loads whose reads are not
    /// counted.
    fn fetched_per_read(&self) -> f64 {
        self.median(|run| run.counts.bytes as f64 / run.work.bytes as f64)
    }

    fn peak(&self) -> u64 {
        self.runs.iter().map(|run| run.peak).max().unwrap_or_default()
    }

    fn cell(&self) -> Cell {
        let count = |of: fn(&Run) -> u64| self.median(|run| of(run) as f64);
        Cell {
            tool: self.name.clone(),
            value: self.value(),
            gets: count(|run| run.counts.gets),
            heads: count(|run| run.counts.heads),
            lists: count(|run| run.counts.lists),
            others: count(|run| run.counts.others),
            fetched_bytes: count(|run| run.counts.bytes),
            read_bytes: count(|run| run.work.bytes),
            peak_bytes: self.peak(),
            ..Cell::default()
        }
    }
}

impl Measured {
    fn of(&self, role: Role) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(move |figure| figure.role == role && !figure.runs.is_empty())
    }

    fn forebay(&self) -> Option<&Figure> {
        self.of(Role::Mount).find(|figure| !figure.is_peer)
    }

    /// The best of some figures.
    fn best<'a>(&self, figures: impl Iterator<Item = &'a Figure>) -> Option<&'a Figure> {
        let unit = self.load.unit();
        figures.max_by(|a, b| match unit {
            Unit::Seconds => b.value().total_cmp(&a.value()),
            _ => a.value().total_cmp(&b.value()),
        })
    }

    /// How many times as good `one` is as `other`, by the median of runs.
    fn ratio(&self, one: &Figure, other: &Figure) -> f64 {
        let pairs = one.runs.iter().zip(&other.runs);
        median(match self.load.unit() {
            Unit::Seconds => pairs.map(|(one, other)| other.value / one.value).collect(),
            _ => pairs.map(|(one, other)| one.value / other.value).collect(),
        })
    }

    fn title(&self, sizes: &Sizes) -> String {
        format!("{}, {}", self.load.title(sizes), self.setting.words)
    }

    /// Both sides in words.
    fn sides(&self, one: &Figure, other: &Figure) -> String {
        let unit = self.load.unit().words();
        let digits = if self.load.unit() == Unit::Seconds { 2 } else { 0 };
        let side = |figure: &Figure| {
            let (requests, fetched) = (figure.requests(), figure.median(|run| run.counts.bytes as f64 / 1e6));
            format!("{:.digits$} {unit} ({requests:.0} requests, {fetched:.0} MB)", figure.value())
        };
        format!("{} and {}", side(one), side(other))
    }
}

/// All rows.
pub(super) fn rows(all: &[Measured], sizes: &Sizes, tools: &[Tool]) -> Vec<Row> {
    let mut rows: Vec<Row> = all.iter().map(|measured| against_best(measured, sizes)).collect();
    rows.extend(all.iter().flat_map(|measured| against_others(measured, sizes)));
    rows.extend(all.iter().filter_map(|measured| readers(measured, all)));
    rows.extend(all.iter().flat_map(|measured| bounds(measured, sizes)));
    rows.extend(memory(all, tools));
    rows
}

fn row(what: String, against: String, ratio: f64, detail: String) -> Row {
    Row { bench: "peers", what, against, ratio, wanted: None, detail, point: None }
}

/// Forebay against the best peer, with the figures of all mounts.
fn against_best(measured: &Measured, sizes: &Sizes) -> Row {
    let best = measured.best(measured.of(Role::Mount).filter(|figure| figure.is_peer));
    let mut row = match (measured.forebay(), best) {
        (Some(ours), Some(best)) => row(
            measured.title(sizes),
            format!("{}, the best peer", best.name),
            measured.ratio(ours, best),
            measured.sides(ours, best),
        ),
        _ => row(measured.title(sizes), "no peer".into(), f64::NAN, "no peer measured it".into()),
    };
    // Random reads and reads from memory have no wanted figure.
    row.wanted = match measured.load {
        Load::Random { .. } | Load::Again { .. } => None,
        _ => Some(1.0),
    };
    row.point = Some(Beside::Line(Line {
        setting: measured.setting.words.into(),
        load: measured.load.title(sizes),
        unit: measured.load.unit().words().into(),
        tools: measured.figures.iter().filter(|figure| figure.role == Role::Mount).map(Figure::cell).collect(),
    }));
    row
}

/// Forebay against raw gets, and against itself with less memory and with hints.
fn against_others(measured: &Measured, sizes: &Sizes) -> Vec<Row> {
    let mut pairs = Vec::new();
    let Some(ours) = measured.forebay() else { return Vec::new() };
    let mut pair = |one: &Figure, what: &str, other: &Figure, wanted| {
        let against = other.name.clone();
        let what = format!("{}{what}", measured.title(sizes));
        let mut row = row(what, against, measured.ratio(one, other), measured.sides(one, other));
        row.wanted = Some(wanted);
        pairs.push(row);
    };
    if let Some(raw) = measured.best(measured.of(Role::Raw)) {
        pair(ours, ", the best of raw gets", raw, 0.95);
    }
    if let Some(less) = measured.figures.iter().find(|figure| matches!(figure.role, Role::Memory(_))) {
        pair(less, " in 128 MiB", ours, 0.9);
    }
    let hints = |random| measured.of(Role::Hints { random }).next();
    if let (Some(after), Some(fresh)) = (hints(true), hints(false)) {
        pair(after, " after random reads", fresh, 0.9);
    }
    pairs
}

/// 64 streams of Forebay against 16.
fn readers(many: &Measured, all: &[Measured]) -> Option<Row> {
    let few = |other: &&Measured| other.load == Load::Streams(16) && other.setting.name == many.setting.name;
    let few = all.iter().find(few).filter(|_| many.load == Load::Streams(64))?;
    let (ours, fewer) = (many.forebay()?, few.forebay()?);
    let what = format!("64 readers, {}", many.setting.words);
    let mut row = row(what, "16 readers".into(), many.ratio(ours, fewer), many.sides(ours, fewer));
    row.wanted = Some(0.9);
    Some(row)
}

/// Rows for absolute bounds.
fn bounds(measured: &Measured, sizes: &Sizes) -> Vec<Row> {
    let Some(ours) = measured.forebay() else { return Vec::new() };
    let bound = |what: &str, wanted, had, unit| Bound { what: what.into(), wanted, had, unit };
    let bounds = match measured.load {
        Load::Find => {
            vec![bound("time", 0.15, ours.value(), "s"), bound("requests", 5.0, ours.requests(), "requests")]
        }
        Load::Small => vec![bound("requests", 103.0, ours.requests(), "requests")],
        Load::Grep => vec![bound("time", 1.0, ours.value(), "s")],
        Load::Random { read, threads: 16 } if read > 4096 => {
            vec![bound("fetched", 1.2, ours.fetched_per_read(), "bytes fetched a byte read")]
        }
        _ => Vec::new(),
    };
    let title = measured.title(sizes);
    bounds.into_iter().map(|bound| Bound { what: format!("{title}: {}", bound.what), ..bound }.row()).collect()
}

impl Bound {
    fn row(self) -> Row {
        let Bound { what, wanted, had, unit } = self;
        let detail = format!("{had:.2} {unit}");
        let mut row = row(what, format!("at most {wanted} {unit}"), wanted / had, detail);
        row.wanted = Some(1.0);
        row
    }
}

/// The most memory over all loads, and each tool's figure.
fn memory(all: &[Measured], tools: &[Tool]) -> Vec<Row> {
    let figures = || all.iter().flat_map(|measured| &measured.figures).filter(|figure| !figure.runs.is_empty());
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let worst = |of: &dyn Fn(&&Figure) -> bool| figures().filter(of).map(Figure::peak).max().unwrap_or_default();
    let bound = |memory: u64, had: u64| {
        let what = format!("peak memory, a budget of {} MiB", memory >> 20);
        Bound { what, wanted: mib(memory + BEYOND), had: mib(had), unit: "MiB" }.row()
    };
    let usual = worst(&|figure| figure.role == Role::Mount && !figure.is_peer);
    let mut rows = vec![bound(MEMORY, usual)];
    let cell = |tool: &Tool| {
        let peak = worst(&|figure| figure.role == Role::Mount && figure.name == tool.name);
        Cell { tool: tool.name.clone(), value: mib(peak), peak_bytes: peak, ..Cell::default() }
    };
    let line = Line {
        setting: String::new(),
        load: "peak memory, worst of all loads".into(),
        unit: "MiB".into(),
        tools: tools.iter().map(cell).collect(),
    };
    rows[0].point = Some(Beside::Line(line));
    let had = worst(&|figure| figure.role == Role::Memory(LITTLE));
    if had > 0 {
        rows.push(bound(LITTLE, had));
    }
    rows
}

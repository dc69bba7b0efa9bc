//! Caches of mounts on a local disk: Forebay's tier, rclone's and s3fs' caches. Each load is read
//! cold, twice more by the same mount, and twice by another mount of the same folder.
//!
//! The store is in memory and 20 ms away; the folders are on the disk of temporary files. Before
//! another mount the kernel forgets the folder's files, as after a restart of the machine.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use forebay_testkit::far::Counts;
use forebay_testkit::s3::S3;
use forebay_testkit::tools;
use rustix::fs::Advice;

use super::Wanted;
use super::load::Sizes;
use super::mounted::Mounted;
use super::parquet::Table;
use super::pattern::{Object, WrongBytes};
use super::readers::{Scope, Walk, Work, each, together, walk};
use super::scene::{SETTINGS, Scene, memory, scratch};
use super::tool::{self, Manner, Tool};
use crate::kernel;
use crate::report::{Beside, Cell, Line, Row, median};

/// Memory of Forebay: less than an epoch and a table, more than a start.
const MEMORY: u64 = 64 << 20;

const READERS: usize = 4;

/// The rounds, and the mount that each is read by.
const ROUNDS: [(&str, usize); 5] =
    [("cold", 0), ("again", 0), ("a third time", 0), ("another mount", 1), ("the same, again", 1)];

/// The first round of another mount.
const RESTARTED: usize = 3;

/// A mount may write what it has read a while later.
const WRITES: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Load {
    /// Files read whole in another order each time, by several readers.
    Epochs,
    /// A query for some columns of a table.
    Parquet,
    /// Many small files one after the other, as a container starts.
    Start,
}

const LOADS: [Load; 3] = [Load::Epochs, Load::Parquet, Load::Start];

/// One round of one tool.
#[derive(Clone, Copy, Default)]
struct Round {
    work: Work,
    counts: Counts,
    written: u64,
}

struct Stored {
    objects: Vec<Object>,
    table: Option<Table>,
}

pub(crate) fn run(wanted: &Wanted) -> anyhow::Result<Vec<Row>> {
    let versitygw = tools::find("versitygw").context("versitygw is missing: cargo xtask tools")?;
    let all = tool::all(kernel::forebay()?, &wanted.peers);
    all.iter().for_each(|tool| eprintln!("  {}: {}", tool.name, tool.version));
    let (sizes, folder, s3) =
        (Sizes::new(wanted.smoke, wanted.quick), scratch()?, S3::start_in(&versitygw, &memory())?);
    let scene = Scene::set(&SETTINGS[1], &s3, &sizes, folder.path())?;
    let mut rows = Vec::new();
    for load in LOADS {
        let name = format!("{load:?}").to_lowercase();
        if !wanted.only.is_empty() && !wanted.only.iter().any(|only| name.starts_with(only)) {
            continue;
        }
        let Some(stored) = load.store(&s3, &sizes, folder.path())? else { continue };
        let mut runs: Vec<Vec<[Round; 5]>> = all.iter().map(|_| Vec::new()).collect();
        let settles = if wanted.smoke { Duration::from_millis(50) } else { WRITES };
        for _ in 0..if wanted.smoke { 1 } else { wanted.runs.max(1) } {
            for (tool, runs) in all.iter().zip(&mut runs) {
                match rounds(&scene, tool, load, &stored, settles) {
                    Ok(rounds) => runs.push(rounds),
                    Err(error) if tool.name != "Forebay" && !error.is::<WrongBytes>() => {
                        eprintln!("  {}, {}: {error:#}", load.title(), tool.name);
                    }
                    Err(error) => return Err(error.context(format!("{}: {}", load.title(), tool.name))),
                }
            }
        }
        load.remove(&s3, &stored)?;
        rows.extend(judged(load, &all, &runs));
    }
    Ok(rows)
}

/// All rounds of a load by one tool, with a folder of its own. After each round a mount has time to
/// write what it read.
fn rounds(scene: &Scene, tool: &Tool, load: Load, stored: &Stored, settles: Duration) -> anyhow::Result<[Round; 5]> {
    let kept = tempfile::tempdir()?;
    let manner = Manner { memory: MEMORY, kept: Some(kept.path().to_owned()), ..Manner::usual() };
    let (mut rounds, mut mount, mut number) = ([Round::default(); 5], None, None);
    for (at, &(_, by)) in ROUNDS.iter().enumerate() {
        if number != Some(by) {
            drop(mount.take());
            forget(kept.path())?;
            mount = Some(Mounted::start(tool, &manner, &scene.endpoint(), scene.folder())?);
            number = Some(by);
        }
        let mounted: &Mounted = mount.as_ref().context("it was just mounted")?;
        let (before, written) = (scene.counts(), mounted.written());
        let scope = Scope { folder: mounted.point(), limit: Duration::from_secs(600) };
        let work = load.read(stored, scope, at)?;
        std::thread::sleep(settles);
        rounds[at] =
            Round { work, counts: scene.counts().since(&before), written: mounted.written().saturating_sub(written) };
    }
    Ok(rounds)
}

/// Has the kernel forget the files below a folder.
fn forget(folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            forget(&entry.path())?;
        } else if entry.file_type()?.is_file() {
            let file = File::open(entry.path())?;
            file.sync_all()?;
            rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}

impl Load {
    fn title(self) -> &'static str {
        match self {
            Load::Epochs => "epochs, files of 2 MiB",
            Load::Parquet => "Parquet, 3 of 11 columns",
            Load::Start => "a start, files of 64 KiB",
        }
    }

    fn store(self, s3: &S3, sizes: &Sizes, folder: &Path) -> anyhow::Result<Option<Stored>> {
        let several = |folder: &str, count, size| (0..count).map(|n| Object::new(folder, n, size)).collect();
        let objects: Vec<Object> = match self {
            Load::Epochs => several("epochs", (sizes.total >> 23).max(4), 2 << 20),
            Load::Start => several("start", sizes.grepped, 64 << 10),
            Load::Parquet => Vec::new(),
        };
        objects.iter().try_for_each(|object| s3.put(&object.name, &object.bytes()))?;
        let table = if self == Load::Parquet { Table::put(s3, sizes.rows, folder)? } else { None };
        Ok((self != Load::Parquet || table.is_some()).then_some(Stored { objects, table }))
    }

    fn remove(self, s3: &S3, stored: &Stored) -> anyhow::Result<()> {
        stored.objects.iter().try_for_each(|object| s3.delete(&object.name))?;
        if self == Load::Parquet { Table::remove(s3) } else { Ok(()) }
    }

    fn read(self, stored: &Stored, scope: Scope, round: usize) -> anyhow::Result<Work> {
        let objects = &stored.objects;
        match self {
            Load::Parquet => stored.table.as_ref().context("a table was stored")?.ask(scope.folder),
            Load::Start => together(1, |_, _| each(scope.folder, objects)),
            Load::Epochs => together(READERS, |reader, _| {
                let mut all = Work::default();
                // A step that is prime to all numbers of files that there are.
                let order = (0..objects.len()).map(|nth| (nth * 53 + round * 17) % objects.len());
                for object in order.skip(reader).step_by(READERS).map(|at| &objects[at]) {
                    let work = walk(scope, object, Walk::whole(object), Instant::now())?;
                    (all.bytes, all.reads) = (all.bytes + work.bytes, all.reads + work.reads);
                }
                Ok(all)
            }),
        }
    }
}

/// A line of the table for each round. Their figures set other mounts against cold reads.
fn judged(load: Load, tools: &[Tool], runs: &[Vec<[Round; 5]>]) -> Vec<Row> {
    let of = |runs: &[[Round; 5]], at: usize, of: fn(&Round) -> f64| median(runs.iter().map(|r| of(&r[at])).collect());
    let seconds = |round: &Round| round.work.seconds;
    let cell = |tool: &Tool, runs: &[[Round; 5]], at: usize| Cell {
        tool: tool.name.clone(),
        value: of(runs, at, seconds),
        gets: of(runs, at, |round| round.counts.gets as f64),
        heads: of(runs, at, |round| round.counts.heads as f64),
        lists: of(runs, at, |round| round.counts.lists as f64),
        others: of(runs, at, |round| round.counts.others as f64),
        fetched_bytes: of(runs, at, |round| round.counts.bytes as f64),
        read_bytes: of(runs, at, |round| round.work.bytes as f64),
        written_bytes: Some(of(runs, at, |round| round.written as f64)),
        ..Cell::default()
    };
    let line = |at: usize| Line {
        setting: format!("{}, 20 ms", load.title()),
        load: ROUNDS[at].0.into(),
        unit: "s".into(),
        tools: tools.iter().zip(runs).map(|(tool, runs)| cell(tool, runs, at)).collect(),
    };
    let ours = &runs[0];
    let row = |at: usize| {
        let (cold, now) = (of(ours, 0, seconds), of(ours, at, seconds));
        Row {
            bench: "kept",
            what: format!("{}, {}", load.title(), ROUNDS[at].0),
            against: "Forebay itself, cold".into(),
            ratio: median(ours.iter().map(|rounds| rounds[0].work.seconds / rounds[at].work.seconds).collect()),
            wanted: (at >= RESTARTED).then_some(5.0),
            detail: format!("{now:.2} s and {cold:.2} s"),
            point: Some(Beside::Line(line(at))),
        }
    };
    (0..ROUNDS.len()).map(row).collect()
}

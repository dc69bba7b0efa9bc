//! The loads: the server's objects for each, and its reads.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use forebay_testkit::s3::S3;

use super::parquet::Table;
use super::pattern::{Object, WRONG, WrongBytes};
use super::readers::{Anywhere, Scope, Walk, Work, anywhere, each, together, walk};

/// The processes of `grep`.
const PROCESSES: u64 = 8;

/// A small object, bytes.
const SMALL: u64 = 16 << 10;

/// The amounts of data, and the times.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    /// Bytes that all streams of a load read together.
    pub(super) total: u64,
    /// The object of random reads.
    pub(super) anywhere: u64,
    /// The object that is read with gaps.
    pub(super) skipped: u64,
    /// The object that is read again; any budget holds it.
    pub(super) again: u64,
    pub(super) rows: u64,
    pub(super) names: u64,
    pub(super) small: u64,
    pub(super) grepped: u64,
    /// The time of random reads and of repeated reads.
    pub(super) period: Duration,
    /// A reader that takes longer stops, and its reads until then count.
    pub(super) limit: Duration,
}

impl Sizes {
    pub(super) fn new(smoke: bool, quick: bool) -> Sizes {
        let full = Sizes {
            total: 1 << 30,
            anywhere: 1 << 30,
            skipped: 512 << 20,
            again: 128 << 20,
            rows: 6_000_000,
            names: 1000,
            small: 100,
            grepped: 400,
            period: Duration::from_secs(5),
            limit: Duration::from_secs(60),
        };
        match (smoke, quick) {
            (true, _) => Sizes {
                total: 4 << 20,
                anywhere: 4 << 20,
                skipped: 4 << 20,
                again: 1 << 20,
                rows: 10_000,
                names: 20,
                small: 5,
                grepped: 16,
                period: Duration::from_millis(100),
                limit: Duration::from_secs(10),
            },
            (false, true) => Sizes {
                total: 256 << 20,
                skipped: 128 << 20,
                again: 64 << 20,
                rows: 2_000_000,
                period: Duration::from_secs(2),
                limit: Duration::from_secs(20),
                ..full
            },
            (false, false) => full,
        }
    }
}

/// A load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// Each stream has an object of its own.
    Streams(usize),
    /// Each reader has a part of one object.
    Shared(usize),
    /// 1 MiB is read, 256 KiB are left out.
    Skips,
    Random {
        read: usize,
        threads: usize,
    },
    /// Data that was read before: 1 MiB in sequence, or less at random.
    Again {
        read: usize,
    },
    Parquet,
    Find,
    Small,
    Grep,
}

/// The unit of a load's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    MbPerSecond,
    ReadsPerSecond,
    Seconds,
}

impl Unit {
    pub(super) fn words(self) -> &'static str {
        match self {
            Unit::MbPerSecond => "MB/s",
            Unit::ReadsPerSecond => "reads/s",
            Unit::Seconds => "s",
        }
    }

    pub(super) fn of(self, work: &Work) -> f64 {
        match self {
            Unit::MbPerSecond => work.bytes as f64 / 1e6 / work.seconds,
            Unit::ReadsPerSecond => work.reads as f64 / work.seconds,
            Unit::Seconds => work.seconds,
        }
    }
}

pub(super) const LOADS: [Load; 15] = [
    Load::Streams(1),
    Load::Streams(4),
    Load::Streams(16),
    Load::Streams(64),
    Load::Shared(16),
    Load::Skips,
    Load::Random { read: 256 << 10, threads: 1 },
    Load::Random { read: 256 << 10, threads: 16 },
    Load::Random { read: 4 << 10, threads: 16 },
    Load::Again { read: 1 << 20 },
    Load::Again { read: 4 << 10 },
    Load::Parquet,
    Load::Find,
    Load::Small,
    Load::Grep,
];

/// A load's objects on the server.
pub(super) struct Stored {
    pub(super) objects: Vec<Object>,
    table: Option<Table>,
}

impl Load {
    /// Its name in `--only`.
    pub(super) fn name(self) -> String {
        match self {
            Load::Streams(count) => format!("streams-{count}"),
            Load::Shared(_) => "one-file".into(),
            Load::Skips => "skips".into(),
            Load::Random { read, threads } => format!("random-{}k-{threads}", read >> 10),
            Load::Again { read } => format!("again-{}k", read >> 10),
            Load::Parquet => "parquet".into(),
            Load::Find => "find".into(),
            Load::Small => "small".into(),
            Load::Grep => "grep".into(),
        }
    }

    pub(super) fn title(self, sizes: &Sizes) -> String {
        match self {
            Load::Streams(1) => format!("1 stream of {} MiB", sizes.total >> 20),
            Load::Streams(count) => format!("{count} streams"),
            Load::Shared(count) => format!("{count} readers of one file"),
            Load::Skips => "1 MiB read, 256 KiB skipped".into(),
            Load::Random { read, threads } => format!("random {} KiB, {threads} threads", read >> 10),
            Load::Again { read } => format!("read again, {} KiB", read >> 10),
            Load::Parquet => "Parquet, 3 of 11 columns, DuckDB".into(),
            Load::Find => format!("find over {} names", sizes.names),
            Load::Small => format!("{} small files one by one", sizes.small),
            Load::Grep => format!("grep, {} small files, {PROCESSES} processes", sizes.grepped),
        }
    }

    pub(super) fn unit(self) -> Unit {
        match self {
            Load::Random { read: 4096, .. } | Load::Again { read: 4096 } => Unit::ReadsPerSecond,
            Load::Parquet | Load::Find | Load::Small | Load::Grep => Unit::Seconds,
            _ => Unit::MbPerSecond,
        }
    }

    fn objects(self, sizes: &Sizes) -> Vec<Object> {
        let several = |folder: &str, count: u64, size: u64| {
            (0..count).map(|number| Object::new(folder, number, size)).collect::<Vec<_>>()
        };
        match self {
            Load::Streams(count) => several("streams", count as u64, sizes.total / count as u64),
            Load::Shared(_) => several("shared", 1, sizes.total),
            // The second object is for random reads before.
            Load::Skips => several("skipped", 2, sizes.skipped),
            Load::Random { .. } => several("random", 1, sizes.anywhere),
            Load::Again { .. } => several("again", 1, sizes.again),
            Load::Parquet => Vec::new(),
            Load::Find => several("names", sizes.names, 1 << 10),
            Load::Small => several("small", sizes.small, SMALL),
            Load::Grep => several("grep", sizes.grepped, SMALL),
        }
    }

    /// Puts its objects on the server; `None` if a program is missing.
    pub(super) fn store(self, s3: &S3, sizes: &Sizes, folder: &Path) -> anyhow::Result<Option<Stored>> {
        let table = if self == Load::Parquet { Table::put(s3, sizes.rows, folder)? } else { None };
        if self == Load::Parquet && table.is_none() {
            return Ok(None);
        }
        let objects = self.objects(sizes);
        objects.iter().try_for_each(|object| s3.put(&object.name, &object.bytes()))?;
        Ok(Some(Stored { objects, table }))
    }

    /// Removes its objects.
    pub(super) fn remove(self, s3: &S3, stored: Stored) -> anyhow::Result<()> {
        stored.objects.iter().try_for_each(|object| s3.delete(&object.name))?;
        if stored.table.is_some() { Table::remove(s3) } else { Ok(()) }
    }

    /// Makes the reads that must come before, and do not count.
    pub(super) fn prepare(self, stored: &Stored, scope: Scope) -> anyhow::Result<()> {
        if let Load::Again { .. } = self {
            walk(scope, &stored.objects[0], Walk::whole(&stored.objects[0]), Instant::now())?;
        }
        Ok(())
    }

    /// Reads through the mount in the scope's folder.
    pub(super) fn read(self, stored: &Stored, scope: Scope, sizes: &Sizes) -> anyhow::Result<Work> {
        let objects = &stored.objects;
        let period = Scope { limit: sizes.period, ..scope };
        match self {
            Load::Streams(count) => {
                together(count, |at, begun| walk(scope, &objects[at], Walk::whole(&objects[at]), begun))
            }
            Load::Shared(count) => together(count, |at, begun| {
                let part = objects[0].size / count as u64;
                let from = at as u64 * part;
                walk(scope, &objects[0], Walk { from, to: from + part, ..Walk::whole(&objects[0]) }, begun)
            }),
            Load::Skips => together(1, |_, begun| {
                walk(scope, &objects[0], Walk { skip: 256 << 10, ..Walk::whole(&objects[0]) }, begun)
            }),
            Load::Random { read, threads } => {
                together(threads, |at, begun| anywhere(period, &objects[0], Anywhere { read, seed: at as u64 }, begun))
            }
            Load::Again { read: 4096 } => {
                together(1, |_, begun| anywhere(period, &objects[0], Anywhere { read: 4096, seed: 1 }, begun))
            }
            Load::Again { .. } => together(1, |_, begun| again(period, &objects[0], begun)),
            Load::Parquet => stored.table.as_ref().context("a table was stored")?.ask(scope.folder),
            Load::Find => find(&scope.folder.join("names"), objects.len()),
            Load::Small => together(1, |_, _| each(scope.folder, objects)),
            Load::Grep => grep(scope.folder, objects.len() as u64),
        }
    }
}

/// Reads an object over and over until the limit, and opens it each time.
fn again(scope: Scope, object: &Object, begun: Instant) -> anyhow::Result<Work> {
    let mut all = Work::default();
    while begun.elapsed() < scope.limit {
        let work = walk(scope, object, Walk::whole(object), begun)?;
        all.bytes += work.bytes;
        all.reads += work.reads;
    }
    Ok(all)
}

fn find(folder: &Path, names: usize) -> anyhow::Result<Work> {
    let begun = Instant::now();
    let output = Command::new("find").arg(folder).stdin(Stdio::null()).output().context("find")?;
    let seconds = begun.elapsed().as_secs_f64();
    ensure!(output.status.success(), "find: {}", String::from_utf8_lossy(&output.stderr));
    let found = output.stdout.iter().filter(|&&byte| byte == b'\n').count();
    // find lists the folder itself, too.
    if found != names + 1 {
        return Err(WrongBytes(format!("find shows {found} names instead of {}", names + 1)).into());
    }
    Ok(Work { seconds, bytes: 0, reads: names as u64 })
}

/// Several processes. Like `grep`, each reads its part of the files to their ends, one after the
/// other.
fn grep(folder: &Path, files: u64) -> anyhow::Result<Work> {
    let begun = Instant::now();
    let part = files / PROCESSES;
    let children = (0..PROCESSES).map(|number| {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--small").arg(folder).args([(number * part).to_string(), part.to_string()]);
        Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?)
    });
    let children = children.collect::<anyhow::Result<Vec<_>>>()?;
    let mut failed = None;
    for child in children {
        let output = child.wait_with_output()?;
        if !output.status.success() {
            failed = Some(String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
    match failed {
        Some(said) if said.contains(WRONG) => Err(WrongBytes(said).into()),
        Some(said) => bail!("a reader of small files: {said}"),
        None => Ok(Work { seconds: begun.elapsed().as_secs_f64(), bytes: files * SMALL, reads: files }),
    }
}

/// One of those processes: `FOLDER FIRST COUNT`.
pub(super) fn read_small(args: &[String]) -> anyhow::Result<()> {
    let [folder, first, count] = args else { bail!("three arguments") };
    let first: u64 = first.parse()?;
    let numbers = first..first + count.parse::<u64>()?;
    each(Path::new(folder), &numbers.map(|number| Object::new("grep", number, SMALL)).collect::<Vec<_>>())?;
    Ok(())
}

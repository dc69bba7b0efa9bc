//! Where blocks stay after they were read: `--kernel-cache on` against `off`, from outside. A mount
//! in a process of its own, and readers in theirs, on a local folder and on the papers' disk.
//! Measured are small reads, large reads, mapped files, SQLite, and memory.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::ValueEnum;
use forebay_core::{DeviceCost, DeviceId};
use forebay_device::device;
use forebay_device::scheduler::Elevator;
use forebay_fuse::MountOptions;
use forebay_live::engine::{Config, Engine, Referenced};
use forebay_live::tree::{Branch, Tree};
use forebay_source::Source;
use forebay_source::local::LocalSource;
use forebay_source::paced::PacedSource;
use forebay_testkit::tools;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::report::{Row, median};

/// Enough for all data, so that `off` keeps everything, too.
const MEMORY: u64 = 2 << 30;

const PAGE: usize = 4096;

/// The number of repetitions of quick reads, of which the best counts: a reader that another
/// program delays says nothing.
const AGAIN: usize = 5;

/// The storage below a mount of the benchmark.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Storage {
    /// The machine's own disk.
    Local,
    /// The same folder at the pace of the papers' disk, in real time.
    Disk,
}

/// A reader.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Reader {
    /// From front to back, 1 MiB at a time
    Large,
    /// From front to back, 4 KiB at a time
    Small,
    /// 4 KiB anywhere
    Random,
    /// Every page of a mapping, from front to back
    Mapped,
    /// Some pages of a mapping, anywhere
    MappedRandom,
}

/// The files, and their storage.
struct Data {
    folder: tempfile::TempDir,
    storage: Storage,
    /// The database, if sqlite3 is there.
    sqlite: Option<PathBuf>,
    /// The number of small reads, and of faults at random places.
    reads: u64,
    faults: u64,
}

/// The figures of one mount.
struct Measured {
    /// The loads in order, cold ones first, with their times in seconds.
    times: Vec<(&'static str, f64)>,
    held: Held,
}

/// Memory that a mount held in the end: resident bytes of its process, and bytes of its files in
/// the kernel's page cache.
struct Held {
    resident: u64,
    pages: u64,
}

pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for storage in [Storage::Local, Storage::Disk] {
        let local = storage == Storage::Local;
        let (large, rounds) = match (smoke, local) {
            (true, _) => (4 << 20, 1),
            (false, true) => (256 << 20, 3),
            (false, false) => (48 << 20, 3),
        };
        let data = Data::make(storage, large, if smoke { 100 } else { 20_000 }, if local { 400 } else { 60 })?;
        let (mut on, mut off) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            off.push(data.measure(Referenced::Kept)?);
            on.push(data.measure(Referenced::HandedOn)?);
        }
        rows.extend(compare(storage, &on, &off));
    }
    Ok(rows)
}

fn compare(storage: Storage, on: &[Measured], off: &[Measured]) -> Vec<Row> {
    let place = if storage == Storage::Local { "local" } else { "disk" };
    let row = |what: &str, ratio, detail| Row {
        bench: "kernel-cache",
        what: format!("{what}, {place}"),
        against: "kernel cache off".into(),
        ratio,
        wanted: None,
        detail,
        point: None,
    };
    let loads = on[0].times.iter().enumerate();
    let mut rows: Vec<Row> = loads
        .map(|(load, &(what, _))| {
            let times = |all: &[Measured]| all.iter().map(|one| one.times[load].1).collect::<Vec<f64>>();
            let (on, off) = (times(on), times(off));
            let ratio = median(on.iter().zip(&off).map(|(on, off)| off / on).collect());
            row(what, ratio, format!("on {:.1} ms, off {:.1} ms", 1e3 * median(on), 1e3 * median(off)))
        })
        .collect();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let held = |all: &[Measured]| {
        let resident = median(all.iter().map(|one| mib(one.held.resident)).collect());
        (resident, median(all.iter().map(|one| mib(one.held.pages)).collect()))
    };
    let (on, off) = (held(on), held(off));
    let detail = format!(
        "MiB of the process and in the page cache: on {:.0} + {:.0}, off {:.0} + {:.0}",
        on.0, on.1, off.0, off.1
    );
    rows.push(row("memory held, less is better", (on.0 + on.1) / (off.0 + off.1), detail));
    rows
}

impl Data {
    /// Files of different contents. `large` and `mapped` are read whole; of the others only a few
    /// pages are read.
    fn make(storage: Storage, large: u64, reads: u64, faults: u64) -> anyhow::Result<Data> {
        // Not in /tmp, which may be in memory.
        let folder = tempfile::tempdir_in(".")?;
        let mut random = SmallRng::seed_from_u64(1);
        for name in ["large", "mapped"] {
            let mut file = File::create(folder.path().join(name))?;
            let mut piece = vec![0; 1 << 20];
            for _ in 0..large >> 20 {
                random.fill(&mut piece[..]);
                file.write_all(&piece)?;
            }
        }
        for name in ["sparse", "scattered"] {
            File::create(folder.path().join(name))?.set_len(4 << 30)?;
        }
        let sqlite = tools::find("sqlite3");
        if let Some(sqlite) = &sqlite {
            let rows = large / 1000;
            let table = format!(
                "create table t(k integer primary key, v text); \
                 with recursive n(i) as (select 0 union all select i + 1 from n where i < {rows}) \
                 insert into t select i, printf('%0500d', i * 2654435761) from n;"
            );
            run_sqlite(sqlite, &folder.path().join("db"), &table)?;
        } else {
            eprintln!("no sqlite3: its rows are left out");
        }
        Ok(Data { folder, storage, sqlite, reads, faults })
    }

    /// Measures all loads on a new mount.
    fn measure(&self, referenced: Referenced) -> anyhow::Result<Measured> {
        let point = tempfile::tempdir()?;
        let served = Served::start(self.folder.path(), point.path(), self.storage, referenced)?;
        let read = |reader, name: &str, count| read_elsewhere(reader, &point.path().join(name), count);
        let best = |reader, name: &str, count| {
            (0..AGAIN).try_fold(f64::MAX, |best, _| read(reader, name, count).map(|seconds| best.min(seconds)))
        };
        let mut times = vec![
            ("1 MiB reads in sequence, cold", read(Reader::Large, "large", 0)?),
            ("1 MiB reads in sequence, again", best(Reader::Large, "large", 0)?),
            ("4 KiB reads in sequence, hits", best(Reader::Small, "large", self.reads)?),
            ("4 KiB reads at random, hits", best(Reader::Random, "large", self.reads)?),
            ("mapped, in sequence, cold", read(Reader::Mapped, "mapped", 0)?),
            ("mapped, in sequence, again", best(Reader::Mapped, "mapped", 0)?),
            ("mapped, at random, cold", read(Reader::MappedRandom, "sparse", self.faults)?),
            ("4 KiB reads at random, cold", read(Reader::Random, "scattered", self.faults)?),
        ];
        if let Some(sqlite) = &self.sqlite {
            let db = point.path().join("db");
            let timed = |sql: &str| {
                let began = Instant::now();
                run_sqlite(sqlite, &db, sql).map(|()| began.elapsed().as_secs_f64())
            };
            let rows = std::fs::metadata(self.folder.path().join("large"))?.len() / 1000;
            let mut random = SmallRng::seed_from_u64(2);
            let point_queries = |count: u64, random: &mut SmallRng| {
                let one = |_| format!("select v from t where k = {};", random.random_range(0..rows));
                (0..count).map(one).collect::<String>()
            };
            let scan = "select sum(length(v)) from t;";
            times.push(("SQLite, point queries, cold", timed(&point_queries(self.faults, &mut random))?));
            times.push(("SQLite, scan, cold", timed(scan)?));
            let best = |sql: &str| (0..AGAIN).try_fold(f64::MAX, |best, _| timed(sql).map(|seconds| best.min(seconds)));
            times.push(("SQLite, scan, again", best(scan)?));
            times.push(("SQLite, point queries, hits", best(&point_queries(self.reads, &mut random))?));
        }
        let pages = ["large", "mapped", "sparse", "scattered", "db"].map(|name| pages(&point.path().join(name)));
        let held = Held { resident: resident(served.child.id())?, pages: pages.iter().sum() };
        served.end()?;
        Ok(Measured { times, held })
    }
}

/// This program in another process, as the server of a mount.
struct Served {
    child: Child,
}

impl Served {
    fn start(folder: &Path, point: &Path, storage: Storage, referenced: Referenced) -> anyhow::Result<Served> {
        let mode = if referenced == Referenced::HandedOn { "on" } else { "off" };
        let storage = storage.to_possible_value().context("a name")?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--serve", mode, storage.get_name()]).args([folder, point]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut served = Served { child };
        let mut line = String::new();
        BufReader::new(served.child.stdout.take().context("piped")?).read_line(&mut line)?;
        if line.trim() == "ready" { Ok(served) } else { bail!("the mount did not start") }
    }

    /// Ends its input, which unmounts it.
    fn end(mut self) -> anyhow::Result<()> {
        drop(self.child.stdin.take());
        if self.child.wait()?.success() { Ok(()) } else { bail!("the mount ended badly") }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Serves a mount until the input ends: `MODE STORAGE FOLDER POINT`.
pub(crate) fn serve(args: &[String]) -> anyhow::Result<()> {
    let [mode, storage, folder, point] = args else { bail!("four arguments") };
    let referenced = if mode == "on" { Referenced::HandedOn } else { Referenced::Kept };
    let mut source: Arc<dyn Source> = Arc::new(LocalSource::new(Path::new(folder))?);
    // 100 us and 1 GB/s; and the kernel's read-ahead that `forebay mount` would set there and on a
    // disk.
    let (mut cost, mut read_ahead) = (DeviceCost::flat(100_000, 1_000_000_000, 4), 896 << 10);
    if storage == "disk" {
        let paced = PacedSource::new(source, device("ibm-10k")?.build(1)?, Box::new(Elevator::default()), 1.0)?;
        (cost, read_ahead) = (paced.cost().context("a model knows its cost")?, 128 << 10);
        source = Arc::new(paced);
    }
    let config = Config { referenced, ..Config::new(MEMORY, "competitive".parse()?) };
    let branch = Branch { name: None, source, device: DeviceId(0) };
    let tree = Arc::new(Tree::new(Engine::start(config, vec![cost])?, vec![branch])?);
    let options = MountOptions { threads: 2, read_ahead, ..MountOptions::default() };
    let mounted = forebay_fuse::mount(tree, Path::new(point), options)?;
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(mounted.unmount()?)
}

/// Runs a reader in a process of its own, and returns the seconds of its reads.
fn read_elsewhere(reader: Reader, path: &Path, count: u64) -> anyhow::Result<f64> {
    let name = reader.to_possible_value().context("a name")?;
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.args(["--visit", name.get_name(), &count.to_string()]).arg(path).output()?;
    if !output.status.success() {
        bail!("{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Reads, and prints the seconds: `READER COUNT FILE`.
pub(crate) fn read(args: &[String]) -> anyhow::Result<()> {
    let [reader, count, path] = args else { bail!("three arguments") };
    let reader = Reader::from_str(reader, false).map_err(anyhow::Error::msg)?;
    let (count, file) = (count.parse()?, File::open(path)?);
    let size = file.metadata()?.len();
    let mut random = SmallRng::seed_from_u64(count);
    let pages = size / PAGE as u64;
    let began = Instant::now();
    match reader {
        Reader::Large => {
            let mut buffer = vec![0; 1 << 20];
            (0..size >> 20).try_for_each(|at| file.read_exact_at(&mut buffer, at << 20))?;
        }
        Reader::Small => {
            let mut buffer = [0; PAGE];
            (0..count).try_for_each(|at| file.read_exact_at(&mut buffer, at % pages * PAGE as u64))?;
        }
        Reader::Random => {
            let mut buffer = [0; PAGE];
            (0..count)
                .try_for_each(|_| file.read_exact_at(&mut buffer, random.random_range(0..pages) * PAGE as u64))?;
        }
        Reader::Mapped => drop(touch(&file, size, 0..pages)?),
        Reader::MappedRandom => drop(touch(&file, size, (0..count).map(|_| random.random_range(0..pages)))?),
    }
    println!("{}", began.elapsed().as_secs_f64());
    Ok(())
}

/// Maps a file and reads a byte of each of some pages.
fn touch(file: &File, size: u64, pages: impl Iterator<Item = u64>) -> anyhow::Result<u64> {
    use std::os::fd::AsRawFd;
    let (len, null) = (size as usize, std::ptr::null_mut());
    // SAFETY: a fresh mapping at a place of the kernel's choice.
    let at = unsafe { libc::mmap(null, len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if at == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error().into());
    }
    // SAFETY: within the mapping, which lasts until the process ends; the file does not change.
    let byte = |page: u64| unsafe { at.cast::<u8>().add(page as usize * PAGE).read_volatile() };
    Ok(pages.map(|page| u64::from(byte(page))).sum())
}

fn run_sqlite(sqlite: &Path, db: &Path, sql: &str) -> anyhow::Result<()> {
    let mut command = Command::new(sqlite);
    let mut child = command.arg(db).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    child.stdin.take().context("piped")?.write_all(sql.as_bytes())?;
    if child.wait()?.success() { Ok(()) } else { bail!("sqlite3 failed on {}", db.display()) }
}

/// Resident bytes of a process.
fn resident(id: u32) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
}

/// Bytes of a file in the kernel's page cache, by util-linux' `fincore`; 0 without that program.
fn pages(path: &Path) -> u64 {
    let output = Command::new("fincore").args(["--bytes", "--noheadings", "--output", "RES"]).arg(path).output();
    output.ok().and_then(|output| String::from_utf8(output.stdout).ok()?.trim().parse().ok()).unwrap_or(0)
}

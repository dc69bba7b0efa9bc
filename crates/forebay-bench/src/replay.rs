//! Untimed replay against libCacheSim (<https://github.com/1a1a11a/libCacheSim>), which replays in
//! C, and the memory of our replay.
//!
//! Both get the same references, on one core: to five million objects that are named by hashes, in
//! a Zipf distribution of 0.9, with a cache of a tenth of the objects. libCacheSim runs its loop in
//! C over its own reader of a binary file, which is in memory. Ours goes over requests from memory,
//! through the numbering of blocks. The cost of the numbering is measured by itself.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, bail};
use forebay_sim::Unwatched;
use forebay_sim::untimed::{self, Algorithm, Capacity, Options, Run};
use forebay_trace::{BATCH, Request, Shape, Source, sample_hash};

use crate::report::{Row, median};
use crate::zipf;

/// Our name, libCacheSim's, and the least wanted ratios: without key numbering, and with it.
const POLICIES: [(&str, &str); 5] =
    [("lru", "LRU"), ("clock", "Clock"), ("sieve", "Sieve"), ("arc", "ARC"), ("s3-fifo", "S3FIFO")];
const WANTED: (f64, f64) = (5.0, 3.0);

/// The references to replay.
pub(crate) struct Workload {
    references: Arc<Vec<u32>>,
    blocks: u32,
}

impl Workload {
    pub(crate) fn new(smoke: bool) -> Workload {
        let (count, blocks) = if smoke { (100_000, 20_000) } else { (30_000_000, 5_000_000) };
        Workload { references: Arc::new(zipf::references(count, blocks, 0.9, 1)), blocks }
    }

    pub(crate) fn len(&self) -> usize {
        self.references.len()
    }

    /// A tenth of the objects.
    pub(crate) fn capacity(&self) -> u64 {
        u64::from(self.blocks / 10)
    }

    pub(crate) fn open(&self) -> Result<Box<dyn Source>, forebay_trace::Error> {
        Ok(Box::new(Objects { references: self.references.clone(), next: 0 }))
    }

    /// The same in libCacheSim's binary format: time, object, size, next access (unknown), 24 bytes
    /// a request.
    fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        for &reference in self.references.iter() {
            file.write_all(&1u32.to_le_bytes())?;
            file.write_all(&name(reference).to_le_bytes())?;
            file.write_all(&1u32.to_le_bytes())?;
            file.write_all(&(-1i64).to_le_bytes())?;
        }
        Ok(file.flush()?)
    }
}

fn name(reference: u32) -> u64 {
    sample_hash(u64::from(reference))
}

/// References from memory as a trace of objects.
struct Objects {
    references: Arc<Vec<u32>>,
    next: usize,
}

impl Source for Objects {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<usize, forebay_trace::Error> {
        let end = self.references.len().min(self.next + BATCH);
        let request = |&reference: &u32| Request { file: name(reference), len: 1, ..Request::default() };
        batch.extend(self.references[self.next..end].iter().map(request));
        Ok(end - std::mem::replace(&mut self.next, end))
    }

    fn shape(&self) -> Shape {
        Shape::Objects
    }

    fn progress(&self) -> (u64, u64) {
        (self.next as u64, self.references.len() as u64)
    }
}

/// Compares all policies, and measures the memory of one.
pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let workload = Workload::new(smoke);
    let mut rows = Vec::new();
    match LibCacheSim::fetch(smoke) {
        Ok(theirs) => {
            let folder = tempfile::tempdir_in(target())?;
            let trace = folder.path().join("zipf.oracleGeneral.bin");
            workload.write(&trace)?;
            for (ours, name) in POLICIES {
                rows.extend(compare(&workload, ours, name, &theirs, &trace, if smoke { 1 } else { 3 })?);
            }
        }
        Err(reason) => eprintln!("SKIPPED: untimed replay against libCacheSim: {reason:#}"),
    }
    rows.push(memory(smoke)?);
    Ok(rows)
}

/// Replays one policy with both, in turn.
fn compare(
    workload: &Workload,
    ours: &str,
    name: &str,
    theirs: &LibCacheSim,
    trace: &Path,
    rounds: usize,
) -> anyhow::Result<[Row; 2]> {
    let algorithm: Algorithm = ours.parse()?;
    let (mut apart, mut whole, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    let mut ratios = (0.0, 0.0);
    for _ in 0..rounds {
        let numbering = seconds(|| untimed::size(&|| workload.open(), &ONE_CORE, &Unwatched))?.0;
        let run = Run { algorithm, capacity: Capacity::Blocks(workload.capacity()) };
        let (total, outcomes) = seconds(|| untimed::replay(&|| workload.open(), &ONE_CORE, &[run], &Unwatched))?;
        let (their_seconds, their_ratio) = theirs.replay(name, trace, workload.capacity())?;
        apart.push(their_seconds / (total - numbering));
        whole.push(their_seconds / total);
        let rate = |seconds: f64| workload.len() as f64 / seconds / 1e6;
        rates.push((rate(total - numbering), rate(total), rate(their_seconds)));
        ratios = (outcomes.first().map_or(f64::NAN, |outcome| outcome.miss_ratio), their_ratio);
    }
    let middle = |of: fn(&(f64, f64, f64)) -> f64| median(rates.iter().map(of).collect());
    let (a, b, c) = (middle(|rate| rate.0), middle(|rate| rate.1), middle(|rate| rate.2));
    let misses = format!("misses {:.4} and {:.4}", ratios.0, ratios.1);
    let row = |what: &str, ratio, wanted, detail| Row {
        bench: "replay",
        what: format!("{ours}, {what}"),
        against: "libCacheSim".into(),
        ratio,
        wanted: Some(wanted),
        detail,
        point: None,
    };
    Ok([
        row("numbering of keys apart", median(apart), WANTED.0, format!("{a:.1} and {c:.1} M requests/s; {misses}")),
        row("with numbering of keys", median(whole), WANTED.1, format!("{b:.1} and {c:.1} M requests/s")),
    ])
}

pub(crate) const ONE_CORE: Options = Options { block_bytes: None, reads_only: false, threads: Some(1) };

/// The seconds of a computation, and its result. They are this thread's processor time, not real
/// time: other programs on the machine disturb the caches, but do not add to it.
pub(crate) fn seconds<T, E>(what: impl FnOnce() -> Result<T, E>) -> anyhow::Result<(f64, T)>
where
    anyhow::Error: From<E>,
{
    let start = on_processor()?;
    let result = what()?;
    Ok((on_processor()? - start, result))
}

/// The seconds that this thread had a processor.
fn on_processor() -> anyhow::Result<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: u64 = text.split(' ').next().unwrap_or_default().parse().context("the kernel's schedstat")?;
    Ok(nanoseconds as f64 / 1e9)
}

/// libCacheSim's Python package in an environment of its own under `target/`.
pub(crate) struct LibCacheSim {
    pub(crate) python: PathBuf,
}

impl LibCacheSim {
    /// Finds the package, or installs it, except in a smoke run. The version is pinned, so that
    /// figures can be compared.
    pub(crate) fn fetch(smoke: bool) -> anyhow::Result<LibCacheSim> {
        let folder = target().join("libcachesim");
        let python = folder.join("bin/python");
        if !succeeds(Command::new(&python).args(["-c", "import libcachesim"])) {
            let made = !smoke
                && succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder))
                && succeeds(Command::new(&python).args(["-m", "pip", "install", "-q", "libcachesim==0.3.5"]));
            if !made {
                bail!("the Python package libcachesim cannot be installed into {}", folder.display());
            }
        }
        Ok(LibCacheSim { python })
    }

    /// Seconds of processor time for a whole trace, and the miss ratio.
    fn replay(&self, policy: &str, trace: &Path, capacity: u64) -> anyhow::Result<(f64, f64)> {
        const PROGRAM: &str = "
import sys, time, libcachesim as lcs
policy, trace, capacity = sys.argv[1:]
parameters = lcs.ReaderInitParam(ignore_obj_size=True)
reader = lcs.TraceReader(trace, lcs.TraceType.ORACLE_GENERAL_TRACE, parameters)
cache = getattr(lcs, policy)(int(capacity))
start = time.process_time()
misses = cache.process_trace(reader)[0]
print('result', time.process_time() - start, misses)
";
        let mut command = Command::new(&self.python);
        command.args(["-c", PROGRAM, policy]).arg(trace).arg(capacity.to_string());
        let output = command.output().context("Python")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let result = text.lines().find_map(|line| line.strip_prefix("result "));
        let numbers: Vec<f64> = result.unwrap_or("").split(' ').flat_map(str::parse).collect();
        match numbers[..] {
            [seconds, misses] => Ok((seconds, misses)),
            _ => bail!("libCacheSim said nothing: {text}{}", String::from_utf8_lossy(&output.stderr)),
        }
    }
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

pub(crate) fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")
}

/// The most memory that a replay of LRU takes, in a process of its own, less that of a process that
/// does all but replaying.
fn memory(smoke: bool) -> anyhow::Result<Row> {
    let peak = |what: &str| -> anyhow::Result<u64> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--weigh", what]);
        if smoke {
            command.arg("--smoke");
        }
        let output = command.output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim()
            .parse()
            .with_context(|| format!("weighing {what}: {text}{}", String::from_utf8_lossy(&output.stderr)))
    };
    let workload = Workload::new(smoke);
    let size = untimed::size(&|| workload.open(), &ONE_CORE, &Unwatched)?.context("nobody stops it")?;
    let taken = peak("lru")?.saturating_sub(peak("nothing")?);
    let allowed = 40 * workload.capacity() + 16 * u64::from(size.distinct);
    let (blocks, keys) = (workload.capacity(), size.distinct);
    Ok(Row {
        bench: "replay",
        what: "resident memory, LRU".into(),
        against: "40 bytes a cached block + 16 a key".into(),
        ratio: taken as f64 / allowed as f64,
        wanted: Some(1.0),
        detail: format!("{:.1} MB, {blocks} cached blocks, {keys} keys; less is better", taken as f64 / 1e6),
        point: None,
    })
}

/// The process whose memory is measured: prints its peak, in bytes.
pub(crate) fn weigh(what: &str, smoke: bool) -> anyhow::Result<()> {
    let workload = Workload::new(smoke);
    if what != "nothing" {
        let run = Run { algorithm: what.parse()?, capacity: Capacity::Blocks(workload.capacity()) };
        untimed::replay(&|| workload.open(), &ONE_CORE, &[run], &Unwatched)?;
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("the kernel tells no VmHWM")?;
    let kilobytes: u64 = peak.trim().trim_end_matches("kB").trim().parse()?;
    println!("{}", kilobytes * 1024);
    Ok(())
}

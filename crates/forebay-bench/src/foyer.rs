//! Memory and disk tier beside foyer (<https://github.com/foyer-rs/foyer>), on the same requests
//! for pieces of one size, with the same memory, disk, readers and source. foyer's side is the
//! program of `bench/foyer`, which is no part of the workspace.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use forebay_core::{DeviceCost, DeviceId};
use forebay_live::engine::{Config, Engine, OpenFile};
use forebay_source::Source;
use forebay_tier::layout::{BESIDE, FILE_ROOM};
use forebay_tier::{Free, Options, TieredSource, Tiers};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use serde::Deserialize;

use crate::replay::target;
use crate::report::{Row, median};
use crate::tier::source::Stamped;
use crate::told::BESIDE_FRAMES;
use crate::zipf;

const PIECE: usize = 64 << 10;
const PIECES: u32 = 16_384;
const READERS: usize = 8;
const PAUSE: Duration = Duration::from_millis(2);
const MEMORY: u64 = 64 << 20;
/// Files of the tier.
const FILES: u64 = 4;

/// A replay's time, the pieces from disk and source, and the bytes written to the disk.
#[derive(Clone, Copy, Deserialize)]
struct Taken {
    seconds: f64,
    disk: u64,
    source: u64,
    written: u64,
}

impl Taken {
    /// Bytes written for each byte that the disk answered.
    fn written_a_hit(self) -> f64 {
        self.written as f64 / (self.disk * PIECE as u64).max(1) as f64
    }
}

pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let (count, rounds) = if smoke { (400, 1) } else { (80_000, 3) };
    let theirs = match program(smoke) {
        Ok(theirs) => theirs,
        Err(reason) => {
            eprintln!("SKIPPED: the tier beside foyer: {reason:#}");
            return Ok(Vec::new());
        }
    };
    let mut rows = Vec::new();
    for (load, numbers) in [
        ("popular pieces", popular(count)),
        ("the same beside a scan", beside_a_scan(count)),
        ("rounds, each in a new order", rounds_of(count)),
    ] {
        let (mut rates, mut written, mut said) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let (ours, theirs) = (replay(&numbers)?, theirs_of(&theirs, &numbers)?);
            rates.push(theirs.seconds / ours.seconds);
            written.push(ours.written_a_hit() / theirs.written_a_hit());
            said = [ours, theirs].map(|it| detail(it, count)).to_vec();
        }
        let row = |against: &str, ratio, wanted| Row {
            bench: "foyer",
            what: format!("{load}, {PIECES} pieces of 64 KiB"),
            against: against.into(),
            ratio,
            wanted,
            detail: said.join("; foyer: "),
            point: None,
        };
        rows.push(row("foyer, requests a second", median(rates), Some(1.0)));
        // A smoke run fits in memory.
        if written.iter().all(|ratio: &f64| ratio.is_finite()) {
            rows.push(row(
                "foyer, bytes written a byte that the disk answers; less is better",
                median(written),
                Some(1.0),
            ));
        }
    }
    Ok(rows)
}

fn detail(it: Taken, count: usize) -> String {
    let Taken { seconds, disk, source, .. } = it;
    let (rate, share) = (count as f64 / seconds, |part: u64| part as f64 / count as f64);
    let (disk, source, written) = (share(disk), share(source), it.written_a_hit());
    format!("{rate:.0} requests/s, {disk:.2} from disk, {source:.2} from the source, {written:.2} bytes written a byte")
}

/// Zipf's popularity, in an order of places that has nothing to do with it.
fn popular(count: usize) -> Vec<u32> {
    let places = shuffled(1);
    zipf::references(count, PIECES, 0.9, 1).into_iter().map(|rank| places[rank as usize % places.len()]).collect()
}

/// Every other request goes on with a scan of pieces that nobody else reads.
fn beside_a_scan(count: usize) -> Vec<u32> {
    let scan = (PIECES..).take(count.div_ceil(2));
    popular(count / 2).into_iter().zip(scan).flat_map(|(popular, scanned)| [popular, scanned]).collect()
}

/// Each piece of a set once in a round, in a new order. The set is twice what memory and disk hold.
fn rounds_of(count: usize) -> Vec<u32> {
    let set = (2 * (MEMORY + disk()) / PIECE as u64) as u32;
    let round = |seed| shuffled(seed).into_iter().filter(move |&number| number < set);
    (1..).flat_map(round).take(count).collect()
}

fn shuffled(seed: u64) -> Vec<u32> {
    let mut places: Vec<u32> = (0..PIECES).collect();
    places.shuffle(&mut SmallRng::seed_from_u64(seed));
    places
}

/// The requests on an engine over a tier.
fn replay(numbers: &[u32]) -> anyhow::Result<Taken> {
    let folder = tempfile::tempdir_in(target())?;
    let options = Options { free: Free::Bytes(0), ..Options::new(folder.path().join("tier"), disk()) };
    let tiers = Tiers::open(vec![options])?;
    tiers.settle();
    let pieces = numbers.iter().max().map_or(1, |most| u64::from(*most) + 1);
    let memory = Stamped::slow(pieces * PIECE as u64, PAUSE)?;
    let behind = TieredSource::new(Arc::new(memory.clone()), Arc::clone(&tiers));
    let cost = DeviceCost::flat(PAUSE.as_nanos() as u64, 1_000_000_000, READERS as u32);
    let engine = Engine::start(Config::new(MEMORY + BESIDE_FRAMES, "auto".parse()?), vec![cost])?;
    let file = engine.open(behind.open(Path::new("file"))?, DeviceId(0));
    let seconds = read(&file, numbers)?;
    tiers.settle();
    let figures = &tiers.figures()[0];
    let (disk, written) = (figures.hit_bytes / PIECE as u64, figures.written_bytes);
    Ok(Taken { seconds, disk, source: memory.asked() / PIECE as u64, written })
}

/// Readers that take the next request each; the seconds.
fn read(file: &OpenFile, numbers: &[u32]) -> anyhow::Result<f64> {
    let (next, began) = (AtomicUsize::new(0), Instant::now());
    std::thread::scope(|scope| {
        let reader = |handler| {
            let next = &next;
            move || -> anyhow::Result<()> {
                let mut buffer = vec![0; PIECE];
                while let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let offset = u64::from(number) * PIECE as u64;
                    file.read(handler, offset, &mut buffer)?;
                    ensure!(buffer[..8] == offset.to_le_bytes(), "other bytes");
                }
                Ok(())
            }
        };
        let readers: Vec<_> = (1..=READERS as u32).map(|handler| scope.spawn(reader(handler))).collect();
        readers.into_iter().try_for_each(|reader| reader.join().unwrap_or_else(|_| bail!("a reader panicked")))
    })?;
    Ok(began.elapsed().as_secs_f64())
}

fn disk() -> u64 {
    FILES * FILE_ROOM + BESIDE
}

/// foyer's program, built under `target/` if it is not there; a smoke run builds nothing.
fn program(smoke: bool) -> anyhow::Result<PathBuf> {
    let (folder, built) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/foyer"), target().join("foyer"));
    if !smoke {
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--release", "--locked", "--target-dir"]).arg(std::path::absolute(&built)?);
        ensure!(cargo.current_dir(&folder).status()?.success(), "it cannot be built in {}", folder.display());
    }
    let program = built.join("release/foyer-replay");
    ensure!(program.exists(), "{} is not built", program.display());
    Ok(program)
}

fn theirs_of(program: &Path, numbers: &[u32]) -> anyhow::Result<Taken> {
    let folder = tempfile::tempdir_in(target())?;
    let settings = [PIECE as u64, MEMORY, disk(), READERS as u64, PAUSE.as_micros() as u64];
    let mut child = Command::new(program)
        .arg(folder.path().join("foyer"))
        .args(settings.map(|it| it.to_string()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    child.stdin.take().context("a pipe")?.write_all(&bytes)?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "foyer-replay failed");
    Ok(serde_json::from_slice(&output.stdout)?)
}

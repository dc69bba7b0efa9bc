//! Hits of the disk tier against fio on a plain file of the same folder, an engine's miss with an
//! empty tier in front, and the opening of a full folder.
//!
//! A hit is a fetch of an object with a tier in front, without an engine. All sides take turns in
//! each round, since a shared disk is erratic.

pub(crate) mod source;

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use forebay_core::tier::{Admit, Rules};
use forebay_core::{DeviceCost, DeviceId};
use forebay_live::engine::{Config, Engine, OpenFile};
use forebay_source::local::LocalSource;
use forebay_source::{Fetch, FetchId, Label, Object, Segments, Source, io};
use forebay_testkit::tools;
use forebay_tier::layout::{BESIDE, FILE_ROOM};
use forebay_tier::{Free, Options, TieredSource, Tiers};

use crate::report::{Row, median};
use source::Stamped;

const SIZES: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];
const DEPTHS: [usize; 2] = [1, 32];
/// Files of a tier that has room in its index for all pieces of 4 KiB.
const ROOM: u64 = 32;
/// Bytes that may wait for the tier's writer without being dropped.
const SETTLED: usize = 8 << 20;

/// How much, how long and how often.
#[derive(Clone, Copy)]
struct Effort {
    bytes: usize,
    lasting: Duration,
    rounds: u32,
    misses: u64,
    /// Files of the full folder.
    files: u64,
}

/// Reads at random.
#[derive(Clone, Copy)]
struct Load {
    len: usize,
    depth: usize,
    lasting: Duration,
}

pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let fio = tools::find("fio").context("fio is missing: cargo xtask tools")?;
    let effort = match smoke {
        true => Effort { bytes: 4 << 20, lasting: Duration::from_millis(50), rounds: 1, misses: 50, files: 1 },
        false => Effort { bytes: 256 << 20, lasting: Duration::from_millis(400), rounds: 7, misses: 5000, files: 16 },
    };
    let folder = tempfile::tempdir()?;
    let plain = folder.path().join("plain");
    std::fs::write(&plain, vec![0xa5; effort.bytes])?;
    File::open(&plain)?.sync_all()?;
    let mut rows = Vec::new();
    for len in SIZES {
        rows.extend(hits(&fio, &plain, len, effort)?);
    }
    for len in &SIZES[..2] {
        rows.push(misses(folder.path(), *len, effort)?);
    }
    rows.extend(opening(&folder.path().join("full"), effort)?);
    Ok(rows)
}

/// A tier of so many files that takes everything.
fn eager(dir: &Path, files: u64) -> Options {
    Options {
        free: Free::Bytes(0),
        writes: Some(u64::MAX),
        rules: Rules { admit: Admit::All, ..Rules::default() },
        ..Options::new(dir, files * FILE_ROOM + BESIDE)
    }
}

/// Fetches a whole file, no faster than the tier writes.
fn fill(object: &Arc<dyn Object>, tiers: &Tiers, bytes: usize, len: usize) -> anyhow::Result<()> {
    for begun in (0..bytes).step_by(SETTLED) {
        for offset in (begun..bytes.min(begun + SETTLED)).step_by(len) {
            let (send, receive) = channel();
            fetch(object, offset as u64, Segments::own(len), move |buffer| drop(send.send(buffer)));
            receive.recv()??;
        }
        tiers.settle();
    }
    Ok(())
}

fn fetch(
    object: &Arc<dyn Object>,
    offset: u64,
    buffer: Segments,
    then: impl FnOnce(forebay_source::Result<Segments>) + Send + 'static,
) {
    let len = buffer.len();
    let done = Box::new(move |buffer, outcome: forebay_source::Result<()>| then(outcome.map(|()| buffer)));
    let label = Label::all(offset..offset + len as u64);
    object.fetch(Fetch { id: FetchId::unique(), offset, buffer, len, urgent: true, label, done });
}

/// Hits of one size, in pieces that fetches of that size brought.
fn hits(fio: &Path, plain: &Path, len: usize, effort: Effort) -> anyhow::Result<Vec<Row>> {
    let Effort { bytes, lasting, rounds, .. } = effort;
    let folder = plain.parent().context("a folder")?;
    let dir = folder.join(format!("tier-{len}"));
    let (memory, tiers) = (Stamped::new(bytes as u64), Tiers::open(vec![eager(&dir, ROOM)])?);
    let tiered = TieredSource::new(Arc::new(memory.clone()), Arc::clone(&tiers)).open(Path::new("file"))?;
    fill(&tiered, &tiers, bytes, len)?;
    ensure!(memory.asked() == bytes as u64, "the source was asked for {} bytes", memory.asked());
    let direct = LocalSource::new(folder)?.open(Path::new("plain"))?;
    let mut rows = Vec::new();
    for depth in DEPTHS {
        let load = Load { len, depth, lasting };
        let (mut ours, mut reader, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            // Each side is first once.
            let first = [theirs_of(fio, plain, load)?, reads(&direct, load)?, reads(&tiered, load)?];
            let then = [reads(&tiered, load)?, reads(&direct, load)?, theirs_of(fio, plain, load)?];
            ours.push((first[2] + then[0]) / 2.0);
            reader.push((first[1] + then[1]) / 2.0);
            theirs.push((first[0] + then[2]) / 2.0);
        }
        let what = format!("tier hits of {} KiB, {depth} at a time", len >> 10);
        let sides = |against: &str, other: &[f64], wanted| Row {
            bench: "tier",
            what: what.clone(),
            against: against.into(),
            ratio: median(ours.iter().zip(other).map(|(ours, other)| ours / other).collect()),
            wanted,
            detail: format!("{:.0} and {:.0} reads a second", median(ours.clone()), median(other.to_vec())),
            point: None,
        };
        rows.push(sides("fio, a plain file", &theirs, Some(0.9)));
        rows.push(sides("a local source, the same file", &reader, None));
        if depth == 1 {
            let above = ours.iter().zip(&theirs).map(|(ours, theirs)| 1e6 / ours - 1e6 / theirs).collect();
            rows.push(Row {
                against: "fio, µs above it".into(),
                ratio: median(above),
                wanted: Some(60.0),
                ..rows[rows.len() - 2].clone()
            });
        }
    }
    ensure!(memory.asked() == 0, "a hit was none: {:?}", tiers.figures());
    Ok(rows)
}

/// The reads in a second that an object answers, `depth` at any time.
fn reads(object: &Arc<dyn Object>, load: Load) -> anyhow::Result<f64> {
    let Load { len, depth, lasting } = load;
    let (send, receive) = channel();
    let places = object.version().size / len as u64;
    let (mut place, mut done) = (0, 0);
    let mut start = |buffer: Segments| {
        // An odd step through a power of two visits each place once before any comes again.
        place = (place + 0x9e37_79b1) % places;
        let send = send.clone();
        fetch(object, place * len as u64, buffer, move |buffer| drop(send.send(buffer)));
    };
    let began = Instant::now();
    (0..depth).for_each(|_| start(Segments::own(len)));
    while began.elapsed() < lasting {
        start(receive.recv()??);
        done += 1;
    }
    for _ in 0..depth {
        receive.recv()??;
        done += 1;
    }
    Ok(f64::from(done) / began.elapsed().as_secs_f64())
}

/// The reads in a second of fio, by the system call that ours are made by.
fn theirs_of(fio: &Path, plain: &Path, load: Load) -> anyhow::Result<f64> {
    let engine = if io::shared()?.name() == "io_uring" { "io_uring" } else { "libaio" };
    let Load { len, depth, lasting } = load;
    let mut command = Command::new(fio);
    command.args(["--name=plain", "--rw=randread", "--direct=1", "--time_based", "--output-format=json"]);
    command.args([format!("--ioengine={engine}"), format!("--bs={len}"), format!("--iodepth={depth}")]);
    command.arg(format!("--runtime={}ms", lasting.as_millis()));
    let mut named = std::ffi::OsString::from("--filename=");
    named.push(plain);
    let output = command.arg(named).stdin(Stdio::null()).output().context("fio")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "fio: {text}{}", String::from_utf8_lossy(&output.stderr));
    // Notes may come before the report.
    let report: serde_json::Value = serde_json::from_str(text.get(text.find('{').unwrap_or(0)..).unwrap_or_default())?;
    report["jobs"][0]["read"]["iops"].as_f64().with_context(|| format!("fio says no rate: {text}"))
}

/// An engine's miss, with an empty tier in front of the source and without. The tier takes next to
/// nothing, since each block is fetched once. Without `--disk` a miss is that without a tier.
fn misses(folder: &Path, len: usize, effort: Effort) -> anyhow::Result<Row> {
    const SIZE: u64 = 1 << 40;
    let tiers = Tiers::open(vec![Options::new(folder.join(format!("empty-{len}")), ROOM * FILE_ROOM + BESIDE)])?;
    tiers.settle();
    let alone: Arc<dyn Source> = Arc::new(Stamped::new(SIZE));
    let behind: Arc<dyn Source> = Arc::new(TieredSource::new(Arc::clone(&alone), Arc::clone(&tiers)));
    let opened = |source: &Arc<dyn Source>| -> anyhow::Result<_> {
        let engine =
            Engine::start(Config::new(128 << 20, "none".parse()?), vec![DeviceCost::flat(100_000, 1_000_000_000, 4)])?;
        Ok(engine.open(source.open(Path::new("file"))?, DeviceId(0)))
    };
    let (alone, behind) = (opened(&alone)?, opened(&behind)?);
    let (mut place, mut buffer) = (0_u64, vec![0; len]);
    let mut micros = |file: &OpenFile| -> anyhow::Result<f64> {
        let began = Instant::now();
        for _ in 0..effort.misses {
            place = (place + 0x9e37_79b1) % (SIZE / len as u64);
            file.read(1, place * len as u64, &mut buffer)?;
        }
        Ok(began.elapsed().as_secs_f64() * 1e6 / effort.misses as f64)
    };
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        let (first, second) = (micros(&alone)?, micros(&behind)?);
        with.push((second + micros(&behind)?) / 2.0);
        without.push((first + micros(&alone)?) / 2.0);
    }
    ensure!(tiers.figures()[0].hit_bytes == 0, "the tier had what was never fetched");
    Ok(Row {
        bench: "tier",
        what: format!("a miss of {} KiB, an empty tier", len >> 10),
        against: "a miss without a tier, time".into(),
        ratio: median(with.iter().zip(&without).map(|(with, without)| with / without).collect()),
        wanted: None,
        detail: format!("{:.1} and {:.1} µs", median(with), median(without)),
        point: None,
    })
}

/// How long a full folder takes to open, and until all in it is found.
fn opening(dir: &Path, effort: Effort) -> anyhow::Result<Vec<Row>> {
    let Effort { rounds, files, .. } = effort;
    let bytes = (files * FILE_ROOM) as usize >> 20 << 20;
    let opened = || Tiers::open(vec![eager(dir, files)]);
    let tiers = opened()?;
    let source = TieredSource::new(Arc::new(Stamped::new(bytes as u64)), Arc::clone(&tiers));
    fill(&source.open(Path::new("file"))?, &tiers, bytes, 1 << 20)?;
    tiers.close();
    let (mut open, mut found, mut pieces) = (Vec::new(), Vec::new(), 0);
    for _ in 0..rounds {
        let began = Instant::now();
        let tiers = opened()?;
        open.push(began.elapsed().as_secs_f64() * 1e3);
        tiers.settle();
        found.push(began.elapsed().as_secs_f64() * 1e3);
        pieces = tiers.figures()[0].pieces;
    }
    let row = |what: &str, millis: Vec<f64>| Row {
        bench: "tier",
        what: format!("{what}, a full folder"),
        against: "ms".into(),
        ratio: median(millis),
        wanted: None,
        detail: format!("{} MiB, {pieces} pieces", bytes >> 20),
        point: None,
    };
    Ok(vec![row("open", open), row("everything found", found)])
}

//! A scrape of the metrics, and its cost for readers: the time of `GET /metrics` on an engine with
//! 64 streams on three sources, over one connection to the loopback; and the time of a hit of 4 KiB
//! while a scraper asks ten times a second, against a hit while none does, in turn.
//!
//! Instructions would tell more. But callgrind loses count at a signal that a scrape provokes when
//! it first asks for the size of a page.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use forebay_core::{DeviceCost, DeviceId};
use forebay_live::engine::{Config, Engine, OpenFile};
use forebay_live::tree::{Branch, NodeId, Tree};
use forebay_serve::{At, Control, Options};
use forebay_source::local::LocalSource;
use forebay_testkit::asking::Connection;

use crate::report::{Row, median};

const SOURCES: u16 = 3;
const STREAMS: u32 = 64;
/// Bytes of a stream's file, of which half are read.
const FILE: usize = 1 << 20;
/// Bytes of a hit.
const HIT: usize = 4096;
/// Between two scrapes beside hits.
const PAUSE: Duration = Duration::from_millis(100);

/// How often, and how much at a time.
struct Effort {
    scrapes: u32,
    rounds: u32,
    hits: u64,
}

pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let effort = if smoke {
        Effort { scrapes: 3, rounds: 1, hits: 1_000 }
    } else {
        Effort { scrapes: 300, rounds: 15, hits: 2_000_000 }
    };
    let folder = tempfile::tempdir()?;
    let tree = tree(folder.path())?;
    let open = streams(&tree)?;
    let control = Control::start(Arc::clone(&tree), &At::Address(([127, 0, 0, 1], 0).into()), Options::control())?;
    let scrape = scrapes(&mut client(&control)?, effort.scrapes)?;
    let (mut ratios, mut alone, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        let (quiet, watched) = (hits(&open[0], effort.hits)?, beside_a_scraper(&control, &open[0], effort.hits)?);
        ratios.push(watched / quiet);
        alone.push(quiet);
        beside.push(watched);
    }
    Ok(vec![
        scrape,
        Row {
            bench: "scrape",
            what: "time of a hit beside a scraper".into(),
            against: "a hit that nobody watches".into(),
            ratio: median(ratios),
            wanted: Some(1.02),
            detail: format!("{:.0} and {:.0} ns", median(beside), median(alone)),
            point: None,
        },
    ])
}

/// The time of a scrape.
fn scrapes(client: &mut Connection, count: u32) -> anyhow::Result<Row> {
    let (mut times, mut bytes) = (Vec::new(), 0);
    for _ in 0..count {
        let begun = Instant::now();
        let text = scrape(client)?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        // Streams that pause for long are not counted, but their files are.
        ensure!(text.contains(&format!("forebay_open_files {STREAMS}\n")), "not {STREAMS} files: {text}");
        bytes = text.len();
    }
    Ok(Row {
        bench: "scrape",
        what: "ms a scrape, 64 streams, three sources".into(),
        against: String::new(),
        ratio: median(times),
        wanted: Some(5.0),
        detail: format!("{bytes} bytes, {count} scrapes"),
        point: None,
    })
}

/// Nanoseconds of a hit within the part of a file that was read.
fn hits(file: &OpenFile, count: u64) -> anyhow::Result<f64> {
    let mut buffer = [0; HIT];
    let blocks = (FILE / 2 / HIT) as u64;
    let begun = Instant::now();
    for nth in 0..count {
        black_box(file.read(1, nth * 37 % blocks * HIT as u64, &mut buffer)?);
    }
    Ok(begun.elapsed().as_secs_f64() * 1e9 / count as f64)
}

fn beside_a_scraper(control: &Control, file: &OpenFile, count: u64) -> anyhow::Result<f64> {
    let over = AtomicBool::new(false);
    let mut client = client(control)?;
    std::thread::scope(|scope| {
        let over = &over;
        let scraper = scope.spawn(move || {
            while !over.load(Ordering::SeqCst) {
                scrape(&mut client)?;
                std::thread::sleep(PAUSE);
            }
            anyhow::Ok(())
        });
        let each = hits(file, count);
        over.store(true, Ordering::SeqCst);
        scraper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        each
    })
}

fn client(control: &Control) -> anyhow::Result<Connection> {
    let At::Address(address) = control.at() else { bail!("it listens at an address") };
    Ok(Connection::new(*address)?)
}

fn scrape(client: &mut Connection) -> anyhow::Result<String> {
    let answer = client.ask("GET", "/metrics", &[])?;
    ensure!(answer.code == 200 && answer.whole, "{}: {}", answer.code, answer.text());
    Ok(answer.text())
}

/// A tree of folders, with a file for each stream.
fn tree(folder: &Path) -> anyhow::Result<Arc<Tree>> {
    let mut branches = Vec::new();
    for source in 0..SOURCES {
        let place = folder.join(source.to_string());
        fs::create_dir(&place)?;
        for stream in (0..STREAMS).filter(|stream| stream % u32::from(SOURCES) == u32::from(source)) {
            fs::write(place.join(stream.to_string()), vec![0x5a; FILE])?;
        }
        let (name, device) = (Some(source.to_string().into()), DeviceId(source));
        let source = Arc::new(LocalSource::new(&place)?);
        branches.push(Branch { name, source, device });
    }
    let costs = vec![DeviceCost::flat(100_000, 1 << 30, 8); SOURCES.into()];
    Ok(Arc::new(Tree::new(Engine::start(Config::new(128 << 20, "auto".parse()?), costs)?, branches)?))
}

/// Reads the first half of each file in pieces, by a reader of its own, and leaves it open.
fn streams(tree: &Arc<Tree>) -> anyhow::Result<Vec<OpenFile>> {
    let mut open = Vec::new();
    let mut buffer = vec![0; FILE / 16];
    for stream in 0..STREAMS {
        let source = stream % u32::from(SOURCES);
        let folder = tree.lookup(NodeId::ROOT, source.to_string().as_ref())?.node;
        let file = tree.open(tree.lookup(folder, stream.to_string().as_ref())?.node)?;
        for piece in 0..8 {
            file.read(stream + 1, piece * buffer.len() as u64, &mut buffer)?;
        }
        open.push(file);
    }
    // The last pieces that were fetched ahead arrive.
    std::thread::sleep(Duration::from_millis(100));
    Ok(open)
}

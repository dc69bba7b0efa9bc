//! 1 to 64 handlers on whole files of 4 MB and on random portions of them, on the papers' disk,
//! live and in real time: against the offline optimum S/(S/R + C) (CP §3.2), and against the preset
//! `linux` (CP Fig. 3).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use forebay_core::DeviceId;
use forebay_device::device;
use forebay_device::scheduler::Elevator;
use forebay_live::engine::{Config, Engine};
use forebay_play::handlers::{Load, Portion};
use forebay_source::Source;
use forebay_source::local::LocalSource;
use forebay_source::paced::PacedSource;

use crate::report::{Beside, Point, Row, median};

pub(crate) const FILE_BYTES: u64 = 4 << 20;
/// A quarter of the data, so that a file is gone long before its next turn.
pub(crate) const MEMORY: u64 = 256 << 20;
pub(crate) const FILES: usize = 256;

/// A load that is counted for `seconds`, after a warm-up of a quarter of that.
pub(crate) fn load(files: &[PathBuf], handlers: u32, portion: Portion, seconds: f64, seed: u64) -> Load {
    Load {
        files: files.to_vec(),
        handlers,
        portion,
        warm_up: Duration::from_secs_f64(seconds / 4.0),
        counted: Duration::from_secs_f64(seconds),
        seed,
    }
}

pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let files = data(folder.path(), if smoke { 8 } else { FILES })?;
    let (handlers, seconds, rounds): (&[u32], f64, u64) =
        if smoke { (&[2], 0.2, 1) } else { (&[1, 2, 4, 8, 16, 32, 64], 2.5, 3) };
    let mut rows = Vec::new();
    for portion in [Portion::Whole, Portion::Random] {
        for &handlers in handlers {
            let (mut shares, mut gains, mut seen) = (Vec::new(), Vec::new(), Vec::new());
            for seed in 1..=rounds {
                let load = load(&files, handlers, portion, seconds, seed);
                let [linux, aggressive, competitive] =
                    ["linux", "aggressive", "competitive"].map(|policy| measure(folder.path(), policy, &load));
                let (linux, aggressive, (competitive, best)) = (linux?.0, aggressive?.0, competitive?);
                shares.push(competitive / best);
                gains.push(competitive / linux);
                seen.push([linux, aggressive, competitive, best]);
            }
            let [linux, aggressive, ours, best] = [0, 1, 2, 3].map(|i| median(seen.iter().map(|s| s[i]).collect()));
            let detail =
                format!("MB/s: competitive {ours:.1}, linux {linux:.1}, aggressive {aggressive:.1}, optimum {best:.1}");
            let portion_name = format!("{portion:?}").to_lowercase();
            let point = Point { portion: portion_name, handlers, mb_s: [linux, aggressive, ours, best] };
            let what = format!("competitive, {portion:?}, {handlers} handlers").to_lowercase();
            let row = |against: &str, ratio, wanted| Row {
                bench: "handlers",
                what: what.clone(),
                against: against.into(),
                ratio,
                wanted,
                detail: detail.clone(),
                point: Some(Beside::Point(point.clone())),
            };
            rows.push(row("offline optimum", median(shares), Some(0.45)));
            rows.push(row("linux", median(gains), (handlers >= 4).then_some(1.4)));
        }
    }
    Ok(rows)
}

/// Throughput of one load under one policy, on a disk and in a cache of its own, and the optimum;
/// MB/s.
fn measure(folder: &Path, policy: &str, load: &Load) -> anyhow::Result<(f64, f64)> {
    let disk = device("ibm-10k")?.build(load.seed)?;
    let local: Arc<dyn Source> = Arc::new(LocalSource::new(folder)?);
    let paced = PacedSource::new(local, disk, Box::new(Elevator::default()), 1.0)?;
    let cost = paced.cost().context("a model knows its cost")?;
    let source: Arc<dyn Source> = Arc::new(paced);
    let config = Config::new(MEMORY, policy.parse()?);
    let engine = Engine::start(config, vec![cost.clone()])?;
    let throughput = load.run(&engine, &source, DeviceId(0))?;
    Ok((throughput, cost.optimum(load.mean_request(FILE_BYTES))))
}

pub(crate) fn data(folder: &Path, files: usize) -> std::io::Result<Vec<PathBuf>> {
    let content = vec![0x5a; FILE_BYTES as usize];
    let names: Vec<PathBuf> = (0..files).map(|number| PathBuf::from(format!("{number:03}"))).collect();
    for name in &names {
        std::fs::write(folder.join(name), &content)?;
    }
    Ok(names)
}

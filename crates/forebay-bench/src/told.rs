//! Shuffled small files of a store 20 ms away, by four readers that share one order: from a folder
//! of this machine, through a mount, and through a mount that is told the order. The mount has
//! memory for half of the files. The readers are threads, or the workers of a `DataLoader` of
//! PyTorch (`loader`).

mod loader;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use forebay_core::{DeviceCost, DeviceId};
use forebay_fuse::{MountOptions, Mounted};
use forebay_live::engine::{Config, Engine};
use forebay_live::told::{Mode, Named};
use forebay_live::tree::{Branch, Tree};
use forebay_source::object::StoreOptions;
use forebay_source::{RemoteSource, Source};
use forebay_testkit::delay::DelayProxy;
use forebay_testkit::mounts::MountPoint;
use forebay_testkit::s3::{BUCKET, S3};

use crate::report::{Row, median};

const DELAY: Duration = Duration::from_millis(20);
const SIZE: usize = 110_000;
const READERS: usize = 4;
/// The bytes that a mount needs beside its frames.
pub(crate) const BESIDE_FRAMES: u64 = 16 << 20;

pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let versitygw = forebay_testkit::tools::find("versitygw").context("versitygw is missing: cargo xtask tools")?;
    let server = S3::start(&versitygw)?;
    let (files, rounds) = if smoke { (40, 1) } else { (1000, 3) };
    for number in 0..files {
        server.put(&name(number), &vec![number as u8; SIZE])?;
    }
    let proxy = DelayProxy::start(server.address(), DELAY)?;
    let order = shuffled(files);
    let (mut folders, mut untold, mut told) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        folders.push(read(&server.folder(), &order)?);
        untold.push(mounted(&proxy, files, &order, false)?);
        told.push(mounted(&proxy, files, &order, true)?);
    }
    let row = |against: &str, other: &[f64], wanted| Row {
        bench: "told",
        what: format!("a mount told, {files} files of 110 kB, two epochs shuffled, 4 readers, 20 ms"),
        against: against.to_owned(),
        ratio: median(told.iter().zip(other).map(|(told, other)| told / other).collect()),
        wanted,
        detail: format!("{:.0} and {:.0} files a second", median(told.clone()), median(other.to_vec())),
        point: None,
    };
    let mut rows = vec![row("the mount untold", &untold, Some(4.0)), row("a folder of this machine", &folders, None)];
    rows.extend(loader::run(&server, smoke)?);
    Ok(rows)
}

fn name(number: usize) -> String {
    format!("train/{number:05}")
}

/// Two epochs, each in an order of its own.
fn shuffled(files: usize) -> Vec<usize> {
    let mut state = 1_u64;
    let mut epoch = || {
        let mut order: Vec<usize> = (0..files).collect();
        for last in (1..files).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(last, (state >> 33) as usize % (last + 1));
        }
        order
    };
    [epoch(), epoch()].concat()
}

/// All files in this order, by readers that take the next one each; files a second.
fn read(root: &Path, order: &[usize]) -> anyhow::Result<f64> {
    let (next, began) = (AtomicUsize::new(0), Instant::now());
    std::thread::scope(|scope| {
        let reader = || -> anyhow::Result<()> {
            while let Some(&number) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                let bytes = fs::read(root.join(name(number)))?;
                anyhow::ensure!(bytes.len() == SIZE && bytes[SIZE / 2] == number as u8, "other bytes");
            }
            Ok(())
        };
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(reader)).collect();
        readers.into_iter().try_for_each(|reader| reader.join().unwrap_or_else(|_| anyhow::bail!("a reader panicked")))
    })?;
    Ok(order.len() as f64 / began.elapsed().as_secs_f64())
}

/// The same through a mount, which is told the order or not.
fn mounted(proxy: &DelayProxy, files: usize, order: &[usize], told: bool) -> anyhow::Result<f64> {
    let mount = Store::start(proxy, files)?;
    if told {
        mount.tree.tell("epochs", Mode::Append, order.iter().map(|&number| Named::whole(name(number))))?;
    }
    let rate = read(mount.point.path(), order)?;
    mount.mount.unmount()?;
    Ok(rate)
}

/// A mount of the store, with memory for half of so many files.
struct Store {
    tree: Arc<Tree>,
    mount: Mounted,
    point: MountPoint,
}

impl Store {
    fn start(proxy: &DelayProxy, files: usize) -> anyhow::Result<Store> {
        let ttl = Duration::from_secs(600);
        let endpoint = Some(proxy.endpoint());
        let options = StoreOptions { endpoint, ttl, settings: S3::settings(), ..StoreOptions::default() };
        let source: Arc<dyn Source> = Arc::new(RemoteSource::open_uri(&format!("s3://{BUCKET}"), &options)?);
        let cost = DeviceCost::flat(DELAY.as_nanos() as u64, 100_000_000, 16);
        let memory = BESIDE_FRAMES + (files * SIZE / 2) as u64;
        let engine = Engine::start(Config::new(memory, "auto".parse()?), vec![cost])?;
        let branch = Branch { name: None, source, device: DeviceId(0) };
        let tree = Arc::new(Tree::new(engine, vec![branch])?);
        let point = MountPoint::new()?;
        let options = MountOptions { ttl, negative_ttl: ttl, ..MountOptions::default() };
        let mount = forebay_fuse::mount(Arc::clone(&tree), point.path(), options)?;
        Ok(Store { tree, mount, point })
    }
}

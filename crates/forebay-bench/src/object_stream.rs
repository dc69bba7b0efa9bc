//! One stream from an S3 server with 20 ms added before the first byte of each answer. It is
//! compared with the same number of parallel raw range gets, each of the size of a piece. First
//! byte and rate are those of a measured profile. The number of connections is fixed, since server,
//! proxy and both clients share two cores here.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use forebay_core::seams::MAX_PIECE_BYTES;
use forebay_core::{DeviceCost, DeviceId};
use forebay_live::engine::{Config, Engine};
use forebay_live::profiler::{self, Target};
use forebay_source::object::StoreOptions;
use forebay_source::{RemoteSource, Source};
use forebay_testkit::delay::DelayProxy;
use forebay_testkit::s3::S3;
use futures::{StreamExt, TryStreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::report::{Row, median};

const DELAY: Duration = Duration::from_millis(20);
const READ: usize = 128 << 10;

pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let versitygw = forebay_testkit::tools::find("versitygw").context("versitygw is missing: cargo xtask tools")?;
    let server = S3::start(&versitygw)?;
    let sizes: &[usize] = if smoke { &[2 << 20] } else { &[256 << 20, 1 << 30] };
    for size in sizes {
        server.put(&name(*size), &vec![0x5a; *size])?;
    }
    let proxy = DelayProxy::start(server.address(), DELAY)?;
    let options =
        StoreOptions { endpoint: Some(proxy.endpoint()), settings: S3::settings(), ..StoreOptions::default() };
    let source: Arc<dyn Source> = Arc::new(RemoteSource::open_uri(&format!("s3://{}", bucket(&server)?), &options)?);
    let rounds = if smoke { 1 } else { 3 };
    let (first_byte, rate) = if smoke {
        // Too little data for a measurement.
        (DELAY.as_nanos() as u64, 100_000_000)
    } else {
        let profile = profiler::profile(&Target::Source(Arc::clone(&source)), profiler::BUDGET, &mut |_| ())?;
        (profile.first_byte, profile.rate)
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let raw_store = raw(&proxy, &server)?;
    let mut rows = Vec::new();
    for (&size, connections) in sizes.iter().flat_map(|size| [1, 4, 16].map(|connections| (size, connections))) {
        let cost = DeviceCost::flat(first_byte, rate, connections);
        let piece = cost.competitive_depth(0, 0).clamp(4096, u64::from(MAX_PIECE_BYTES)) / 4096 * 4096;
        let (mut ratios, mut ours, mut raws) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let cached = stream(&source, &cost, size)?;
            let raw = runtime.block_on(gets(&*raw_store, size, piece as usize, connections as usize))?;
            ratios.push(cached / raw);
            ours.push(cached);
            raws.push(raw);
        }
        rows.push(Row {
            bench: "object-stream",
            what: format!("one stream of {} MiB, S3 with 20 ms added", size >> 20),
            against: format!("{connections} parallel raw range gets"),
            ratio: median(ratios),
            wanted: Some(0.85),
            detail: format!("{:.0} and {:.0} MB/s, pieces of {} KiB", median(ours), median(raws), piece >> 10),
            point: None,
        });
    }
    Ok(rows)
}

/// The object of a size.
fn name(size: usize) -> String {
    format!("file-{size}")
}

/// The bucket of the test server.
fn bucket(server: &S3) -> anyhow::Result<String> {
    let folder = server.folder();
    Ok(folder.file_name().context("the server's folder is its bucket")?.to_string_lossy().into_owned())
}

/// A client of the same store through the same proxy, without Forebay.
pub(crate) fn raw(proxy: &DelayProxy, server: &S3) -> anyhow::Result<Arc<dyn ObjectStore>> {
    let mut builder = AmazonS3Builder::new()
        .with_endpoint(proxy.endpoint())
        .with_bucket_name(bucket(server)?)
        .with_allow_http(true)
        .with_virtual_hosted_style_request(false);
    for (key, value) in S3::settings() {
        builder = builder.with_config(key.parse()?, value);
    }
    Ok(Arc::new(builder.build()?))
}

/// Reads the object once through a cold cache; MB/s.
fn stream(source: &Arc<dyn Source>, cost: &DeviceCost, size: usize) -> anyhow::Result<f64> {
    let config = Config::new(256 << 20, "competitive".parse()?);
    let engine = Engine::start(config, vec![cost.clone()])?;
    let file = engine.open(source.open(Path::new(&name(size)))?, DeviceId(0));
    let mut buffer = vec![0; READ];
    let began = Instant::now();
    let mut offset = 0;
    while offset < size {
        offset += file.read(1, offset as u64, &mut buffer)?;
    }
    Ok(size as f64 / 1e6 / began.elapsed().as_secs_f64())
}

/// Gets the object in ranges of `piece` bytes, `at_once` at a time; MB/s.
async fn gets(store: &dyn ObjectStore, size: usize, piece: usize, at_once: usize) -> anyhow::Result<f64> {
    let path = object_store::path::Path::from(name(size));
    let began = Instant::now();
    let starts = (0..size).step_by(piece);
    futures::stream::iter(starts)
        .map(|start| store.get_range(&path, start as u64..(start + piece).min(size) as u64))
        .buffer_unordered(at_once)
        .try_for_each(|_| async { Ok(()) })
        .await?;
    Ok(size as f64 / 1e6 / began.elapsed().as_secs_f64())
}

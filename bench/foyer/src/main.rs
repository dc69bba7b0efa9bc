//! Replays requests on foyer's hybrid cache, as `forebay-bench foyer` does on Forebay's memory and
//! disk tier.
//!
//! `foyer-replay FOLDER PIECES MEMORY DISK READERS PAUSE_US < NUMBERS`: the numbers, each 4 bytes,
//! little-endian, are of pieces of PIECES bytes. Readers take the next one each. A missed piece
//! comes from a source that takes PAUSE_US. Prints JSON: seconds, requests, pieces from disk and
//! from the source, bytes written to the disk.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use foyer::{BlockEngineConfig, DeviceBuilder, FsDeviceBuilder, HybridCache, HybridCacheBuilder, Source};

/// The command line.
struct Setting {
    folder: PathBuf,
    piece: usize,
    memory: usize,
    disk: usize,
    readers: usize,
    pause: Duration,
}

/// Where pieces came from.
#[derive(Default)]
struct Counts {
    disk: AtomicU64,
    source: AtomicU64,
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().context("a folder")?.into();
    let mut number = || arguments.next().context("a number")?.parse::<usize>().context("a number");
    let (piece, memory, disk, readers) = (number()?, number()?, number()?, number()?);
    let setting = Setting { folder, piece, memory, disk, readers, pause: Duration::from_micros(number()? as u64) };
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    let numbers = bytes.chunks_exact(4).map(|it| u32::from_le_bytes([it[0], it[1], it[2], it[3]])).collect();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(replay(setting, numbers))
}

async fn replay(setting: Setting, numbers: Vec<u32>) -> anyhow::Result<()> {
    let Setting { folder, piece, memory, disk, readers, pause } = setting;
    let device = FsDeviceBuilder::new(folder).with_capacity(disk).with_direct(true).build()?;
    let cache: HybridCache<u32, Vec<u8>> = HybridCacheBuilder::new()
        .memory(memory)
        .with_weighter(|_, value: &Vec<u8>| value.len())
        .storage()
        .with_engine_config(BlockEngineConfig::new(device).with_block_size(8 << 20))
        .build()
        .await?;
    let (numbers, next, counts) = (Arc::new(numbers), Arc::new(AtomicUsize::new(0)), Arc::new(Counts::default()));
    let began = Instant::now();
    let reader = || {
        let (cache, numbers, next, counts) = (cache.clone(), numbers.clone(), next.clone(), counts.clone());
        tokio::spawn(async move {
            while let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                let fetch = || async move {
                    tokio::time::sleep(pause).await;
                    let mut bytes = vec![0; piece];
                    bytes[..4].copy_from_slice(&number.to_le_bytes());
                    anyhow::Ok(bytes)
                };
                let entry = cache.get_or_fetch(&number, fetch).await?;
                ensure!(entry.value()[..4] == number.to_le_bytes(), "other bytes");
                match entry.source() {
                    Source::Disk => drop(counts.disk.fetch_add(1, Ordering::Relaxed)),
                    Source::Outer => drop(counts.source.fetch_add(1, Ordering::Relaxed)),
                    Source::Memory => {}
                }
            }
            anyhow::Ok(())
        })
    };
    for reader in (0..readers).map(|_| reader()).collect::<Vec<_>>() {
        reader.await??;
    }
    let seconds = began.elapsed().as_secs_f64();
    let written = cache.statistics().disk_write_bytes();
    let (disk, source) = (counts.disk.load(Ordering::Relaxed), counts.source.load(Ordering::Relaxed));
    println!("{}", serde_json::json!({ "seconds": seconds, "disk": disk, "source": source, "written": written }));
    cache.close().await?;
    Ok(())
}

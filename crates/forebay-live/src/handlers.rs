//! Concurrent request handlers, as in the microbenchmarks of CP §3.1: each picks a file, reads it in blocks of 64 KB, whole or
//! up to a random size, and picks the next. For the demo and the benchmarks; the load is closed, without think time.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use forebay_core::{DeviceCost, DeviceId};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use crate::engine::Engine;
use crate::source::{Result, Source};

/// What a handler reads at a time, in bytes.
pub const READ: u64 = 64 << 10;

/// How much of a file a request reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Portion {
    /// All of it: One-Whole-0.
    Whole,
    /// From its beginning up to a random size, evenly between 64 KB and all of it: One-Rand-0.
    Random,
}

/// A load.
#[derive(Clone, Debug)]
pub struct Load {
    /// The files, of one size. A file is read again only after all others were, so that with a memory of less than all of them
    /// every request goes to the storage.
    pub files: Vec<PathBuf>,
    /// How many handlers.
    pub handlers: u32,
    /// How much of a file they read.
    pub portion: Portion,
    /// How long to wait before counting.
    pub warm_up: Duration,
    /// How long to count.
    pub counted: Duration,
    /// For the order of files and the sizes of portions.
    pub seed: u64,
}

impl Load {
    /// Runs it; returns the rate at which handlers got bytes, in 10^6 bytes a second.
    pub fn run(&self, engine: &Arc<Engine>, source: &Arc<dyn Source>, device: DeviceId) -> Result<f64> {
        let mut random = SmallRng::seed_from_u64(self.seed);
        let mut files = self.files.clone();
        files.shuffle(&mut random);
        let (next, bytes, over) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let handlers: Vec<_> = (0..self.handlers)
                .map(|handler| {
                    let mut random = SmallRng::seed_from_u64(self.seed ^ u64::from(handler + 1) << 32);
                    let (files, next, bytes, over) = (&files, &next, &bytes, &over);
                    scope.spawn(move || -> Result<()> {
                        let mut buffer = vec![0; READ as usize];
                        while !over.load(Ordering::Relaxed) {
                            let path = &files[next.fetch_add(1, Ordering::Relaxed) % files.len()];
                            let file = engine.open(source.open(path)?, device);
                            let end = match self.portion {
                                Portion::Whole => file.size(),
                                Portion::Random => random.random_range(READ.min(file.size())..=file.size()),
                            };
                            let mut offset = 0;
                            while offset < end && !over.load(Ordering::Relaxed) {
                                let wanted = READ.min(end - offset) as usize;
                                let read = file.read(handler, offset, &mut buffer[..wanted])?;
                                bytes.fetch_add(read as u64, Ordering::Relaxed);
                                offset += wanted as u64;
                            }
                        }
                        Ok(())
                    })
                })
                .collect();
            std::thread::sleep(self.warm_up);
            let (from, began) = (bytes.load(Ordering::Relaxed), Instant::now());
            std::thread::sleep(self.counted);
            let (to, took) = (bytes.load(Ordering::Relaxed), began.elapsed());
            over.store(true, Ordering::Relaxed);
            for handler in handlers {
                handler.join().unwrap_or(Ok(()))?;
            }
            Ok((to - from) as f64 / 1e6 / took.as_secs_f64())
        })
    }

    /// The mean number of bytes that a request reads of files of `size`.
    pub fn mean_request(&self, size: u64) -> f64 {
        match self.portion {
            Portion::Whole => size as f64,
            Portion::Random => (READ.min(size) + size) as f64 / 2.0,
        }
    }
}

/// What an offline optimum reads in 10^6 bytes a second, if it fetches requests of `bytes` each in one piece: S / (S/R + C)
/// (CP §3.2), with the mean transfer rate and the mean switch cost of two independent places.
pub fn optimum(cost: &DeviceCost, bytes: f64) -> f64 {
    let switch = cost.switch_cost(cost.mean_distance()) as f64 / 1e9;
    bytes / (bytes / mean_rate(cost) + switch) / 1e6
}

/// The transfer rate of a device, averaged over its places, in bytes a second.
fn mean_rate(cost: &DeviceCost) -> f64 {
    let capacity = cost.capacity.max(1);
    let ends = cost.zones.iter().skip(1).map(|zone| zone.0).chain([capacity]);
    let weighted = cost.zones.iter().zip(ends).map(|(&(from, rate), to)| {
        let share = to.min(capacity).saturating_sub(from) as f64 / capacity as f64;
        share * rate as f64
    });
    let sum: f64 = weighted.sum();
    if sum > 0.0 { sum } else { cost.transfer_rate(0) as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CP §3.2: "Our estimated optimal throughputs … are 45.3 MB/sec, 40.5 MB/sec".
    #[test]
    fn the_papers_optima() {
        let ibm = forebay_device::device("ibm-10k").unwrap().build(0).unwrap().cost();
        let whole = optimum(&ibm, 4.0 * 1024.0 * 1024.0);
        assert!((whole - 45.3).abs() < 0.6, "{whole}");
        let random = optimum(&ibm, (4.0 * 1024.0 + 64.0) / 2.0 * 1024.0);
        assert!((random - 40.5).abs() < 0.6, "{random}");
    }
}

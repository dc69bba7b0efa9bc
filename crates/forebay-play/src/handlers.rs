//! Concurrent request handlers, as in the microbenchmarks of CP §3.1: each picks a file, reads it
//! in blocks of 64 KB, whole or up to a random size, and picks the next. For the demo and the
//! benchmarks; the load is closed, without think time.
//!
//! The order of the reads is fixed beforehand ([`Load::task`]), so that a simulation can run the
//! same.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use forebay_core::DeviceId;
use forebay_live::engine::Engine;
use forebay_source::{Result, Source};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

/// Bytes that a handler reads at a time.
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
    /// The files, of one size. A file is read again only after all others were, so that with a
    /// memory of less than all of them every request goes to the storage.
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
    /// The tasks of the handlers, in the order in which they take them, without end: which of the
    /// files, and how many bytes from its beginning, if files have `size` bytes.
    pub fn task(&self, number: usize, order: &[usize], size: u64) -> (usize, u64) {
        let bytes = match self.portion {
            Portion::Whole => size,
            Portion::Random => {
                let mut random = SmallRng::seed_from_u64(self.seed ^ (number as u64 + 1) << 32);
                random.random_range(READ.min(size)..=size)
            }
        };
        (order[number % order.len()], bytes)
    }

    /// The order in which files are read, by their places in `files`; it repeats.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.files.len()).collect();
        order.shuffle(&mut SmallRng::seed_from_u64(self.seed));
        order
    }

    /// Runs it; returns the rate at which handlers got bytes, in 10^6 bytes a second.
    pub fn run(&self, engine: &Arc<Engine>, source: &Arc<dyn Source>, device: DeviceId) -> Result<f64> {
        let order = self.order();
        let (next, bytes, over) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let handlers: Vec<_> = (0..self.handlers)
                .map(|handler| {
                    let (order, next, bytes, over) = (&order, &next, &bytes, &over);
                    scope.spawn(move || -> Result<()> {
                        let mut buffer = vec![0; READ as usize];
                        while !over.load(Ordering::Relaxed) {
                            let number = next.fetch_add(1, Ordering::Relaxed);
                            let path = &self.files[order[number % order.len()]];
                            let file = engine.open(source.open(path)?, device);
                            let (_, end) = self.task(number, order, file.size());
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

#[cfg(test)]
mod tests {

    /// CP §3.2: "Our estimated optimal throughputs … are 45.3 MB/sec, 40.5 MB/sec".
    #[test]
    fn the_papers_optima() {
        let ibm = forebay_device::device("ibm-10k").unwrap().build(0).unwrap().cost();
        let whole = ibm.optimum(4.0 * 1024.0 * 1024.0);
        assert!((whole - 45.3).abs() < 0.6, "{whole}");
        let random = ibm.optimum((4.0 * 1024.0 + 64.0) / 2.0 * 1024.0);
        assert!((random - 40.5).abs() < 0.6, "{random}");
    }
}

//! The programs that read: threads that begin together, and compare all bytes.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::pattern::Object;

/// The work of one or several readers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub(super) seconds: f64,
    pub(super) bytes: u64,
    pub(super) reads: u64,
}

/// The limit and the folder of reads.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) folder: &'a Path,
    /// A reader that is not done by then stops.
    pub(super) limit: Duration,
}

/// A part of an object, read from front to back.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    pub(super) from: u64,
    pub(super) to: u64,
    /// Bytes of a read, and bytes that are skipped after each.
    pub(super) read: usize,
    pub(super) skip: u64,
}

impl Walk {
    /// All of an object, 1 MiB at a time.
    pub(super) fn whole(object: &Object) -> Walk {
        Walk { from: 0, to: object.size, read: 1 << 20, skip: 0 }
    }
}

/// Random reads.
#[derive(Clone, Copy)]
pub(super) struct Anywhere {
    pub(super) read: usize,
    pub(super) seed: u64,
}

/// Runs a reader in each of `threads` threads, which begin together. Returns their work together,
/// and its time.
pub(super) fn together(
    threads: usize,
    reader: impl Fn(usize, Instant) -> anyhow::Result<Work> + Sync,
) -> anyhow::Result<Work> {
    let barrier = Barrier::new(threads + 1);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..threads)
            .map(|number| {
                let (barrier, reader) = (&barrier, &reader);
                scope.spawn(move || {
                    barrier.wait();
                    reader(number, Instant::now())
                })
            })
            .collect();
        barrier.wait();
        let begun = Instant::now();
        let mut all = Work::default();
        for reader in readers {
            let work = reader.join().map_err(|_| anyhow!("a reader panicked"))??;
            all.bytes += work.bytes;
            all.reads += work.reads;
        }
        Ok(Work { seconds: begun.elapsed().as_secs_f64(), ..all })
    })
}

/// Opens an object under the mount and walks through it by `read`.
pub(super) fn walk(scope: Scope, object: &Object, walk: Walk, begun: Instant) -> anyhow::Result<Work> {
    let file = open(scope.folder, object)?;
    let (mut work, mut at) = (Work::default(), walk.from);
    let mut buffer = vec![0; walk.read];
    while at < walk.to && begun.elapsed() < scope.limit {
        let wanted = (walk.to - at).min(walk.read as u64) as usize;
        file.read_exact_at(&mut buffer[..wanted], at).with_context(|| format!("{} at {at}", object.name))?;
        object.check(at, &buffer[..wanted])?;
        work.bytes += wanted as u64;
        work.reads += 1;
        at += wanted as u64 + walk.skip;
    }
    Ok(work)
}

/// Makes random reads of an object until the limit.
pub(super) fn anywhere(scope: Scope, object: &Object, reads: Anywhere, begun: Instant) -> anyhow::Result<Work> {
    let file = open(scope.folder, object)?;
    let (mut work, mut random) = (Work::default(), SmallRng::seed_from_u64(reads.seed));
    let mut buffer = vec![0; reads.read];
    let places = (object.size / reads.read as u64).max(1);
    while begun.elapsed() < scope.limit {
        let at = random.random_range(0..places) * reads.read as u64;
        file.read_exact_at(&mut buffer, at).with_context(|| format!("{} at {at}", object.name))?;
        object.check(at, &buffer)?;
        work.bytes += buffer.len() as u64;
        work.reads += 1;
    }
    Ok(work)
}

/// Reads each of several small objects to its end, one after the other.
pub(super) fn each(folder: &Path, objects: &[Object]) -> anyhow::Result<Work> {
    let (mut work, mut buffer) = (Work::default(), Vec::new());
    for object in objects {
        buffer.clear();
        let mut file = open(folder, object)?;
        file.read_to_end(&mut buffer).with_context(|| object.name.clone())?;
        anyhow::ensure!(buffer.len() as u64 == object.size, "{} has {} bytes", object.name, buffer.len());
        object.check(0, &buffer)?;
        work.bytes += object.size;
        work.reads += 1;
    }
    Ok(work)
}

fn open(folder: &Path, object: &Object) -> anyhow::Result<File> {
    File::open(folder.join(&object.name)).with_context(|| format!("cannot open {}", object.name))
}

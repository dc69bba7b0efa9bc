//! A modelled disk with a file's bytes: reads and writes of the file, each taking as long as the
//! model says, in real time.
//!
//! The work is done at once and its outcome waits for its moment. So the pace is the model's as
//! long as this machine is faster than the model; [`DiskStats::late`] says whether it was. Only the
//! scheduler sets the order of service. A write is in the file as soon as it is submitted. The
//! file's own file system decides what completion means for a write and what a flush adds: the
//! model has no cache that could lose anything.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant as Moment;

use forebay_device::{Queue, Request};
use parking_lot::Mutex;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::Serialize;

use crate::pacer::Pacer;

/// Why a file cannot be a disk.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// It cannot be opened for reading and writing.
    #[error("{}: cannot open the image: {reason}", .image.display())]
    Open {
        /// The file.
        image: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// It is a folder, a device, or something else without a size of its own.
    #[error("{}: not a regular file; an image is made with `truncate -s 10G FILE`", .0.display())]
    NotAFile(PathBuf),
    /// There is nothing in it.
    #[error("{}: empty; the disk is as large as its image, which `truncate -s 10G FILE` enlarges", .0.display())]
    Empty(PathBuf),
    /// The modelled disk has fewer bytes.
    #[error("{}: {size} bytes are more than the device has, {capacity}; choose a larger device or a smaller image", .image.display())]
    TooLarge {
        /// The file.
        image: PathBuf,
        /// Its bytes.
        size: u64,
        /// The device's bytes.
        capacity: u64,
    },
    /// Another process has it.
    #[error("{}: in use by another disk; stop that one, or copy the image", .0.display())]
    InUse(PathBuf),
    /// The thread that keeps the pace cannot be started.
    #[error("cannot start the pace of the disk: {0}")]
    Pace(io::Error),
}

/// See the module's head.
pub struct PacedDisk {
    image: File,
    size: u64,
    speed: f64,
    pacer: Pacer,
    next: AtomicU64,
    counts: Mutex<[Direction; 2]>,
    flushes: AtomicU64,
    started: Moment,
}

/// The disk's activity so far.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DiskStats {
    /// Bytes of the disk.
    pub size: u64,
    /// How many times as fast as its model it is.
    pub speed: f64,
    /// How long it has been there, in the machine's seconds.
    pub seconds: f64,
    /// Reads.
    pub read: Direction,
    /// Writes.
    pub write: Direction,
    /// Flushes, which take no time of the model.
    pub flushes: u64,
    /// Requests that are complete; the others are under way.
    pub completed: u64,
    /// While at least one request was under way, in the machine's seconds.
    pub busy_seconds: f64,
    /// From submission to completion, in the machine's milliseconds, the mean over complete
    /// requests.
    pub mean_response_ms: f64,
    /// The lateness of completions, in milliseconds.
    pub late: Late,
}

/// Requests of one direction, counted when they are submitted.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Direction {
    /// How many.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many by size: those above half of `up_to` bytes and not above it. Sizes that did not
    /// occur are left out.
    pub sizes: Vec<SizeCount>,
}

/// A class of sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct SizeCount {
    /// The largest size in it, bytes; a power of two.
    pub up_to: u64,
    /// How many requests.
    pub requests: u64,
}

/// How late the machine was, in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Late {
    /// The mean over complete requests.
    pub mean_ms: f64,
    /// The worst.
    pub most_ms: f64,
}

impl Direction {
    fn count(&mut self, bytes: u64) {
        self.requests += 1;
        self.bytes += bytes;
        let up_to = bytes.max(1).next_power_of_two();
        match self.sizes.binary_search_by_key(&up_to, |size| size.up_to) {
            Ok(at) => self.sizes[at].requests += 1,
            Err(at) => self.sizes.insert(at, SizeCount { up_to, requests: 1 }),
        }
    }
}

impl PacedDisk {
    /// The disk whose bytes are those of `image`, as fast as `queue` says, and `speed` times as
    /// fast if that is a positive number. The image is locked (flock(2)) for as long as the disk is
    /// there.
    pub fn open(image: &Path, queue: Box<dyn Queue>, speed: f64) -> Result<PacedDisk, DiskError> {
        let refused = |reason| DiskError::Open { image: image.to_owned(), reason };
        // Looked at before it is opened, which would wait for the other end of a pipe.
        if !image.metadata().map_err(refused)?.is_file() {
            return Err(DiskError::NotAFile(image.to_owned()));
        }
        let file = OpenOptions::new().read(true).write(true).open(image).map_err(refused)?;
        // Where files cannot be locked, a second disk is not kept away.
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(DiskError::InUse(image.to_owned()));
        }
        let (size, capacity) = (file.metadata().map_err(refused)?.len(), queue.capacity());
        if size == 0 {
            return Err(DiskError::Empty(image.to_owned()));
        }
        if capacity > 0 && size > capacity {
            return Err(DiskError::TooLarge { image: image.to_owned(), size, capacity });
        }
        let speed = if speed.is_finite() && speed > 0.0 { speed } else { 1.0 };
        Ok(PacedDisk {
            image: file,
            size,
            speed,
            pacer: Pacer::start(queue, speed).map_err(DiskError::Pace)?,
            next: AtomicU64::new(0),
            counts: Mutex::default(),
            flushes: AtomicU64::new(0),
            started: Moment::now(),
        })
    }

    /// Bytes of the disk: those of its image when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads `len` bytes from `offset`, fewer at the disk's end and none beyond; `done` gets them
    /// when their time has come, from any thread.
    pub fn read_then(&self, offset: u64, len: usize, done: impl FnOnce(io::Result<Vec<u8>>) + Send + 'static) {
        let len = (len as u64).min(self.size.saturating_sub(offset));
        if len == 0 {
            return done(Ok(Vec::new()));
        }
        let id = self.submit(0, Request::read(offset, len));
        let mut bytes = vec![0; len as usize];
        let outcome = self.image.read_exact_at(&mut bytes, offset).map(|()| bytes);
        self.pacer.pace().arrived(id, Box::new(move |_| done(outcome)));
    }

    /// Writes `data` at `offset`, as much of it as fits; `done` gets how much that was when its
    /// time has come, from any thread. Nothing fits beyond the disk's end: `ENOSPC`.
    pub fn write_then(&self, offset: u64, data: &[u8], done: impl FnOnce(io::Result<usize>) + Send + 'static) {
        let len = (data.len() as u64).min(self.size.saturating_sub(offset));
        if len == 0 {
            return done(if data.is_empty() { Ok(0) } else { Err(Errno::NOSPC.into()) });
        }
        let id = self.submit(1, Request::write(offset, len));
        let outcome = self.image.write_all_at(&data[..len as usize], offset).map(|()| len as usize);
        self.pacer.pace().arrived(id, Box::new(move |_| done(outcome)));
    }

    /// Returns when all that was written is safe as far as the image's own storage makes it so.
    pub fn flush(&self) -> io::Result<()> {
        self.flushes.fetch_add(1, Ordering::Relaxed);
        self.image.sync_data()
    }

    /// Its activity so far.
    pub fn stats(&self) -> DiskStats {
        let [read, write] = self.counts.lock().clone();
        let activity = self.pacer.pace().activity();
        let mean = |nanos: u64| nanos as f64 / 1e6 / activity.completed.max(1) as f64;
        DiskStats {
            size: self.size,
            speed: self.speed,
            seconds: self.started.elapsed().as_secs_f64(),
            read,
            write,
            flushes: self.flushes.load(Ordering::Relaxed),
            completed: activity.completed,
            busy_seconds: activity.busy as f64 / 1e9 / self.speed,
            mean_response_ms: mean(activity.response) / self.speed,
            late: Late { mean_ms: mean(activity.late), most_ms: activity.latest as f64 / 1e6 },
        }
    }

    /// Submits to the model and counts the request.
    fn submit(&self, direction: usize, request: Request) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.counts.lock()[direction].count(request.len);
        self.pacer.pace().submit(id, request);
        id
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use forebay_device::scheduler::SchedulerKind;
    use proptest::prelude::*;

    use super::*;

    /// Long enough for any machine; a test that waits so long has failed.
    const LONG: Duration = Duration::from_secs(60);

    fn queue(name: &str) -> Box<dyn Queue> {
        forebay_device::device(name).unwrap().queue(1, &SchedulerKind::default()).unwrap()
    }

    fn disk(size: u64, speed: f64) -> (tempfile::NamedTempFile, PacedDisk) {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(size).unwrap();
        let disk = PacedDisk::open(image.path(), queue("ibm-10k"), speed).unwrap();
        (image, disk)
    }

    fn read(disk: &PacedDisk, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let (sender, receiver) = channel();
        disk.read_then(offset, len, move |outcome| sender.send(outcome).unwrap());
        receiver.recv_timeout(LONG).unwrap()
    }

    fn write(disk: &PacedDisk, offset: u64, data: &[u8]) -> io::Result<usize> {
        let (sender, receiver) = channel();
        disk.write_then(offset, data, move |outcome| sender.send(outcome).unwrap());
        receiver.recv_timeout(LONG).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]
        /// A file of bytes and counters, against a vector and a list of the requests.
        #[test]
        fn a_disk_is_a_vector(
            steps in proptest::collection::vec((any::<bool>(), 0u64..70_000, 0usize..9_000, any::<u8>()), 1..40),
        ) {
            const SIZE: usize = 65_537;
            let (_image, disk) = disk(SIZE as u64, 1e6);
            let mut twin = vec![0u8; SIZE];
            let mut counted = [Vec::new(), Vec::new()];
            for (is_write, offset, len, byte) in steps {
                let fits = len.min(SIZE.saturating_sub(offset as usize));
                let place = (offset as usize).min(SIZE)..(offset as usize).min(SIZE) + fits;
                if fits > 0 {
                    counted[usize::from(is_write)].push(fits as u64);
                }
                if !is_write {
                    prop_assert_eq!(&read(&disk, offset, len).unwrap()[..], &twin[place]);
                } else {
                    match write(&disk, offset, &vec![byte; len]) {
                        Ok(written) => prop_assert_eq!(written, fits),
                        Err(error) => {
                            prop_assert!(fits == 0 && len > 0);
                            prop_assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
                        }
                    }
                    twin[place].fill(byte);
                }
            }
            let stats = disk.stats();
            for (direction, sizes) in [&stats.read, &stats.write].into_iter().zip(&counted) {
                prop_assert_eq!(direction.requests, sizes.len() as u64);
                prop_assert_eq!(direction.bytes, sizes.iter().sum::<u64>());
                prop_assert!(direction.sizes.is_sorted_by_key(|size| size.up_to));
                for class in &direction.sizes {
                    let inside = sizes.iter().filter(|&&size| size <= class.up_to && 2 * size > class.up_to);
                    prop_assert_eq!(class.requests, inside.count() as u64);
                }
                prop_assert_eq!(direction.sizes.iter().map(|size| size.requests).sum::<u64>(), direction.requests);
            }
            prop_assert_eq!(stats.completed, stats.read.requests + stats.write.requests);
        }
    }

    /// One request after the other, far apart: the disk is busy for as long as they take, and that
    /// time is the model's.
    #[test]
    fn time_is_the_models() {
        let (_image, disk) = disk(30 << 30, 1.0);
        let mut twin = queue("ibm-10k");
        let mut at = forebay_core::Instant(0);
        let began = Moment::now();
        for (id, offset) in [29u64 << 30, 3 << 30, 17 << 30].into_iter().enumerate() {
            twin.submit(at, id as u64, Request::read(offset, 4096));
            at = twin.next_completion().unwrap();
            assert_eq!(twin.complete(at), Some(id as u64));
            read(&disk, offset, 4096).unwrap();
        }
        let (took, stats) = (began.elapsed().as_secs_f64(), disk.stats());
        // Rotation depends on the moment; three seeks of a third of the disk and more don't.
        assert!(at.0 > 20_000_000 && stats.busy_seconds > 0.018, "{at:?} {stats:?}");
        assert!(stats.busy_seconds <= took && took < 60.0, "{took} {stats:?}");
        assert!((stats.mean_response_ms * 3.0 / 1e3 - stats.busy_seconds).abs() < 1e-6, "{stats:?}");
    }

    /// At a millionth of its pace nothing would come for hours; in the image it is at once.
    #[test]
    fn what_is_written_is_there_when_the_disk_is_dropped() {
        let (image, disk) = disk(1 << 20, 1e-6);
        let (sender, receiver) = channel();
        for (offset, byte) in [(0u64, 1u8), (4096, 2), (8192, 3)] {
            let sender = sender.clone();
            disk.write_then(offset, &[byte; 4096], move |outcome| sender.send(outcome).unwrap());
        }
        assert!(receiver.try_recv().is_err());
        disk.flush().unwrap();
        assert_eq!(disk.stats().flushes, 1);
        drop(disk);
        (0..3).for_each(|_| assert_eq!(receiver.recv_timeout(LONG).unwrap().unwrap(), 4096));
        let bytes = std::fs::read(image.path()).unwrap();
        assert!([1, 2, 3, 0].iter().zip(bytes.chunks(4096)).all(|(&byte, block)| block == [byte; 4096]));
    }

    #[test]
    fn what_cannot_be_a_disk_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let said = |path: &Path| PacedDisk::open(path, queue("ibm-10k"), 1.0).err().unwrap().to_string();
        assert!(said(&dir.path().join("none")).contains("No such file"));
        assert!(said(dir.path()).contains("not a regular file"));
        let image = dir.path().join("image");
        File::create(&image).unwrap();
        assert!(said(&image).contains("empty"));
        File::options().write(true).open(&image).unwrap().set_len(40 << 30).unwrap();
        assert!(said(&image).contains("more than the device has"));
        File::options().write(true).open(&image).unwrap().set_len(1 << 30).unwrap();
        let _disk = PacedDisk::open(&image, queue("ibm-10k"), 1.0).unwrap();
        assert!(said(&image).contains("in use"));
    }
}

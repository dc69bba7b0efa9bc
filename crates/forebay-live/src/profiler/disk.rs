//! Reading a local file or block device to measure it, past the page cache.
//!
//! Distances and places are offsets within one file. On most file systems a large file lies in few
//! pieces, so that offsets are near the truth, but a file covers only a part of its disk. A
//! folder's profile therefore has one rate, not zones, and its seek curve stays level beyond the
//! file. A block device given directly has both in full. A folder on a disk with an arm that we may
//! read is measured on the disk itself. (A folder on flash is not: flash answers reads of blocks
//! that were never written without looking them up.)

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use forebay_device::Profile;
use forebay_device::random::Random;
use rustix::fs::Advice;

use super::measure::{self, Plan};
use super::{Probe, ProfileError};

/// A folder whose largest file is smaller gets a temporary file to measure with.
const ENOUGH: u64 = 64 << 20;
/// Names that are looked at for the largest file, at most.
const NAMES: usize = 20_000;
/// The alignment of direct reads, enough for any device that is likely to be met.
const ALIGN: usize = 4096;

/// Measures the device at `path`: a block device or file itself, or the disk below a folder.
pub fn profile(path: &Path, plan: Plan, progress: &mut dyn FnMut(f64)) -> Result<Profile, ProfileError> {
    let at = |source| ProfileError::Path { path: path.to_owned(), source };
    let what = path.display().to_string();
    let metadata = path.metadata().map_err(at)?;
    let kind = metadata.file_type();
    if !kind.is_dir() && !kind.is_file() && !kind.is_block_device() {
        // Opening a pipe would wait for a writer.
        return Err(at(std::io::Error::new(ErrorKind::InvalidInput, "neither a folder nor a file nor a block device")));
    }
    if !kind.is_dir() {
        return measure::disk(&what, &mut FileProbe::open(path).map_err(at)?, plan, progress);
    }
    if let Some(mut disk) = disk_below(metadata.dev()) {
        return measure::disk(&what, &mut disk, plan, progress);
    }
    let mut probe = in_folder(path, plan.budget).map_err(at)?;
    let mut profile = measure::disk(&what, &mut probe, plan, progress)?;
    let space = rustix::fs::statvfs(path).map_err(|errno| at(errno.into()))?;
    profile.zones = vec![(0, profile.rate)];
    profile.capacity = space.f_blocks.saturating_mul(space.f_frsize).max(probe.size);
    Ok(profile)
}

/// The device below a path: its number, and the file system's, so that another disk at the same
/// number is another device.
pub fn identity(path: &Path) -> Result<String, ProfileError> {
    let at = |source| ProfileError::Path { path: path.to_owned(), source };
    let metadata = path.metadata().map_err(at)?;
    if metadata.file_type().is_block_device() {
        return Ok(format!("disk:{:x}", metadata.rdev()));
    }
    let space = rustix::fs::statvfs(path).map_err(|errno| at(errno.into()))?;
    Ok(format!("filesystem:{:x}:{:x}", metadata.dev(), space.f_fsid))
}

/// The disk or partition whose number is that of a file system's files, if it has an arm and we may
/// read it.
fn disk_below(number: u64) -> Option<FileProbe> {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let sysfs = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    // A partition's queue is that of its disk.
    let rotational = ["queue/rotational", "../queue/rotational"].map(|name| sysfs.join(name));
    let rotational = rotational.iter().find_map(|path| std::fs::read_to_string(path).ok())?;
    let properties = std::fs::read_to_string(sysfs.join("uevent")).ok()?;
    let name = properties.lines().find_map(|line| line.strip_prefix("DEVNAME="))?;
    (rotational.trim() == "1").then(|| FileProbe::open(&Path::new("/dev").join(name)).ok()).flatten()
}

/// The largest file of a folder, or a temporary one if that is small and the folder can be written
/// to.
fn in_folder(folder: &Path, budget: Duration) -> std::io::Result<FileProbe> {
    let found = largest(folder);
    if let Some((path, size)) = &found
        && *size >= ENOUGH
    {
        return FileProbe::open(path);
    }
    match (temporary(folder, budget), found) {
        (Ok(probe), _) => Ok(probe),
        (Err(_), Some((path, _))) => FileProbe::open(&path),
        (Err(error), None) => Err(error),
    }
}

/// The largest file below `folder` that takes its size on the disk (a sparse one reads nothing),
/// with its size. Neither symbolic links nor other file systems are entered. Folders and files that
/// cannot be read are passed over.
fn largest(folder: &Path) -> Option<(PathBuf, u64)> {
    let device = folder.metadata().ok()?.dev();
    let mut folders = vec![folder.to_owned()];
    let mut best: Option<(PathBuf, u64)> = None;
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > NAMES {
                return best;
            }
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() && metadata.dev() == device {
                folders.push(entry.path());
            }
            let solid = metadata.blocks() * 512 >= metadata.len() / 10 * 9;
            let larger = best.as_ref().is_none_or(|&(_, size)| metadata.len() > size);
            if metadata.is_file() && solid && larger && File::open(entry.path()).is_ok() {
                best = Some((entry.path(), metadata.len()));
            }
        }
    }
    best
}

/// A file of random bytes in `folder`, without a name from before its first byte is written, so
/// that nothing stays behind.
fn temporary(folder: &Path, budget: Duration) -> std::io::Result<FileProbe> {
    let space = rustix::fs::statvfs(folder)?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    let size = if budget < Duration::from_secs(2) { ENOUGH } else { 2 * ENOUGH }.min(free / 4);
    let path = folder.join(format!(".forebay-profile-{}-{:x}", std::process::id(), Random::new(free).bits()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    let probe = FileProbe::open(&path);
    std::fs::remove_file(&path)?;
    let mut probe = probe?;

    let (start, mut random, mut written) = (Instant::now(), Random::new(1), 0);
    let mut chunk = vec![0u8; 1 << 20];
    while written < size && (start.elapsed() < budget || written < 8 << 20) {
        chunk.chunks_exact_mut(8).for_each(|eight| eight.copy_from_slice(&random.bits().to_le_bytes()));
        file.write_all(&chunk)?;
        written += chunk.len() as u64;
    }
    file.sync_all()?;
    probe.size = written;
    Ok(probe)
}

/// Reads a file or block device.
#[derive(Debug)]
pub struct FileProbe {
    file: File,
    size: u64,
    /// Whether reads pass the page cache; where that is refused, the cache is told to forget
    /// instead.
    direct: bool,
    buffer: Vec<u8>,
}

impl FileProbe {
    /// Opens it, for direct reads if the file system has them.
    pub fn open(path: &Path) -> std::io::Result<FileProbe> {
        if let Ok(file) = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path) {
            let mut probe = FileProbe::of(file, true)?;
            // Some file systems let one open, but not read, or want a coarser alignment.
            if probe.size == 0 || probe.read(0, ALIGN as u64).is_ok() {
                return Ok(probe);
            }
        }
        FileProbe::of(File::open(path)?, false)
    }

    fn of(mut file: File, direct: bool) -> std::io::Result<FileProbe> {
        let size = file.seek(SeekFrom::End(0))?;
        Ok(FileProbe { file, size, direct, buffer: Vec::new() })
    }

    /// Reads into `buffer`, which grows as needed; returns nanoseconds.
    fn timed(&self, buffer: &mut Vec<u8>, place: u64, len: u64) -> std::io::Result<u64> {
        let len = len.min(self.size.saturating_sub(place)) as usize;
        let room = len.next_multiple_of(ALIGN);
        if buffer.len() < room + ALIGN {
            buffer.resize(room + ALIGN, 0);
        }
        let from = buffer.as_ptr().align_offset(ALIGN);
        let aligned = &mut buffer[from..from + room];
        if !self.direct {
            // Read-ahead would answer the next read from memory. Errors of the advice only make the
            // times less true.
            let _ = rustix::fs::fadvise(self.file.as_fd(), 0, None, Advice::Random);
            let _ = rustix::fs::fadvise(self.file.as_fd(), 0, None, Advice::DontNeed);
        }
        let start = Instant::now();
        let mut filled = 0;
        while filled < len {
            match self.file.read_at(&mut aligned[filled..], place + filled as u64) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => filled += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(start.elapsed().as_nanos() as u64)
    }
}

impl Probe for FileProbe {
    fn capacity(&self) -> u64 {
        self.size
    }

    fn longest(&self) -> u64 {
        self.size
    }

    fn read(&mut self, place: u64, len: u64) -> Result<u64, ProfileError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let nanos = self.timed(&mut buffer, place, len);
        self.buffer = buffer;
        Ok(nanos?)
    }

    fn read_all(&mut self, places: &[u64], len: u64, at_once: usize) -> Result<Vec<u64>, ProfileError> {
        let next = AtomicUsize::new(0);
        let worker = || -> std::io::Result<Vec<u64>> {
            let (mut buffer, mut times) = (Vec::new(), Vec::new());
            while let Some(&place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                times.push(self.timed(&mut buffer, place, len)?);
            }
            Ok(times)
        };
        let times = std::thread::scope(|scope| {
            let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, worker);
            let threads = (0..at_once.max(1)).map(spawn).collect::<std::io::Result<Vec<_>>>()?;
            // A worker doesn't panic; if it did, its reads are missing, which is an error like any
            // other.
            let failed = |_| Err(ErrorKind::Other.into());
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(failed)).collect::<std::io::Result<Vec<_>>>()
        })?;
        Ok(times.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiler::{Target, identity};
    use forebay_device::Kind;

    const QUICK: Duration = Duration::from_millis(150);

    fn profile(path: &Path) -> Result<Profile, ProfileError> {
        crate::profiler::profile(&Target::Path(path.to_owned()), QUICK, &mut |_| ())
    }

    #[test]
    fn a_folder_is_measured_and_left_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("small"), [7; 5000]).unwrap();
        let profile = profile(dir.path()).unwrap();
        profile.check().unwrap();
        assert!(profile.rate > 0 && profile.first_byte > 0 && profile.channels >= 1, "{profile:?}");
        assert!(profile.measured > 1_600_000_000);
        assert_eq!(profile.device, identity(&Target::Path(dir.path().to_owned())).unwrap());
        let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["small"]);
    }

    #[test]
    fn a_file_is_measured_itself() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, vec![1; 8 << 20]).unwrap();
        let profile = profile(&path).unwrap();
        assert_eq!(profile.capacity, 8 << 20);
        if profile.kind == Kind::Disk {
            assert!(profile.seek.iter().all(|&(distance, _)| distance <= 8 << 20));
        }
    }

    /// With and without the page cache, for every kind of read: the bytes read are those of the
    /// file, or there is an error.
    #[test]
    fn reads_end_where_the_file_ends() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, vec![9; 10_000]).unwrap();
        for mut probe in [FileProbe::open(&path).unwrap(), FileProbe::of(File::open(&path).unwrap(), false).unwrap()] {
            assert!(probe.read(8192, 4096).unwrap() > 0);
            assert_eq!(probe.buffer.iter().filter(|&&byte| byte == 9).count(), 10_000 - 8192);
            assert_eq!(probe.read_all(&[0; 20], 4096, 3).unwrap().len(), 20);
            File::options().write(true).open(&path).unwrap().set_len(4096).unwrap();
            assert!(probe.read(4096, 4096).is_err(), "the file was cut short");
            std::fs::write(&path, vec![9; 10_000]).unwrap();
        }
    }

    #[test]
    fn the_largest_solid_file_is_found() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("deep")).unwrap();
        std::fs::write(dir.path().join("deep/large"), vec![1; 300_000]).unwrap();
        std::fs::write(dir.path().join("medium"), vec![1; 200_000]).unwrap();
        File::create(dir.path().join("sparse")).unwrap().set_len(1 << 30).unwrap();
        std::os::unix::fs::symlink("/dev/zero", dir.path().join("link")).unwrap();
        assert_eq!(largest(dir.path()), Some((dir.path().join("deep/large"), 300_000)));
    }

    #[test]
    fn what_is_missing_or_small_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let said = profile(&dir.path().join("none")).unwrap_err().to_string();
        assert!(said.contains("none") && said.contains("No such file"), "{said}");
        let path = dir.path().join("tiny");
        std::fs::write(&path, [0; 100]).unwrap();
        assert!(matches!(profile(&path), Err(ProfileError::TooSmall { bytes: 100, .. })));
        let said = profile(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(said.contains("neither a folder nor a file"), "{said}");
    }
}

//! One cold stream from a local file in reads of 1 MiB, against the best loop of direct reads over
//! the same file. The loop's reads have several sizes, up to the stream's, and the fastest counts.
//! The disk of a shared machine is erratic: both sides alternate, and medians are compared.

use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use forebay_core::DeviceId;
use forebay_live::engine::{Config, Engine};
use forebay_live::profiler::{self, Target};
use forebay_source::local::LocalSource;
use forebay_source::{Segments, Source};

use crate::report::{Row, median};

/// The sizes of direct reads, in KiB.
const SIZES: [usize; 4] = [128, 256, 512, 1024];
const READ: usize = 1 << 20;

pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("file");
    let size: usize = if smoke { 4 << 20 } else { 512 << 20 };
    std::fs::write(&path, vec![0xa5; size])?;
    // On the disk, not on its way there.
    std::fs::File::open(&path)?.sync_all()?;
    let (budget, rounds) = if smoke { (Duration::from_millis(200), 1) } else { (Duration::from_secs(5), 7) };
    let cost = profiler::profile(&Target::Path(folder.path().into()), budget, &mut |_| ())?.cost();
    let (mut ratios, mut ours, mut best) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let config = Config::new(128 << 20, "competitive".parse()?);
        let engine = Engine::start(config, vec![cost.clone()])?;
        let source = LocalSource::new(folder.path())?;
        let file = engine.open(source.open(Path::new("file"))?, DeviceId(0));
        let began = Instant::now();
        let mut buffer = vec![0; READ];
        let mut offset = 0;
        while offset < size {
            offset += file.read(1, offset as u64, &mut buffer)?;
        }
        let cached = size as f64 / 1e6 / began.elapsed().as_secs_f64();
        let direct = SIZES.iter().map(|&kib| direct_loop(&path, size, kib << 10));
        let direct = direct.collect::<std::io::Result<Vec<f64>>>()?.into_iter().fold(0.0, f64::max);
        ratios.push(cached / direct);
        ours.push(cached);
        best.push(direct);
    }
    Ok(vec![Row {
        bench: "local-stream",
        what: "one cold stream, local file".into(),
        against: "the best direct read loop".into(),
        ratio: median(ratios),
        wanted: Some(0.9),
        detail: format!(
            "{:.0} and {:.0} MB/s; depth {} KiB, {} channels",
            median(ours),
            median(best),
            cost.competitive_depth(cost.mean_distance(), 0) >> 10,
            cost.channels
        ),
        point: None,
    }])
}

/// Reads a file from beginning to end past the page cache, `len` bytes at a time; MB/s.
fn direct_loop(path: &Path, size: usize, len: usize) -> std::io::Result<f64> {
    use std::os::fd::AsRawFd;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path)?;
    let buffer = Segments::own(len);
    let Some(part) = buffer.parts().first() else { return Ok(0.0) };
    let address = part.cast::<u8>();
    let began = Instant::now();
    let mut offset = 0;
    while offset < size {
        // SAFETY: `address` is the start of `len` bytes that only this loop uses while `buffer`
        // lives.
        let read = unsafe { libc::pread(file.as_raw_fd(), address.cast(), len, offset as libc::off_t) };
        match usize::try_from(read) {
            Ok(0) => break,
            Ok(read) => offset += read,
            Err(_) => return Err(std::io::Error::last_os_error()),
        }
    }
    Ok(size as f64 / 1e6 / began.elapsed().as_secs_f64())
}

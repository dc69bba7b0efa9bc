//! The load of `storage-aware` live: three paced stores behind one engine, read in the process or
//! through a mount.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use forebay_core::DeviceId;
use forebay_device::device;
use forebay_device::scheduler::Elevator;
use forebay_fuse::{MountOptions, Mounted};
use forebay_live::engine::{Config, Engine, OpenFile};
use forebay_live::tree::{Branch, Tree};
use forebay_source::Source;
use forebay_source::local::LocalSource;
use forebay_source::paced::PacedSource;
use forebay_source::pacer::Pace;
use forebay_testkit::mounts::MountPoint;

use super::load::{FILE, Load, Piece, READ, STORES};
use super::{Devices, FILES, MEMORY, READERS};

/// The readers' way to the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// In the process.
    Library,
    /// Through a mount without the kernel cache.
    Mount,
}

/// A stretch of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    /// The devices' seconds.
    pub(super) seconds: f64,
    /// The speed of all devices as a multiple of their models'.
    pub(super) speed: f64,
    pub(super) slow: Option<Slow>,
}

/// A slow store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slow {
    /// Its number.
    pub(super) store: usize,
    /// The factor by which it is slower than its model.
    pub(super) factor: f64,
}

/// The result of a stretch. Seconds are the devices'.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The throughput of readers, in 10^6 bytes a second.
    pub(super) mb_s: f64,
    /// The same, second by second.
    pub(super) each: Vec<f64>,
    /// The partitions at its end: MiB, relative wait, state. Empty if the cache is whole.
    pub(super) partitions: String,
    /// How many of the machine's processors this process used.
    pub(super) processors: f64,
    /// The share by which requests took longer than by their models, in the mean.
    pub(super) late: f64,
}

/// The folders of the three stores.
pub(super) struct Stores(tempfile::TempDir);

impl Stores {
    /// Stores with their files. The content of the files does not matter.
    pub(super) fn make() -> anyhow::Result<Stores> {
        let folder = tempfile::tempdir()?;
        let content = vec![0x5a; FILE as usize];
        for store in 0..STORES {
            std::fs::create_dir(folder.path().join(store.to_string()))?;
            for file in 0..FILES {
                std::fs::write(folder.path().join(store.to_string()).join(name(file)), &content)?;
            }
        }
        Ok(Stores(folder))
    }

    /// A store at the pace of a device.
    pub(super) fn paced(&self, store: usize, devices: Devices, seed: u64) -> anyhow::Result<PacedSource> {
        let local: Arc<dyn Source> = Arc::new(LocalSource::new(self.0.path().join(store.to_string()))?);
        let model = device(devices[store])?.build(seed.wrapping_add(store as u64))?;
        Ok(PacedSource::new(local, model, Box::new(Elevator::default()), 1.0)?)
    }
}

/// The name of a file.
pub(super) fn name(file: u64) -> PathBuf {
    format!("{file:03}").into()
}

/// The files of the readers.
enum Files {
    Library(Vec<Vec<OpenFile>>),
    /// Closed, unmounted, removed in this order.
    Mount {
        files: Vec<Vec<File>>,
        _mounted: Mounted,
        _point: MountPoint,
    },
}

impl Files {
    fn read(&self, reader: u32, piece: Piece, buffer: &mut [u8]) -> std::io::Result<()> {
        match self {
            Files::Library(files) => {
                let file = &files[piece.store][piece.file as usize];
                file.read(reader, piece.offset, buffer).map(drop).map_err(std::io::Error::other)
            }
            Files::Mount { files, .. } => files[piece.store][piece.file as usize].read_exact_at(buffer, piece.offset),
        }
    }
}

/// An engine over three stores, and its open files.
pub(super) struct Live {
    paces: Vec<Arc<Pace>>,
    engine: Arc<Engine>,
    files: Files,
}

impl Live {
    pub(super) fn start(stores: &Stores, devices: Devices, policy: &str, way: Way, seed: u64) -> anyhow::Result<Live> {
        let (mut paces, mut costs, mut sources) = (Vec::new(), Vec::new(), Vec::<Arc<dyn Source>>::new());
        for store in 0..STORES {
            let paced = stores.paced(store, devices, seed)?;
            paces.push(Arc::clone(paced.pace()));
            costs.push(paced.cost().context("a model knows its cost")?);
            sources.push(Arc::new(paced));
        }
        let engine = Engine::start(Config::new(MEMORY, policy.parse()?), costs)?;
        let number = |store: usize| DeviceId(store as u16);
        let files = match way {
            Way::Library => {
                let open = |store: usize, file| {
                    Ok::<_, forebay_source::Error>(engine.open(sources[store].open(&name(file))?, number(store)))
                };
                Files::Library(all(open)?)
            }
            Way::Mount => {
                let branches = sources.into_iter().enumerate().map(|(store, source)| Branch {
                    name: Some(store.to_string().into()),
                    source,
                    device: number(store),
                });
                let tree = Arc::new(Tree::new(Arc::clone(&engine), branches.collect())?);
                let point = MountPoint::new()?;
                let mounted = forebay_fuse::mount(tree, point.path(), MountOptions::default())?;
                let open = |store: usize, file| File::open(point.path().join(store.to_string()).join(name(file)));
                Files::Mount { files: all(open)?, _mounted: mounted, _point: point }
            }
        };
        Ok(Live { paces, engine, files })
    }

    /// Lets readers read through all phases, one after the other.
    pub(super) fn run(&self, load: &Load, phases: &[Phase]) -> anyhow::Result<Vec<Seen>> {
        let (next, bytes, over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..READERS)
                .map(|reader| {
                    let (next, bytes, over) = (&next, &bytes, &over);
                    scope.spawn(move || -> std::io::Result<()> {
                        let mut buffer = vec![0; READ as usize];
                        while !over.load(Ordering::Relaxed) {
                            let number = next.fetch_add(1, Ordering::Relaxed);
                            self.files.read(reader, load.read(number), &mut buffer)?;
                            bytes.fetch_add(READ, Ordering::Relaxed);
                        }
                        Ok(())
                    })
                })
                .collect();
            let seen = phases.iter().map(|phase| self.watch(phase, &bytes)).collect();
            over.store(true, Ordering::Relaxed);
            // Readers that wait for a slow store should end soon.
            self.pace(&Phase { seconds: 0.0, speed: 100.0, slow: None });
            for reader in readers {
                reader.join().unwrap_or(Ok(()))?;
            }
            seen
        })
    }

    fn pace(&self, phase: &Phase) {
        for (store, pace) in self.paces.iter().enumerate() {
            let factor = phase.slow.filter(|slow| slow.store == store).map_or(1.0, |slow| slow.factor);
            pace.slow_down(factor / phase.speed);
        }
    }

    fn watch(&self, phase: &Phase, bytes: &AtomicU64) -> anyhow::Result<Seen> {
        self.pace(phase);
        let rate = |from: u64, to: u64, began: Instant| {
            (to - from) as f64 / 1e6 / (began.elapsed().as_secs_f64() * phase.speed)
        };
        let (began, first) = (Instant::now(), bytes.load(Ordering::Relaxed));
        let (used, pace) = (processor_seconds()?, self.response_and_lateness(phase.speed));
        let (mut each, mut tick, mut before) = (Vec::new(), began, first);
        for second in 1..=phase.seconds.ceil() as u64 {
            let end = began + Duration::from_secs_f64(phase.seconds.min(second as f64) / phase.speed);
            std::thread::sleep(end.saturating_duration_since(Instant::now()));
            let now = bytes.load(Ordering::Relaxed);
            each.push(rate(before, now, tick));
            (tick, before) = (Instant::now(), now);
        }
        let then = self.response_and_lateness(phase.speed);
        Ok(Seen {
            mb_s: rate(first, before, began),
            each,
            partitions: self.partitions(),
            processors: (processor_seconds()? - used) / began.elapsed().as_secs_f64(),
            late: (then.1 - pace.1) / (then.0 - pace.0).max(1.0),
        })
    }

    /// The real nanoseconds of requests, and those by which they were late, over all devices.
    fn response_and_lateness(&self, speed: f64) -> (f64, f64) {
        let all = self.paces.iter().map(|pace| pace.activity());
        all.fold((0.0, 0.0), |sum, of| (sum.0 + of.response as f64 / speed, sum.1 + of.late as f64))
    }

    fn partitions(&self) -> String {
        let devices = self.engine.stats(&[]).devices;
        let show = |partition: &forebay_live::stats::PartitionStats| {
            let mib = partition.size_bytes as f64 / f64::from(1 << 20);
            let state = format!("{:?}", partition.state).to_lowercase();
            format!("{mib:.1} MiB, {:.1}, {state}", partition.relative_wait)
        };
        devices.iter().filter_map(|device| device.partition.as_ref()).map(show).collect::<Vec<_>>().join("; ")
    }
}

/// Every file of every store.
fn all<T, E>(open: impl Fn(usize, u64) -> Result<T, E>) -> Result<Vec<Vec<T>>, E> {
    (0..STORES).map(|store| (0..FILES).map(|file| open(store, file)).collect()).collect()
}

/// The processor time of this process.
fn processor_seconds() -> anyhow::Result<f64> {
    let mut seconds = 0.0;
    for task in std::fs::read_dir(Path::new("/proc/self/task"))? {
        // A thread that has just ended no longer counts.
        let Ok(line) = std::fs::read_to_string(task?.path().join("schedstat")) else { continue };
        seconds += line.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) / 1e9;
    }
    Ok(seconds)
}

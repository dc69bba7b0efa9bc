//! A mount over the array of SCM §5.1, as in `forebay repro scm-ets`: six disks without read-ahead
//! of their own, stripes of 256 KiB, files at random places.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use forebay_core::{DeviceCost, DeviceId};
use forebay_device::array::array;
use forebay_device::scheduler::SchedulerKind;
use forebay_device::{ModelDescription, device};
use forebay_fuse::{MountOptions, Mounted};
use forebay_live::engine::{Config, Engine};
use forebay_live::tree::{Branch, Tree};
use forebay_source::Source;
use forebay_source::local::LocalSource;
use forebay_source::paced::PacedSource;
use forebay_source::pacer::Pace;
use forebay_testkit::mounts::MountPoint;

use super::SPEED;

const DRIVE: &str = "sas-15k";
const DISKS: usize = 6;
const STRIPE: u64 = 256 << 10;
/// Never scarce: blocks are read only once, and prefetched blocks are far fewer.
pub(super) const MEMORY: u64 = 96 << 20;
/// The real time between two looks at streams.
const LOOK: Duration = Duration::from_millis(20);

/// A folder of sparse files, which take no room; their content does not matter. Removed at the end.
pub(super) struct Files {
    folder: tempfile::TempDir,
    names: Vec<PathBuf>,
}

impl Files {
    /// Files of these lengths. A file's place on the array follows from its name, so another seed
    /// has other places.
    pub(super) fn make(lengths: impl IntoIterator<Item = u64>, seed: u64) -> anyhow::Result<Files> {
        let folder = tempfile::tempdir()?;
        let mut names = Vec::new();
        for (number, length) in lengths.into_iter().enumerate() {
            let name = PathBuf::from(format!("{seed}-{number:02}"));
            File::create(folder.path().join(&name))?.set_len(length)?;
            names.push(name);
        }
        Ok(Files { folder, names })
    }

    pub(super) fn names(&self) -> &[PathBuf] {
        &self.names
    }

    /// The folder on the array, whose own caches do not read ahead.
    pub(super) fn on_array(&self, seed: u64) -> anyhow::Result<PacedSource> {
        let mut disk = device(DRIVE)?;
        if let ModelDescription::Disk(disk) = &mut disk.model {
            disk.cache = Default::default();
        }
        let queue = array(&vec![disk; DISKS], STRIPE, &SchedulerKind::Elevator, seed)?;
        Ok(PacedSource::behind(Arc::new(LocalSource::new(self.folder.path())?), Box::new(queue), SPEED)?)
    }
}

/// A mount of one source behind one engine. Unmounted when dropped.
pub(super) struct Scene {
    engine: Arc<Engine>,
    pace: Option<Arc<Pace>>,
    // Unmounted, then removed.
    _mounted: Mounted,
    point: MountPoint,
}

impl Scene {
    /// A mount of the files on the array, under a policy.
    pub(super) fn over_array(files: &Files, policy: &str, seed: u64) -> anyhow::Result<Scene> {
        let array = files.on_array(seed)?;
        let cost = array.cost().context("a model knows its cost")?;
        let pace = Arc::clone(array.pace());
        let scene = Scene::over(Arc::new(array), cost, policy, MEMORY)?;
        Ok(Scene { pace: Some(pace), ..scene })
    }

    /// A mount of any source with a known device cost.
    pub(super) fn over(source: Arc<dyn Source>, cost: DeviceCost, policy: &str, memory: u64) -> anyhow::Result<Scene> {
        let engine = Engine::start(Config::new(memory, policy.parse()?), vec![cost])?;
        let tree = tree(&engine, source)?;
        let point = MountPoint::new()?;
        let mounted = forebay_fuse::mount(tree, point.path(), MountOptions::default())?;
        Ok(Scene { engine, pace: None, _mounted: mounted, point })
    }

    pub(super) fn point(&self) -> &Path {
        self.point.path()
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Opens the files in order, since the engine numbers them in this order.
    pub(super) fn open(&self, files: &Files) -> std::io::Result<Vec<File>> {
        files.names().iter().map(|name| File::open(self.point().join(name))).collect()
    }

    /// The share by which requests to the array took longer than by its model, because of the
    /// machine's own work.
    pub(super) fn lateness(&self) -> f64 {
        let Some(activity) = self.pace.as_ref().map(|pace| pace.activity()) else { return 0.0 };
        activity.late as f64 / (activity.response as f64 / SPEED).max(1.0)
    }

    /// Samples the trigger distances of streams until `over`, and returns the mean for each file.
    pub(super) fn distances(&self, over: &AtomicBool) -> BTreeMap<u32, f64> {
        let mut seen = BTreeMap::<u32, (f64, f64)>::new();
        while !over.load(Ordering::Relaxed) {
            for stream in self.engine.stats(&[]).streams {
                let Some(distance) = stream.distance_blocks else { continue };
                let (sum, looks) = seen.entry(stream.file).or_default();
                (*sum, *looks) = (*sum + f64::from(distance), *looks + 1.0);
            }
            std::thread::sleep(LOOK);
        }
        seen.into_iter().map(|(file, (sum, looks))| (file, sum / looks)).collect()
    }
}

/// A tree of one source.
pub(super) fn tree(engine: &Arc<Engine>, source: Arc<dyn Source>) -> anyhow::Result<Arc<Tree>> {
    let branch = Branch { name: None, source, device: DeviceId(0) };
    Ok(Arc::new(Tree::new(Arc::clone(engine), vec![branch])?))
}

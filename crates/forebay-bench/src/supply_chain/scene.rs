//! A mount over the array of SCM §5.1 as `forebay repro scm-ets` has it: six disks that read
//! nothing on, 256 KiB on each at a time, files anywhere on it.

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
/// Never scarce: what was read is not read again, and what is fetched ahead is far less.
pub(super) const MEMORY: u64 = 96 << 20;
/// How often streams are looked at, in real time.
const LOOK: Duration = Duration::from_millis(20);

/// A folder of sparse files, which take no room: nobody asks what is in them. Removed at the end.
pub(super) struct Files {
    folder: tempfile::TempDir,
    names: Vec<PathBuf>,
}

impl Files {
    /// Of these lengths. The array has a file at a place that follows from its name, so a seed is
    /// other places.
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

    /// The folder on the array, whose own caches read nothing on.
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
    /// The files on the array, under a policy.
    pub(super) fn over_array(files: &Files, policy: &str, seed: u64) -> anyhow::Result<Scene> {
        let array = files.on_array(seed)?;
        let cost = array.cost().context("a model knows its cost")?;
        let pace = Arc::clone(array.pace());
        let scene = Scene::over(Arc::new(array), cost, policy, MEMORY)?;
        Ok(Scene { pace: Some(pace), ..scene })
    }

    /// Any source, the cost of whose device is known.
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

    /// Opens the files one after the other: the engine counts them in this order.
    pub(super) fn open(&self, files: &Files) -> std::io::Result<Vec<File>> {
        files.names().iter().map(|name| File::open(self.point().join(name))).collect()
    }

    /// By how much longer than by its model requests to the array took, as a share: what the
    /// machine does by itself.
    pub(super) fn lateness(&self) -> f64 {
        let Some(activity) = self.pace.as_ref().map(|pace| pace.activity()) else { return 0.0 };
        activity.late as f64 / (activity.response as f64 / SPEED).max(1.0)
    }

    /// Looks at the trigger distances of streams until `over`: the mean of each file's.
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

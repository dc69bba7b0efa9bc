//! One run of a program: a mount of the data on the disk, a table of contexts of its own, the
//! program, the counters.

use std::fmt;
use std::ops::Sub;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use forebay_callers::CONTEXTS;
use forebay_core::DeviceId;
use forebay_core::Pattern;
use forebay_device::scheduler::Elevator;
use forebay_device::{DeviceQueue, Queue, device};
use forebay_fuse::MountOptions;
use forebay_live::contexts::{Callers, Threads};
use forebay_live::engine::{Config, Engine};
use forebay_live::stats::Stats;
use forebay_live::tree::{Branch, Tree};
use forebay_source::Source;
use forebay_source::local::LocalSource;
use forebay_source::paced::PacedSource;
use forebay_source::pacer::Pace;
use forebay_testkit::memory_group::MemoryGroup;
use forebay_testkit::mounts::MountPoint;
use forebay_testkit::preloaded;

use super::Workload;
use super::block::Block;
use super::data::{Data, FOLDER, recipe, succeed};

pub(super) const DISK: &str = "ibm-10k";

/// The interval between two looks at the programs' memory.
const LOOK: Duration = Duration::from_millis(5);

/// The place of the data.
pub(super) enum Ground {
    /// On a block device, for the mounts and the kernel alike.
    Block(Block),
    /// In the prepared folder. Each mount paces its own reads, this many times as fast as the disk.
    Paced(f64),
}

/// The work of a disk; times are in seconds.
#[derive(Clone, Copy, Default)]
pub(super) struct Did {
    pub(super) bytes: f64,
    pub(super) requests: f64,
    /// The time with requests under way.
    pub(super) busy: f64,
    /// The time from submission to completion, over all requests.
    pub(super) response: f64,
    /// The time by which requests took longer than in the model, because of the machine's own work.
    pub(super) late: f64,
}

impl Sub for Did {
    type Output = Did;

    fn sub(self, before: Did) -> Did {
        Did {
            bytes: self.bytes - before.bytes,
            requests: self.requests - before.requests,
            busy: self.busy - before.busy,
            response: self.response - before.response,
            late: self.late - before.late,
        }
    }
}

/// The result of a run.
pub(super) struct Run {
    /// Real time.
    pub(super) seconds: f64,
    pub(super) disk: Did,
    /// Counters of the mount, if there was one.
    mount: Option<Stats>,
}

impl Run {
    /// The frames and contexts of the run.
    pub(super) fn scene(&self) -> String {
        let Some(stats) = &self.mount else { return "page cache".into() };
        let contexts = stats.context_count.unwrap_or(0);
        // Only the contexts with the most accesses are listed.
        let looping = stats.contexts.iter().filter(|context| context.pattern == Pattern::Looping).count();
        let frames = (stats.frames * stats.block_bytes) as f64 / 1e6;
        format!("{frames:.0} MB of frames, {contexts} contexts, {looping} looping")
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Did { bytes, requests, busy, response, late } = self.disk;
        write!(f, "{:.1} s, {:.1} MB read in {requests} pieces, ", self.seconds, bytes / 1e6)?;
        if let Some(stats) = &self.mount {
            let counts = stats.counts;
            write!(f, "{} hits of {}, ", counts.hits, counts.hits + counts.misses + counts.joined)?;
        }
        write!(f, "{}; the disk busy for {busy:.1}, {:.1} % late", self.scene(), 100.0 * late / response.max(1e-9))
    }
}

/// Runs the workload on a mount of its own with `memory` bytes.
pub(super) fn on_a_mount(
    data: &Data,
    workload: &Workload,
    policy: &str,
    ground: &mut Ground,
    seed: u64,
    memory: u64,
) -> anyhow::Result<Run> {
    let scratch = tempfile::tempdir()?;
    let table = scratch.path().join("contexts");
    let mut pace = None;
    let source: Arc<dyn Source> = match ground {
        Ground::Block(block) => {
            block.renew()?;
            Arc::new(LocalSource::new(block.path())?)
        }
        Ground::Paced(speed) => {
            let local = Arc::new(LocalSource::new(data.folder())?);
            let disk = PacedSource::new(local, device(DISK)?.build(seed)?, Box::new(Elevator::default()), *speed)?;
            pace = Some(Arc::clone(disk.pace()));
            Arc::new(disk)
        }
    };
    let cost = match source.cost() {
        Some(cost) => cost,
        None => DeviceQueue::new(device(DISK)?.build(seed)?, Box::new(Elevator::default())).cost(),
    };
    let engine = Engine::start(Config::new(memory, policy.parse()?), vec![cost])?;
    let branch = Branch { name: None, source, device: DeviceId(0) };
    let mut tree = Tree::new(Arc::clone(&engine), vec![branch])?;
    // Every policy gets the table, so that programs have the same to do.
    if let Some(callers) = Callers::start(&engine, Threads::new(Some(&table))?, None)? {
        tree.know_callers(callers);
    }
    let point = MountPoint::new()?;
    let mounted = forebay_fuse::mount(Arc::new(tree), point.path(), MountOptions::default())?;
    let did = |ground: &Ground| match ground {
        Ground::Block(block) => block.did(),
        Ground::Paced(speed) => Ok(pace.as_ref().map_or_else(Did::default, |pace| of_pace(pace, *speed, &engine))),
    };
    let before = did(ground)?;
    let seconds = workload.time(&|program| Command::new(program), point.path(), scratch.path(), &table)?;
    let disk = did(ground)? - before;
    let mount = Some(engine.stats(&[]));
    mounted.unmount()?;
    Ok(Run { seconds, disk, mount })
}

fn of_pace(pace: &Pace, speed: f64, engine: &Engine) -> Did {
    let (activity, counts) = (pace.activity(), engine.stats(&[]).counts);
    Did {
        bytes: counts.fetched_bytes as f64,
        requests: counts.fetches as f64,
        busy: activity.busy as f64 / 1e9,
        response: activity.response as f64 / speed / 1e9,
        late: activity.late as f64 / 1e9,
    }
}

/// Runs the workload on the kernel alone, whose page cache has `memory` bytes beside the programs'
/// `own` bytes.
pub(super) fn on_the_kernel(workload: &Workload, block: &mut Block, memory: u64, own: u64) -> anyhow::Result<Run> {
    let scratch = tempfile::tempdir()?;
    let table = scratch.path().join("contexts");
    block.renew()?;
    let group = MemoryGroup::new()?;
    group.limit(own + memory)?;
    let before = block.did()?;
    let seconds = workload.time(&|program| group.command(program), block.path(), scratch.path(), &table)?;
    let disk = block.did()? - before;
    // Pages that it read are the group's, which cannot be removed before they are dropped.
    group.forget()?;
    Ok(Run { seconds, disk, mount: None })
}

/// Sets the flag when it is dropped, whatever the reason.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The most memory that the programs have for themselves, plus the bytes that they write. Measured
/// in the folder of prepared data, with memory for everything.
pub(super) fn own(data: &Data, workload: &Workload) -> anyhow::Result<u64> {
    let scratch = tempfile::tempdir()?;
    let table = scratch.path().join("contexts");
    let (group, done) = (MemoryGroup::new()?, AtomicBool::new(false));
    let most = std::thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let mut most = 0;
            while !done.load(Ordering::Relaxed) {
                most = group.own().unwrap_or(0).max(most);
                std::thread::sleep(LOOK);
            }
            most
        });
        let ran = {
            let _done = Done(&done);
            workload.time(&|program| group.command(program), data.folder(), scratch.path(), &table)
        };
        ran.map(|_| looks.join().unwrap_or(0))
    })?;
    let index = scratch.path().join("index");
    let written = std::fs::read_dir(index).into_iter().flatten().flatten();
    let written = written.filter_map(|entry| entry.metadata().ok()).map(|about| about.len()).sum::<u64>();
    group.forget()?;
    Ok(most + written)
}

impl Workload {
    /// Runs it `times` times, and returns the seconds. `enter` makes the command
    /// of a program.
    fn time(
        &self,
        enter: &dyn Fn(&Path) -> Command,
        folder: &Path,
        scratch: &Path,
        table: &Path,
    ) -> anyhow::Result<f64> {
        // The library is built before the clock runs.
        preloaded::library();
        let began = Instant::now();
        for _ in 0..self.times {
            succeed(&mut self.command(enter, folder, scratch, table))?;
        }
        Ok(began.elapsed().as_secs_f64())
    }

    /// The program under the preload library, in a folder that shows the data.
    fn command(&self, enter: &dyn Fn(&Path) -> Command, point: &Path, scratch: &Path, table: &Path) -> Command {
        let mut command = if self.is_grep() {
            let mut grep = enter(Path::new("/usr/bin/grep"));
            grep.args(["-r", "-c", "schedule_timeout", "tree"]);
            grep
        } else {
            let mut script = enter(&recipe("record.sh"));
            script.args(["run", self.name]).env(FOLDER, point).env("FOREBAY_INDEX", scratch.join("index"));
            script
        };
        command.current_dir(point).stdin(Stdio::null());
        command.env("LD_PRELOAD", preloaded::library()).env(CONTEXTS, table);
        command
    }
}

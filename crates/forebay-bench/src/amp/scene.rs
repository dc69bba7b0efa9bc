//! One run of a program: a mount of the data on the disk, a table of contexts that no other mount looks into, the program, the counters.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use forebay_callers::CONTEXTS;
use forebay_core::DeviceId;
use forebay_core::context::Pattern;
use forebay_device::device;
use forebay_device::scheduler::Elevator;
use forebay_fuse::MountOptions;
use forebay_live::contexts::{Callers, Threads};
use forebay_live::engine::{Config, Engine};
use forebay_live::pacer::Activity;
use forebay_live::source::Source;
use forebay_live::source::local::LocalSource;
use forebay_live::source::paced::PacedSource;
use forebay_live::stats::Stats;
use forebay_live::tree::{Branch, Tree};
use forebay_testkit::mounts::MountPoint;
use forebay_testkit::preloaded;

use super::Workload;
use super::data::{Data, FOLDER, recipe, succeed};

const DISK: &str = "ibm-10k";

/// What was seen of a run.
pub(super) struct Run {
    /// By the wall.
    pub(super) seconds: f64,
    /// From the disk.
    pub(super) bytes: u64,
    /// In so many pieces.
    fetches: u64,
    /// While the disk had something to do.
    busy: f64,
    frames: u64,
    references: u64,
    hits: u64,
    contexts: u64,
    /// Of the contexts with the most accesses.
    looping: usize,
    /// By how much longer than by its model requests to the disk took, as a share: what the machine does by itself.
    late: f64,
}

impl Run {
    fn new(seconds: f64, stats: &Stats, disk: Activity, speed: f64) -> Run {
        let counts = stats.counts;
        Run {
            seconds,
            bytes: counts.fetched_bytes,
            fetches: counts.fetches,
            busy: disk.busy as f64 / 1e9,
            frames: stats.frames * stats.block_bytes,
            references: counts.hits + counts.misses + counts.joined,
            hits: counts.hits,
            contexts: stats.context_count.unwrap_or(0),
            looping: stats.contexts.iter().filter(|context| context.pattern == Pattern::Looping).count(),
            late: disk.late as f64 / (disk.response as f64 / speed).max(1.0),
        }
    }

    /// What the figures depend on, and whether contexts were told apart.
    pub(super) fn scene(&self) -> String {
        let Run { frames, contexts, looping, .. } = self;
        format!("{:.0} MB of frames, {contexts} contexts, {looping} looping", *frames as f64 / 1e6)
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Run { seconds, bytes, fetches, busy, references, hits, .. } = self;
        let (read, late) = (*bytes as f64 / 1e6, 100.0 * self.late);
        write!(
            f,
            "{seconds:.1} s, {read:.1} MB read in {fetches} pieces, {hits} hits of {references}, {}; ",
            self.scene()
        )?;
        write!(f, "the disk busy for {busy:.1}, {late:.1} % late")
    }
}

/// Runs it on a mount of its own with `memory` bytes, the disk running `speed` times as fast as it does.
pub(super) fn measure(
    data: &Data,
    workload: &Workload,
    policy: &str,
    memory: u64,
    speed: f64,
    seed: u64,
) -> anyhow::Result<Run> {
    let scratch = tempfile::tempdir()?;
    let table = scratch.path().join("contexts");
    let local: Arc<dyn Source> = Arc::new(LocalSource::new(data.folder())?);
    let disk = PacedSource::new(local, device(DISK)?.build(seed)?, Box::new(Elevator::default()), speed)?;
    let (cost, pace) = (disk.cost().context("a model knows its cost")?, Arc::clone(disk.pace()));
    let engine = Engine::start(Config::new(memory, policy.parse()?), vec![cost])?;
    let branch = Branch { name: None, source: Arc::new(disk), device: DeviceId(0) };
    let mut tree = Tree::new(Arc::clone(&engine), vec![branch])?;
    // The table is there for every policy, so that programs have the same to do.
    if let Some(callers) = Callers::start(&engine, Threads::new(Some(&table))?, None)? {
        tree.know_callers(callers);
    }
    let point = MountPoint::new()?;
    let mounted = forebay_fuse::mount(Arc::new(tree), point.path(), MountOptions::default())?;
    // The library is built before the clock runs.
    preloaded::library();
    let began = Instant::now();
    for _ in 0..workload.times {
        succeed(&mut workload.command(point.path(), scratch.path(), &table))?;
    }
    let seconds = began.elapsed().as_secs_f64();
    let run = Run::new(seconds, &engine.stats(&[]), pace.activity(), speed);
    mounted.unmount()?;
    Ok(run)
}

impl Workload {
    /// The program under the preload library, in the data folder as the mount shows it.
    fn command(&self, point: &Path, scratch: &Path, table: &Path) -> Command {
        let mut command = if self.is_grep() {
            let mut grep = Command::new("grep");
            grep.args(["-r", "-c", "schedule_timeout", "tree"]);
            grep
        } else {
            let mut script = Command::new(recipe("record.sh"));
            script.args(["run", self.name]).env(FOLDER, point).env("FOREBAY_INDEX", scratch.join("index"));
            script
        };
        command.current_dir(point).stdin(Stdio::null());
        command.env("LD_PRELOAD", preloaded::library()).env(CONTEXTS, table);
        command
    }
}

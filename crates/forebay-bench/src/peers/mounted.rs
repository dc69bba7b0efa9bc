//! One mount of one tool, which ends when the value is dropped.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use forebay_testkit::mounts::{is_mounted, lazy_unmount};
use forebay_testkit::process::{Running, Signal, runs};

use super::tool::{Manner, Tool, Where};

/// The longest time for a mount to be ready, and to end by itself.
const PATIENCE: Duration = Duration::from_secs(30);

/// A mount. When dropped it is told to end, and killed if it does not.
pub(super) struct Mounted {
    running: Running,
    point: PathBuf,
    cache: PathBuf,
}

impl Mounted {
    /// Mounts in `folder`, which must not hold another mount at the same time.
    pub(super) fn start(tool: &Tool, manner: &Manner, endpoint: &str, folder: &Path) -> anyhow::Result<Mounted> {
        let (point, cache) = (folder.join("mount"), folder.join("cache"));
        for folder in [&point, &cache] {
            fs::create_dir(folder)?;
        }
        let log = cache.join("log");
        let mut command = tool.command(&Where { endpoint, point: &point, cache: &cache }, manner);
        command.stdout(File::create(&log)?).stderr(File::options().append(true).open(&log)?);
        let running = Running::start(command).with_context(|| format!("cannot run {}", tool.name))?;
        let mounted = Mounted { running, point, cache };
        let begun = Instant::now();
        // The mount point answers only once the tool does.
        while !(is_mounted(&mounted.point) && fs::metadata(&mounted.point).is_ok()) {
            let said = || fs::read_to_string(&log).unwrap_or_default();
            if let Some(status) = mounted.running.ended()? {
                bail!("{} ended: {status}: {}", tool.name, said());
            }
            if begun.elapsed() > PATIENCE {
                bail!("{} does not mount: {}", tool.name, said());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(mounted)
    }

    /// The mount point.
    pub(super) fn point(&self) -> &Path {
        &self.point
    }

    /// The most memory that its processes had, bytes.
    pub(super) fn peak(&self) -> u64 {
        tree(self.running.id()).into_iter().map(peak).sum()
    }

    /// Bytes that its processes have written to disks, as the kernel counts them.
    pub(super) fn written(&self) -> u64 {
        tree(self.running.id()).into_iter().map(written).sum()
    }

    /// All its processes, beginning with its first one.
    pub(super) fn processes(&self) -> Vec<u32> {
        tree(self.running.id())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let begun = Instant::now();
        let processes = self.processes();
        processes.iter().for_each(|&id| signal(id, libc::SIGTERM));
        while processes.iter().any(|&id| runs(id)) && begun.elapsed() < PATIENCE {
            let _ = self.running.ended();
            std::thread::sleep(Duration::from_millis(5));
        }
        lazy_unmount(&self.point);
        let _ = self.running.signal(Signal::KILL);
        processes.into_iter().filter(|&id| runs(id)).for_each(kill);
        let _ = fs::remove_dir(&self.point);
        let _ = fs::remove_dir_all(&self.cache);
    }
}

/// Ends a process at once.
pub(super) fn kill(id: u32) {
    signal(id, libc::SIGKILL);
}

fn signal(id: u32, signal: i32) {
    let Ok(id) = i32::try_from(id) else { return };
    // SAFETY: a system call with numbers only.
    unsafe { libc::kill(id, signal) };
}

/// A process and all its descendants.
fn tree(root: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // `12 (name of any kind) S 1 …`
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        children.entry(parent.unwrap_or_default()).or_default().push(id);
    }
    let (mut tree, mut next) = (vec![root], 0);
    while let Some(&id) = tree.get(next) {
        tree.extend(children.remove(&id).unwrap_or_default());
        next += 1;
    }
    tree
}

/// The most memory that a process had, bytes.
fn peak(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default() * 1024
}

/// Bytes that a process has written to disks, the page cache's among them.
fn written(id: u32) -> u64 {
    let io = fs::read_to_string(format!("/proc/{id}/io")).unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes:")).unwrap_or_default();
    line.trim().parse().unwrap_or_default()
}

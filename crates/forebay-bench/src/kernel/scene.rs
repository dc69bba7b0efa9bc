//! The disk with its files, and one run of one workload on it by one system.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use forebay_play::{Content, lay};
use forebay_testkit::loop_disk::{LoopDisk, Service, Treatment, image_folder, make_image};
use forebay_testkit::memory_group::MemoryGroup;
use forebay_testkit::process::Running;
use forebay_testkit::served::Served;
use serde::Deserialize;
use tempfile::TempDir;

use super::points::{Plan, Point};
use super::reader::{Description, Job, TRIAL};
use super::{Keeper, System};

/// The least memory beyond the trial's for readers without page cache, bytes: the kernel must not
/// kill them.
const LEAST: u64 = 32 << 20;

/// The disk, served.
pub(super) struct Scene<'a> {
    plan: &'a Plan,
    forebay: PathBuf,
    // Dropped before the folder in which the image is.
    disk: LoopDisk,
    folder: TempDir,
}

/// The result of the readers, as they print it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Outcome {
    pub(super) throughput_mb_s: f64,
    pub(super) response_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) seconds: f64,
}

/// A run.
pub(super) struct Measured {
    pub(super) outcome: Outcome,
    /// The disk's work while the run was counted.
    disk: Disk,
    /// The most memory that the mount's process had, bytes.
    resident: Option<u64>,
}

impl Measured {
    /// The whole result, in a line.
    pub(super) fn detail(&self) -> String {
        let Outcome { throughput_mb_s, response_ms, p99_ms, seconds } = &self.outcome;
        let Disk { bytes, requests, busy } = self.disk;
        let mean = bytes as f64 / 1024.0 / requests.max(1) as f64;
        let resident = self.resident.map_or_else(String::new, |bytes| format!(", process {} MiB", bytes >> 20));
        format!(
            "{throughput_mb_s:.1} MB/s, response {response_ms:.1} ms, p99 {p99_ms:.0} ms, disk {:.1} MB/s in {requests} requests of \
             {mean:.0} KiB, busy {:.0} %{resident}",
            bytes as f64 / 1e6 / seconds,
            busy / seconds * 100.0,
        )
    }
}

/// The disk's counters since it was made.
#[derive(Clone, Copy)]
struct Disk {
    bytes: u64,
    requests: u64,
    busy: f64,
}

impl<'a> Scene<'a> {
    /// Makes the file system, serves it, and has Forebay measure it once, as a user does: `forebay
    /// profile`.
    pub(super) fn set(plan: &'a Plan, forebay: &Path) -> anyhow::Result<Scene<'a>> {
        let device = forebay_device::device(plan.device)?.build(0)?;
        let size = plan.disk.unwrap_or(device.capacity() >> 20 << 20);
        let folder = image_folder("forebay-kernel-")?;
        let image = folder.path().join("image");
        eprintln!("  making the file system …");
        make_image(&image, size, |root| {
            let fill = |(name, files): &(&str, Description)| fill(root, name, files);
            plan.folders.iter().try_for_each(fill).map_err(io::Error::other)
        })?;
        let service = Service { device: plan.device.into(), scheduler: "elevator".into(), scale: plan.speed };
        let disk = LoopDisk::start(forebay, &image, &service, &Treatment::default())?;
        let scene = Scene { plan, forebay: forebay.to_owned(), disk, folder };
        let seconds = plan.profile.to_string();
        let output = scene.command().args(["profile", "--seconds", &seconds]).arg(scene.disk.path()).output()?;
        ensure!(output.status.success(), "forebay profile: {}", String::from_utf8_lossy(&output.stderr));
        let told = String::from_utf8_lossy(&output.stdout);
        told.lines().take_while(|line| !line.is_empty()).for_each(|line| eprintln!("  {line}"));
        Ok(scene)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.forebay);
        // Profiles of its own.
        command.env("FOREBAY_CONFIG", "/dev/null").env("XDG_CACHE_HOME", self.folder.path()).stdin(Stdio::null());
        command
    }

    /// One run. When it begins, memory holds no data of an earlier run.
    pub(super) fn measure(&mut self, point: &Point, system: System) -> anyhow::Result<Measured> {
        let read_ahead_kb = if let System::Kernel(kib) = system { kib } else { 128 };
        self.disk.renew(&Treatment { read_ahead_kb, ..Treatment::default() })?;
        let source = self.disk.path().join(point.folder);
        let (mount, cached) = match system {
            System::Kernel(_) => (None, point.memory),
            System::Forebay(policy, keeper) => {
                // By its variable, which a command without the option ignores. Such a command keeps
                // all blocks itself.
                let (keeps, budget) = match keeper {
                    Keeper::Mount => ("off", point.memory),
                    Keeper::Kernel => ("on", point.memory / 2),
                };
                let mut command = self.command();
                command.env("FOREBAY_KERNEL_CACHE", keeps);
                command.args(["mount", "--policy", policy, "--memory", &budget.to_string()]).arg(&source);
                (Some(Served::start(command)?), point.memory - budget)
            }
        };
        let folder = mount.as_ref().map_or(source, |mount| mount.point().to_owned());
        let (outcome, disk) = self.readers(point, folder, cached)?;
        let resident = mount.map(|mount| peak(mount.id())).transpose()?;
        Ok(Measured { outcome, disk, resident })
    }

    /// Runs the readers in a group whose page cache is bounded to `cached` bytes.
    fn readers(&self, point: &Point, folder: PathBuf, cached: u64) -> anyhow::Result<(Outcome, Disk)> {
        let Plan { seconds, verify, .. } = *self.plan;
        let job = Job { workload: point.workload.clone(), folder, handlers: point.handlers, seconds, verify };
        let group = MemoryGroup::new()?;
        let (says, hears) = (io::pipe()?, io::pipe()?);
        let mut command = group.command(&std::env::current_exe()?);
        command.arg("--read").arg(serde_json::to_string(&job)?).stdin(hears.0).stdout(says.1);
        let _readers = Running::start(command)?;
        let (mut said, mut hears, mut line) = (BufReader::new(says.0), hears.1, String::new());
        said.read_line(&mut line)?;
        ensure!(line.trim() == "ready", "the readers don't get ready");
        // While all of them run, their own memory is measured; the rest is page cache.
        hears.write_all(b"\n")?;
        std::thread::sleep(Duration::from_secs_f64(TRIAL / 2.0));
        let own = group.own()?;
        line.clear();
        said.read_line(&mut line)?;
        ensure!(line.trim() == "tried", "the readers failed in their trial, and said why");
        group.forget()?;
        group.limit(own + cached.max(LEAST))?;

        let begun = Instant::now();
        hears.write_all(b"\n")?;
        std::thread::sleep(Duration::from_secs_f64(seconds.0).saturating_sub(begun.elapsed()));
        let before = self.look()?;
        line.clear();
        said.read_line(&mut line)?;
        let after = self.look()?;
        let outcome = serde_json::from_str(&line).context("the readers failed, and said why")?;
        let since = |of: fn(&Disk) -> u64| of(&after) - of(&before);
        let disk = Disk { bytes: since(|d| d.bytes), requests: since(|d| d.requests), busy: after.busy - before.busy };
        Ok((outcome, disk))
    }

    fn look(&self) -> anyhow::Result<Disk> {
        let stats: serde_json::Value = serde_json::from_str(&self.disk.stats()?)?;
        let count = |name: &str| stats["read"][name].as_u64().context("the disk counts its reads");
        let busy = stats["busy_seconds"].as_f64().context("the disk says when it was busy")?;
        Ok(Disk { bytes: count("bytes")?, requests: count("requests")?, busy })
    }
}

/// Lays the files of a workload in a folder, each at a place of its own. A file is made in a folder
/// at the top, which ext4 puts anywhere; moving it then leaves its blocks where they are.
fn fill(root: &Path, name: &str, files: &Description) -> anyhow::Result<()> {
    let workload = files.load()?;
    let folder = root.join(name);
    fs::create_dir(&folder)?;
    for file in workload.file_table() {
        let own = root.join(format!("{name}-{}", file.name));
        let called = format!("{:06}", file.name);
        fs::create_dir(&own)?;
        fs::write(own.join(&called), "")?;
        fs::rename(own.join(&called), folder.join(&called))?;
        fs::remove_dir(&own)?;
    }
    lay(&workload, &folder, Content::Pattern, &|_, _| false)?;
    Ok(())
}

/// The most memory that a process had, bytes.
fn peak(id: u32) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("the kernel says what it had")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

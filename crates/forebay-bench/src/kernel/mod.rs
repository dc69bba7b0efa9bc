//! Forebay against the kernel's own read-ahead and page cache, on one modelled disk that is a real
//! block device to the kernel: a loop device on `forebay disk`, with ext4 on it.
//!
//! ```text
//!  readers, in a control group ─▶ kernel: page cache, read-ahead ──────────┐
//!  readers ─▶ mount of Forebay: its budget, O_DIRECT ──────────────────────┴─▶ ext4 ─▶ loop device ─▶ forebay disk
//! ```
//!
//! Both have the same file system, seed and memory. `README.md` beside this file says what is
//! compared and how it is kept fair.

mod points;
mod reader;
mod scene;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use forebay_testkit::{loop_disk, memory_group};

use crate::report::Row;
use points::{POLICIES, Plan, Point};
pub(crate) use reader::read;
use scene::{Measured, Scene};

/// A system that reads the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum System {
    /// The kernel alone, with this many KiB of read-ahead.
    Kernel(u32),
    /// A mount under this policy. Read blocks stay in the mount, or in the kernel's page cache.
    Forebay(&'static str, Keeper),
}

/// The place of blocks that were read through a mount (`--kernel-cache`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Keeper {
    Mount,
    /// Kernel and mount have half of the memory each.
    Kernel,
}

/// The kernel's default, the baseline of all comparisons.
const DEFAULT: System = System::Kernel(128);

/// All systems that the command supports.
fn systems(forebay: &Path) -> anyhow::Result<Vec<System>> {
    let help = Command::new(forebay).args(["mount", "--help"]).env("FOREBAY_CONFIG", "/dev/null").output()?;
    let hands_on = String::from_utf8_lossy(&help.stdout).contains("--kernel-cache");
    let keepers: &[Keeper] = if hands_on { &[Keeper::Mount, Keeper::Kernel] } else { &[Keeper::Mount] };
    let mounts = keepers.iter().flat_map(|&keeper| POLICIES.map(|policy| System::Forebay(policy, keeper)));
    Ok([DEFAULT, System::Kernel(1024)].into_iter().chain(mounts).collect())
}

impl System {
    fn name(self) -> String {
        match self {
            System::Kernel(kib) => format!("kernel, read-ahead {kib} KiB"),
            System::Forebay(policy, Keeper::Mount) => format!("forebay, {policy}"),
            System::Forebay(policy, Keeper::Kernel) => format!("forebay, {policy}, kernel keeps"),
        }
    }
}

/// All systems at one number of handlers.
struct Step {
    handlers: u32,
    /// A figure a system, in the systems' order.
    measured: Vec<Measured>,
}

/// Measures the points whose names begin with one of `only`, or all.
pub(crate) fn run(smoke: bool, only: &[String]) -> anyhow::Result<Vec<Row>> {
    if !loop_disk::possible() || !memory_group::possible() {
        eprintln!(
            "kernel: not measured: it takes root, loop devices, FUSE and the memory controller of cgroup version 1"
        );
        return Ok(Vec::new());
    }
    let plan = if smoke { Plan::smoke() } else { Plan::full() };
    let wanted = |point: &&Point| only.is_empty() || only.iter().any(|name| point.name.starts_with(name.as_str()));
    let points: Vec<&Point> = plan.points.iter().filter(wanted).collect();
    let forebay = forebay()?;
    let systems = systems(&forebay)?;
    let mut scene = Scene::set(&plan, &forebay)?;
    let mut rows = Vec::new();
    let mut sweep: Vec<Step> = Vec::new();
    for point in points {
        let mut measured = Vec::new();
        for &system in &systems {
            eprintln!("  {}, {} …", point.title(), system.name());
            let one = scene.measure(point, system).with_context(|| format!("{}, {}", point.title(), system.name()))?;
            eprintln!("    {}", one.detail());
            measured.push(one);
        }
        let row = |(&system, one)| row(&plan, point, system, one, &measured[0]);
        rows.extend(systems.iter().zip(&measured).map(row));
        if point.name == points::SWEEP {
            sweep.push(Step { handlers: point.handlers, measured });
        }
    }
    rows.extend(shares(&systems, &sweep));
    Ok(rows)
}

/// A line of the table: a system at a point, against the kernel's default there.
fn row(plan: &Plan, point: &Point, system: System, one: &Measured, kernel: &Measured) -> Row {
    let wanted = match system {
        System::Forebay(policy, _) => point.wanted(policy),
        System::Kernel(_) => None,
    };
    let scale = if system == DEFAULT { format!("; {}", plan.scale(point)) } else { String::new() };
    Row {
        bench: "kernel",
        what: format!("{}: {}", point.title(), system.name()),
        against: DEFAULT.name(),
        ratio: one.outcome.throughput_mb_s / kernel.outcome.throughput_mb_s,
        wanted,
        detail: format!("{}{scale}", one.detail()),
        point: None,
    }
}

/// The share of its own peak that each system keeps at each number of handlers.
fn shares(systems: &[System], sweep: &[Step]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (number, &system) in systems.iter().enumerate() {
        let of = |measured: &[Measured]| measured[number].outcome.throughput_mb_s;
        let peak = sweep.iter().map(|step| of(&step.measured)).fold(0.0, f64::max);
        for Step { handlers, measured } in sweep {
            rows.push(Row {
                bench: "kernel",
                what: format!("{}, {handlers} handlers: {}", points::SWEEP, system.name()),
                against: "its own peak in this sweep".into(),
                ratio: of(measured) / peak,
                wanted: matches!(system, System::Forebay("competitive-em", _)).then_some(0.8),
                detail: format!("{:.1} of {peak:.1} MB/s", of(measured)),
                point: None,
            });
        }
    }
    rows
}

/// The command, built with the same profile as this program and beside it.
pub(crate) fn forebay() -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?;
    let path = here.with_file_name("forebay");
    let path = if path.is_file() { path } else { here.with_file_name("../forebay") };
    anyhow::ensure!(path.is_file(), "{} is missing: `cargo build --release -p forebay-cli` first", path.display());
    Ok(path)
}

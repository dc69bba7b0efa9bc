//! The papers' workloads and real programs on a mount, over a disk of the papers' in real time:
//! `competitive` against the same mount with the policies `linux` and `none`.
//!
//! The data of the microbenchmarks, of index search and of the clips are sparse files. So data sets
//! take no room, and the modelled disk alone is slow. Index search and files are as large as in
//! CPEM §5.1; clips and BLAST's databases are fewer.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use forebay_core::DeviceId;
use forebay_device::device;
use forebay_device::random::Random;
use forebay_device::scheduler::Elevator;
use forebay_fuse::MountOptions;
use forebay_live::engine::{Config, Engine};
use forebay_live::tree::{Branch, Tree};
use forebay_play::{Content, Folder, Play, lay};
use forebay_source::Source;
use forebay_source::local::LocalSource;
use forebay_source::paced::PacedSource;
use forebay_testkit::nginx::Nginx;
use forebay_testkit::tools::find;
use forebay_trace::generate::{Given, named};
use forebay_trace::{Span, Workload};

use crate::report::{Row, median};

const DISK: &str = "ibm-10k";
/// Lists as long as in the claim cp-index (`experiments/cp-index.toml`), which gives the reason.
const INDEX: &str = "keywords=4096,alpha=0.4,longest=27000000,decay=0.25,part=0";
/// CP §3.1: "access private memory of 1 MB".
const PRIVATE: u64 = 1_000_000;

pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for workload in [
        // The least wanted ratio is that of the kernel bench (issue 4).
        Described { kind: "one-whole-0", size: "files=6000", handlers: 16, wanted: None },
        Described { kind: "one-rand-10", size: "files=6000", handlers: 16, wanted: Some(1.3) },
        Described { kind: "two-rand-0", size: "files=6000", handlers: 16, wanted: Some(1.3) },
        Described { kind: "four-64kb-0", size: "files=6000", handlers: 16, wanted: Some(0.95) },
        Described { kind: "index-search", size: INDEX, handlers: 16, wanted: Some(1.3) },
    ] {
        rows.extend(workload.compare(smoke)?);
    }
    rows.extend(clips(smoke)?);
    rows.extend(blast(smoke)?);
    Ok(rows)
}

/// Measures the three policies in turn, each on a disk, in a cache and on a mount of its own; more
/// is better.
fn compare(
    what: &str,
    wanted: Option<f64>,
    unit: &str,
    smoke: bool,
    measure: impl Fn(&str, u64) -> anyhow::Result<f64>,
) -> anyhow::Result<Vec<Row>> {
    let mut seen = Vec::new();
    for seed in 1..=if smoke { 1 } else { 3 } {
        let [competitive, linux, none] = ["competitive", "linux", "none"].map(|policy| measure(policy, seed));
        seen.push([competitive?, linux?, none?]);
    }
    let [competitive, linux, none] = [0, 1, 2].map(|i| median(seen.iter().map(|figures| figures[i]).collect()));
    let row = |against: &str, other: usize, wanted| Row {
        bench: "programs",
        what: format!("{what}, competitive"),
        against: format!("the mount with {against}"),
        ratio: median(seen.iter().map(|figures| figures[0] / figures[other]).collect()),
        wanted,
        detail: format!("{unit}: competitive {competitive:.2}, linux {linux:.2}, none {none:.2}"),
        point: None,
    };
    Ok(vec![row("linux", 1, wanted), row("none", 2, None)])
}

/// Mounts `folder` on the disk, and calls a function with the mount point.
fn mounted<T>(
    folder: &Path,
    policy: &str,
    memory: u64,
    seed: u64,
    measure: impl FnOnce(&Path) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let local: Arc<dyn Source> = Arc::new(LocalSource::new(folder)?);
    let paced = PacedSource::new(local, device(DISK)?.build(seed)?, Box::new(Elevator::default()), 1.0)?;
    let cost = paced.cost().context("a model knows its cost")?;
    let engine = Engine::start(
        Config { memory, policy: policy.parse()?, referenced: Default::default(), record: None },
        vec![cost],
    )?;
    let branch = Branch { name: None, source: Arc::new(paced), device: DeviceId(0) };
    let tree = Arc::new(Tree::new(engine, vec![branch])?);
    let point = tempfile::tempdir()?;
    let mounted = forebay_fuse::mount(tree, point.path(), MountOptions { threads: 2, ..MountOptions::default() })?;
    let measured = measure(point.path());
    mounted.unmount()?;
    measured
}

/// A workload by its description.
struct Described {
    kind: &'static str,
    /// The parameters that differ from the workload's defaults.
    size: &'static str,
    handlers: u32,
    wanted: Option<f64>,
}

impl Described {
    fn compare(&self, smoke: bool) -> anyhow::Result<Vec<Row>> {
        let size = if smoke && self.kind != "index-search" { "files=20" } else { self.size };
        let size = Given::list(size)?;
        let workload = |seed| -> anyhow::Result<Workload> { Ok(Workload::load(&mut named(self.kind, &size, seed)?)?) };
        let folder = tempfile::tempdir()?;
        lay(&workload(1)?, folder.path(), Content::Zeros, &|_, _| false)?;
        let (warm_up, limit) = if smoke { (0.05, 0.2) } else { (2.0, 10.0) };
        let play = Play {
            private_bytes: PRIVATE,
            warm_up: Some(Span::Seconds(warm_up)),
            limit: Some(Span::Seconds(limit)),
            ..Play::new(self.handlers)
        };
        let what = format!("{}, {} handlers", self.kind, self.handlers);
        compare(&what, self.wanted, "MB/s", smoke, |policy, seed| {
            let workload = workload(seed)?;
            mounted(folder.path(), policy, 256 << 20, seed, |point| {
                Ok(play.run(&workload, &Folder::new(point), &|_, _| false)?.throughput_mb_s)
            })
        })
    }
}

/// nginx hosts clips, wrk asks for them in the order of the tasks of `media-clips`.
fn clips(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let (Some(nginx), Some(wrk)) = (find("nginx"), find("wrk")) else {
        eprintln!("clips are left out: nginx or wrk is missing; `cargo xtask tools` fetches them");
        return Ok(Vec::new());
    };
    let size = Given::list(if smoke { "files=100,tasks=20000" } else { "files=20000,tasks=20000" })?;
    let workload = |seed| -> anyhow::Result<Workload> { Ok(Workload::load(&mut named("media-clips", &size, seed)?)?) };
    let folder = tempfile::tempdir()?;
    lay(&workload(1)?, folder.path(), Content::Zeros, &|_, _| false)?;
    let mut rows = Vec::new();
    for connections in if smoke { &[2][..] } else { &[2, 64] } {
        let what = format!("clips from nginx, {connections} connections");
        rows.extend(compare(&what, None, "clips/s", smoke, |policy, seed| {
            let script = folder.path().join("clips.lua");
            fs::write(&script, requests(&workload(seed)?))?;
            mounted(folder.path(), policy, 128 << 20, seed, |point| {
                // Without sendfile: the papers' server "reads an 8 KB chunk at a time" (CPEM §2.1),
                // and nginx reads 32 KB. With sendfile the kernel asks for a whole clip at once, so
                // there is nothing left to prefetch.
                let server = Nginx::start(&nginx, point, false)?;
                let mut command = Command::new(&wrk);
                let seconds = if smoke { 1 } else { 8 };
                command.args(["-t1", &format!("-c{connections}"), &format!("-d{seconds}s"), "--timeout", "60s", "-s"]);
                command.arg(&script).arg(format!("http://{}/", server.address()));
                let said = output(command)?;
                ensure!(!said.contains("Non-2xx") && !said.contains("Socket errors"), "{said}");
                let rate = said.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:"));
                Ok(rate.context("wrk says no rate")?.trim().parse()?)
            })
        })?);
    }
    Ok(rows)
}

/// The requests of wrk: the file of every task.
fn requests(workload: &Workload) -> String {
    let file = |task| workload.entry(workload.in_task(workload.task(task).start)).file();
    let names = (0..workload.tasks() as u32).fold(String::new(), |mut names, task| {
        let _ = write!(names, "'/{:06}',", workload.file_table()[file(task) as usize].name);
        names
    });
    format!(
        "local paths, at = {{ {names} }}, 0
         function request() at = at % #paths + 1; return wrk.format('GET', paths[at]) end"
    )
}

/// Four processes search four databases of random sequences. Each begins with another database, so
/// that the disk has four streams.
fn blast(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let (Some(makeblastdb), Some(blastn)) = (find("makeblastdb"), find("blastn")) else {
        eprintln!("BLAST is left out: it is missing; `cargo xtask tools` fetches it");
        return Ok(Vec::new());
    };
    const DATABASES: u64 = 4;
    let sequences = if smoke { 20 } else { 4000 };
    let (work, folder) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let mut queries = Vec::new();
    for number in 0..DATABASES {
        let (fasta, query) = database(number, sequences);
        let (input, name) = (work.path().join("db.fa"), format!("db{number}"));
        fs::write(&input, fasta)?;
        queries.push(work.path().join(format!("query{number}.fa")));
        fs::write(&queries[number as usize], query)?;
        let mut command = Command::new(&makeblastdb);
        command.args(["-dbtype", "nucl", "-title", &name, "-max_file_sz", "8MB", "-in"]).arg(&input);
        command.arg("-out").arg(folder.path().join(&name));
        output(command)?;
    }
    compare("blastn, 4 processes", None, "searches/s", smoke, |policy, seed| {
        mounted(folder.path(), policy, 32 << 20, seed, |point| {
            let began = Instant::now();
            std::thread::scope(|scope| {
                let search = |(number, query): (usize, &PathBuf)| {
                    let mut names: Vec<String> = (0..DATABASES).map(|number| format!("db{number}")).collect();
                    names.rotate_left(number);
                    let mut command = Command::new(&blastn);
                    command.args(["-db", &names.join(" "), "-outfmt", "6", "-num_threads", "1", "-query"]).arg(query);
                    command.current_dir(point);
                    scope.spawn(|| output(command))
                };
                let searches: Vec<_> = queries.iter().enumerate().map(search).collect();
                searches.into_iter().try_for_each(|found| {
                    let found = found.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
                    ensure!(!found.is_empty(), "a piece of a database was not found in it");
                    Ok(())
                })
            })?;
            Ok(DATABASES as f64 / began.elapsed().as_secs_f64())
        })
    })
}

/// Random sequences of 15,000 bases and a piece of one.
fn database(seed: u64, sequences: u64) -> (String, String) {
    const LENGTH: usize = 15_000;
    let mut random = Random::new(seed + 1);
    let (mut fasta, mut query) = (String::new(), String::new());
    for number in 0..sequences {
        let bases: String = (0..LENGTH).map(|_| ['A', 'C', 'G', 'T'][random.below(4) as usize]).collect();
        let _ = writeln!(fasta, ">s{number} made up\n{bases}");
        if number == sequences / 2 {
            query = format!(">piece of s{number}\n{}\n", &bases[1000..1500]);
        }
    }
    (fasta, query)
}

/// The output of a program, which must succeed. BLAST's usage report is switched off.
fn output(mut command: Command) -> anyhow::Result<String> {
    let output = command.env("BLAST_USAGE_REPORT", "false").stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

//! Hits of 4 KiB through the mount, in sequence and at random, against a null FUSE server: the same
//! `fuser`, the same options, no cache, every read answered from one buffer. Also hits under
//! `auto`, which gets every hit with its program context, against `competitive`.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use forebay_core::{DeviceCost, DeviceId};
use forebay_fuse::{MountOptions, Mounted};
use forebay_live::contexts::{Callers, Threads};
use forebay_live::engine::{Config, Engine};
use forebay_live::tree::{Branch, Tree};
use forebay_source::local::LocalSource;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, Request,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::report::{Row, median};

const SIZE: u64 = 64 << 20;
const READ: usize = 4096;
const THREADS: usize = 2;

/// Makes this many reads of a file, and returns their time.
type Pass = fn(&File, u64) -> std::io::Result<Duration>;

/// Orders of reads, and the wanted share of the null server's speed in each.
const PASSES: [(&str, f64, Pass); 2] = [("sequential", 0.90, sequential), ("random", 0.85, random)];

/// The results of one file against another.
#[derive(Default)]
struct Measured {
    ratios: Vec<f64>,
    /// Reads a second.
    speeds: Vec<f64>,
}

/// How often, and how much at a time.
#[derive(Clone, Copy)]
struct Effort {
    rounds: u32,
    reads: u64,
}

pub(crate) fn run(smoke: bool) -> anyhow::Result<Vec<Row>> {
    let (mounts, effort) =
        if smoke { (1, Effort { rounds: 1, reads: 200 }) } else { (5, Effort { rounds: 15, reads: 4_000 }) };
    let source = tempfile::tempdir()?;
    std::fs::write(source.path().join("file"), vec![0x5a; SIZE as usize])?;
    let mut measured: [[Measured; 2]; 2] = Default::default();
    for nth in 0..mounts {
        mounted(source.path(), nth % 2 == 0, effort, &mut measured)?;
    }
    let mut rows = Vec::new();
    for ((order, wanted, _), [ours, auto]) in PASSES.into_iter().zip(measured) {
        let what = format!("{order} 4 KiB hits, mount");
        let under_auto = format!("{what} under auto");
        rows.push(row(what, "a null FUSE server", ours, wanted));
        rows.push(row(under_auto, "the same under competitive", auto, 0.97));
    }
    Ok(rows)
}

/// Measures mounts that are made for it. Two mounts that are alike may differ by several percent as
/// long as they last, so each is short-lived.
fn mounted(folder: &Path, auto_first: bool, effort: Effort, measured: &mut [[Measured; 2]; 2]) -> anyhow::Result<()> {
    let points = [(); 3].map(|()| tempfile::tempdir());
    let [first, second, third] = points;
    let (first, second, null_point) = (first?, second?, third?);
    let (auto_point, point) = if auto_first { (first, second) } else { (second, first) };
    let made = |auto: bool| match auto {
        true => mount(folder, auto_point.path(), "auto"),
        false => mount(folder, point.path(), "competitive"),
    };
    let mounts = [made(auto_first)?, made(!auto_first)?];
    let null = null(null_point.path())?;
    let open = |point: &tempfile::TempDir| File::open(point.path().join("file"));
    let (ours, under_auto, nothing) = (open(&point)?, open(&auto_point)?, open(&null_point)?);
    // Twice: the first pass fetches everything, and the second one references it for the first
    // time.
    for _ in 0..2 {
        sequential(&ours, SIZE / READ as u64)?;
        sequential(&under_auto, SIZE / READ as u64)?;
    }
    for ((_, _, pass), [of_ours, of_auto]) in PASSES.into_iter().zip(measured) {
        compare(&ours, &nothing, pass, effort, of_ours)?;
        compare(&under_auto, &ours, pass, effort, of_auto)?;
    }
    drop((ours, under_auto, nothing));
    for mount in mounts {
        mount.unmount()?;
    }
    null.umount_and_join()?;
    Ok(())
}

/// A mount of the folder without the kernel cache, which knows callers if the policy needs them.
fn mount(folder: &Path, point: &Path, policy: &str) -> anyhow::Result<Mounted> {
    let engine =
        Engine::start(Config::new(4 * SIZE, policy.parse()?), vec![DeviceCost::flat(100_000, 1_000_000_000, 4)])?;
    let branch = Branch { name: None, source: Arc::new(LocalSource::new(folder)?), device: DeviceId(0) };
    let mut tree = Tree::new(Arc::clone(&engine), vec![branch])?;
    if let Some(callers) = Callers::start(&engine, Threads::found_at(None), None)? {
        tree.know_callers(callers);
    }
    let options = MountOptions { threads: THREADS, ..MountOptions::default() };
    Ok(forebay_fuse::mount(Arc::new(tree), point, options)?)
}

/// Compares the speed of one file with the other's, as ratios. Rounds are short and many, and each
/// side is first once in a round, since a machine's speed drifts.
fn compare(ours: &File, other: &File, pass: Pass, effort: Effort, measured: &mut Measured) -> std::io::Result<()> {
    let Effort { rounds, reads } = effort;
    for _ in 0..rounds {
        let (theirs, own, again) = (pass(other, reads)?, pass(ours, reads)?, pass(ours, reads)?);
        let (theirs, own) = ((theirs + pass(other, reads)?).as_secs_f64(), (own + again).as_secs_f64());
        measured.ratios.push(theirs / own);
        measured.speeds.push(2.0 * reads as f64 / own);
    }
    Ok(())
}

fn row(what: String, against: &str, measured: Measured, wanted: f64) -> Row {
    Row {
        bench: "mount-hits",
        what,
        against: against.into(),
        ratio: median(measured.ratios),
        wanted: Some(wanted),
        detail: format!("{:.0} thousand reads a second", median(measured.speeds) / 1e3),
        point: None,
    }
}

fn sequential(file: &File, reads: u64) -> std::io::Result<Duration> {
    time(file, (0..reads).map(|i| i * READ as u64 % SIZE))
}

fn random(file: &File, reads: u64) -> std::io::Result<Duration> {
    let mut random = SmallRng::seed_from_u64(1);
    time(file, (0..reads).map(move |_| random.random_range(0..SIZE / READ as u64) * READ as u64))
}

fn time(file: &File, offsets: impl Iterator<Item = u64>) -> std::io::Result<Duration> {
    let mut buffer = [0; READ];
    let began = Instant::now();
    for offset in offsets {
        file.read_exact_at(&mut buffer, offset)?;
    }
    Ok(began.elapsed())
}

/// Mounts a null server.
fn null(point: &Path) -> anyhow::Result<fuser::BackgroundSession> {
    let mut config = fuser::Config::default();
    config.mount_options = vec![MountOption::RO, MountOption::FSName("null".into())];
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    Ok(fuser::spawn_mount(Null(vec![0; 1 << 20]), point, &config)?)
}

/// One file of zeros.
struct Null(Vec<u8>);

fn attributes(inode: INodeNo) -> FileAttr {
    let (kind, perm, size) =
        if inode == INodeNo::ROOT { (FileType::Directory, 0o755, 0) } else { (FileType::RegularFile, 0o444, SIZE) };
    let at = UNIX_EPOCH;
    FileAttr {
        ino: inode,
        size,
        blocks: size / 512,
        atime: at,
        mtime: at,
        ctime: at,
        crtime: at,
        kind,
        perm,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 128 << 10,
        flags: 0,
    }
}

const LONG: Duration = Duration::from_secs(3600);

impl Filesystem for Null {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO | InitFlags::FUSE_PARALLEL_DIROPS);
        Ok(())
    }

    fn lookup(&self, _request: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == "file" {
            true => reply.entry(&LONG, &attributes(INodeNo(2)), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&LONG, &attributes(inode));
    }

    fn open(&self, _request: &Request, _inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH);
    }

    fn read(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let len = u64::from(size).min(SIZE.saturating_sub(offset)) as usize;
        reply.data(&self.0[..len.min(self.0.len())]);
    }
}

//! One budget, whatever the number of streams, measured from outside.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::Duration;

use forebay_testkit::mounts;
use forebay_testkit::need;
use forebay_testkit::s3::{BUCKET, S3};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::Mount;

const MIB: u64 = 1 << 20;

/// The budget of the mounts, and the resident memory that they may have beyond it.
const BUDGET: u64 = 64 * MIB;
const SLACK: u64 = 16 * MIB;

/// The usual loads: how many threads read the files in turn, each its share, and the bytes of a
/// read.
const LOADS: [(usize, usize); 2] = [(64, 64 << 10), (200, 1 << 20)];

/// The files are sparse, but for a mark at each multiple of this, which contains the file's number
/// and the offset.
const MARK_EVERY: u64 = 128 << 10;

fn name(file: usize) -> String {
    format!("stream-{file}")
}

/// Between 1 and 1.5 MiB, and no multiple of a block.
fn len(file: usize) -> u64 {
    MIB + (file as u64 * 7919) % (MIB / 2)
}

fn mark(file: usize, offset: u64) -> [u8; 8] {
    ((file as u64 + 1) << 32 | offset).to_be_bytes()
}

/// The places of a file's marks.
fn marks(file: usize) -> impl Iterator<Item = u64> {
    (0..len(file) - 8).step_by(MARK_EVERY as usize)
}

fn write(file: usize, folder: &Path) -> io::Result<()> {
    let to = File::create_new(folder.join(name(file)))?;
    to.set_len(len(file))?;
    marks(file).try_for_each(|at| to.write_all_at(&mark(file, at), at))
}

/// Compares read bytes with the file's bytes at an offset.
fn expect(file: usize, offset: u64, read: usize, got: &[u8]) {
    let end = len(file).min(offset + read as u64);
    let mut expected = vec![0; (end - offset) as usize];
    for at in marks(file).filter(|at| (offset..end).contains(at)) {
        let mark_here = &mut expected[(at - offset) as usize..][..8];
        mark_here.copy_from_slice(&mark(file, at));
    }
    assert!(got == expected, "file {file} at {offset}: {} bytes", got.len());
}

/// Opens all files, then reads all of them to their ends, a piece of each in turn.
fn read_all(folder: &Path, files: usize, threads: usize, read: usize) {
    let opened = Barrier::new(threads);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let opened = &opened;
            scope.spawn(move || {
                let open = |file| (file, File::open(folder.join(name(file))).unwrap_or_else(|e| panic!("{file}: {e}")));
                let mine: Vec<_> = (thread..files).step_by(threads).map(open).collect();
                opened.wait();
                let mut buffer = vec![0; read];
                for offset in (0..MIB + MIB / 2).step_by(read) {
                    for (file, handle) in mine.iter().filter(|(file, _)| offset < len(*file)) {
                        let got = handle.read_at(&mut buffer, offset).unwrap_or_else(|e| panic!("{file}: {e}"));
                        expect(*file, offset, read, &buffer[..got]);
                    }
                }
            });
        }
    });
}

/// Resident bytes of a process: anonymous, of files, shared.
fn resident(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let kib = |line: &str| line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok());
    status.lines().find(|line| line.starts_with("VmRSS:")).and_then(kib).map(|kib| kib << 10)
}

/// The most memory that a process had resident while it was watched. (The kernel's own high-water
/// mark counts from the process's start, before it runs our program.)
struct Watch {
    over: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Watch {
    fn start(id: u32) -> Watch {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut most = 0;
            while !seen.load(Ordering::SeqCst) {
                most = most.max(resident(id).unwrap_or(0));
                std::thread::sleep(Duration::from_millis(10));
            }
            most
        });
        Watch { over, thread }
    }

    fn end(self) -> u64 {
        self.over.store(true, Ordering::SeqCst);
        self.thread.join().expect("it only looks")
    }
}

/// Raises this process's limit of open files to the maximum.
fn many_files() -> bool {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("up to the maximum is allowed");
    limit.maximum.is_none_or(|most| most > 4096)
}

/// The files through a mount with the small budget, under the usual loads.
fn within_the_budget(what: &str, source: &[&str], files: usize, kernel_cache: &str) {
    under_loads(what, source, files, kernel_cache, &LOADS);
}

fn under_loads(what: &str, source: &[&str], files: usize, kernel_cache: &str, loads: &[(usize, usize)]) {
    // The mount starts with few descriptors, as in a shell.
    let mut args = source.to_vec();
    args.extend(["--memory", "64MiB", "--kernel-cache", kernel_cache]);
    let mount = Mount::start(&args);
    if !many_files() {
        return forebay_testkit::tools::skip("the right to 4096 open files (ulimit -Hn)");
    }
    let idle = resident(mount.running.id()).expect("it runs");
    for &(threads, read) in loads {
        let watch = Watch::start(mount.running.id());
        read_all(mount.path(), files, threads, read);
        let most = watch.end();
        let [idle, most_mib] = [idle, most].map(|bytes| bytes as f64 / MIB as f64);
        println!(
            "{what}, kernel cache {kernel_cache}: {idle:.1} MiB idle, {most_mib:.1} MiB with {files} streams in reads of {read}"
        );
        assert!(most <= BUDGET + SLACK, "{what}: {} KiB resident", most >> 10);
        let enough = files as u64 * MIB > BUDGET;
        assert!(most > BUDGET / 2 || !enough || kernel_cache == "on", "{what}: the budget is there to be used");
    }
}

#[test]
fn two_thousand_streams_of_local_files() {
    if !mounts::possible() {
        return;
    }
    let source = tempfile::tempdir().expect("a folder");
    let files = 2000;
    (0..files).try_for_each(|file| write(file, source.path())).expect("written");
    for kernel_cache in ["off", "on"] {
        within_the_budget("local", &[crate::text(source.path())], files, kernel_cache);
    }
}

/// One open file, and as many readers as files, each with its own.
#[test]
fn one_reader_and_five_hundred() {
    if !mounts::possible() {
        return;
    }
    let source = tempfile::tempdir().expect("a folder");
    (0..512).try_for_each(|file| write(file, source.path())).expect("written");
    for (files, kernel_cache) in [(1, "off"), (64, "on"), (512, "off"), (512, "on")] {
        under_loads("readers", &[crate::text(source.path())], files, kernel_cache, &[(files, 128 << 10)]);
    }
}

/// With the kernel cache on, the mount holds only blocks ahead of readers, however many pass
/// through it. And the kernel does keep read blocks: a second read does not reach the mount.
#[test]
fn nothing_is_held_twice() {
    if !mounts::possible() {
        return;
    }
    // Not in /tmp, which may be in memory, and would be in the page cache itself.
    let source = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    std::fs::write(source.path().join("large"), forebay_testkit::trees::content(1, 96 << 20)).expect("written");
    let [kept, handed_on] = ["off", "on"].map(|kernel_cache| {
        let how = ["--memory", "256MiB", "--kernel-cache", kernel_cache];
        let mount = Mount::start(&[&[crate::text(source.path())], &how[..]].concat());
        let large = mount.path().join("large");
        let read = || assert!(std::fs::read(&large).expect("readable") == forebay_testkit::trees::content(1, 96 << 20));
        read();
        let fetched = mount.counter("fetched_bytes");
        read();
        let blocks = mount.counter("block_bytes");
        let asked = blocks * ["hits", "misses", "joined", "late"].map(|how| mount.counter(how)).iter().sum::<u64>();
        // Fetched once, and kept by the kernel or the mount. A kernel under load asks for some
        // pages before those in front of them, and loses a few pages. The blocks around those are
        // not counted, since the mount cannot know that the kernel has the rest.
        let about = |times: u64| 96 * MIB * times..=96 * MIB * times + MIB;
        assert!(about(1).contains(&fetched), "kernel cache {kernel_cache}: {fetched} bytes fetched");
        let asks = if kernel_cache == "on" { about(1) } else { about(2) };
        assert!(asks.contains(&asked), "kernel cache {kernel_cache}: asked for {asked} bytes");
        assert!(
            kernel_cache == "on" || mount.counter("fetched_bytes") == 96 * MIB,
            "what the mount keeps is fetched once"
        );
        // Resident memory says less: frames that a burst needed stay resident, and under load there
        // are some.
        (mount.counter("frames") - mount.counter("frames_free")) * blocks
    });
    assert!(kept == 96 * MIB, "{kept}");
    assert!(handed_on < 16 * MIB, "{handed_on}");
}

/// Each has a list of its own, as rewinddir(3) wants, and all have its names together.
#[test]
fn a_folder_that_many_have_open_is_there_once() {
    if !mounts::possible() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for file in 0..100_000 {
        File::create_new(folder.path().join(name(file))).expect("a file");
    }
    let mount = Mount::start(&[folder.path().to_str().expect("text"), "--memory", "64MiB"]);
    let watch = Watch::start(mount.running.id());
    let one = |_| {
        let mut names = std::fs::read_dir(mount.path()).expect("listed");
        names.next().expect("a name").expect("readable");
        names
    };
    let open: Vec<std::fs::ReadDir> = (0..24).map(one).collect();
    let most = watch.end();
    assert!(most <= BUDGET + SLACK, "{} KiB resident", most >> 10);
    assert!(open.into_iter().all(|names| names.count() == 99_999));
}

#[test]
fn hundreds_of_streams_of_objects() {
    if !mounts::possible() {
        return;
    }
    let server = S3::start(&need!("versitygw")).expect("a server");
    let (scratch, files) = (tempfile::tempdir().expect("a folder"), 300);
    for file in 0..files {
        write(file, scratch.path()).expect("written");
        let bytes = std::fs::read(scratch.path().join(name(file))).expect("readable");
        server.put(&name(file), &bytes).expect("stored");
    }
    let bucket = format!("s3://{BUCKET}");
    let source = [&bucket, "--endpoint", &server.endpoint(), "--region", "us-east-1"];
    within_the_budget("s3", &source, files, "off");
}
